// SPDX-License-Identifier: Apache-2.0
#include "hook/engines/docker_config.h"

#include "base/json_rewrite.h"
#include "base/text.h"

namespace hook {
namespace {

using base::Code;
using base::Error;
using base::Json;
using base::Result;
using base::str;

constexpr const char* kRuntimes = "runtimes";
constexpr const char* kDefault = "default-runtime";

// An empty file is to dockerd what an absent one is.
Result<Json> parse(const FileText& text, const std::string& file) {
  if (!text || base::trim(*text).empty()) return Json(Json::object());
  Json json = TRY(base::parse_json(*text, file));
  if (!json.is_object()) return Error(Code::kInvalid, str(file, ": must be a JSON object"));
  const auto runtimes = json.find(kRuntimes);
  if (runtimes != json.end() && !runtimes->is_object()) {
    return Error(Code::kInvalid, str(file, ": key '", kRuntimes, "' must be an object"));
  }
  return json;
}

// The program of a runtime; empty if it has none of its own, but a containerd shim.
std::string path_of(const Json& runtime) {
  const auto path = runtime.find("path");
  return path != runtime.end() && path->is_string() ? path->get<std::string>() : "";
}

std::string text_of(const FileText& text, const Json& original, const Json& edited) {
  if (!text || base::trim(*text).empty())
    return base::rewrite_json("{}", Json::object(), edited) + "\n";
  return base::rewrite_json(*text, original, edited);
}

}  // namespace

Result<FileText> add_docker_runtime(const FileText& text, const RuntimeEntry& entry,
                                    const std::string& file) {
  const Json original = TRY(parse(text, file));
  Json edited = original;
  Json& runtimes = edited[kRuntimes];
  const auto found = runtimes.find(entry.name);
  if (found != runtimes.end() && path_of(*found) != entry.path) {
    return Error(Code::kExists,
                 str(file, ": runtime ", base::quote(entry.name), " is ",
                     path_of(*found).empty() ? "something else" : base::quote(path_of(*found)),
                     " already; remove it there, or choose another name with --name"));
  }
  if (found == runtimes.end()) runtimes[entry.name] = {{"path", entry.path}};
  if (entry.make_default) edited[kDefault] = entry.name;
  if (edited == original) return text;
  return FileText(text_of(text, original, edited));
}

Result<FileText> remove_docker_runtime(const FileText& text, const std::string& name,
                                       const std::string& file) {
  const Json original = TRY(parse(text, file));
  Json edited = original;
  const auto runtimes = edited.find(kRuntimes);
  if (runtimes != edited.end() && runtimes->contains(name)) {
    const std::string path = path_of(runtimes->at(name));
    if (!path.ends_with("/ipu-container-runtime")) {
      return Error(Code::kExists, str(file, ": runtime ", base::quote(name), " is ",
                                      path.empty() ? "something else" : base::quote(path),
                                      ", and not ours; it is left there"));
    }
    if (runtimes->erase(name) > 0 && runtimes->empty()) edited.erase(kRuntimes);
  }
  const auto is_default = edited.find(kDefault);
  if (is_default != edited.end() && *is_default == name) edited.erase(kDefault);
  if (edited == original) return text;
  return FileText(text_of(text, original, edited));
}

Result<Registered> find_docker_runtime(const FileText& text, const std::string& name,
                                       const std::string& file) {
  const Json json = TRY(parse(text, file));
  Registered registered;
  const auto runtimes = json.find(kRuntimes);
  if (runtimes != json.end() && runtimes->contains(name)) {
    registered.path = path_of(runtimes->at(name));
  }
  const auto is_default = json.find(kDefault);
  registered.is_default = is_default != json.end() && *is_default == name;
  return registered;
}

}  // namespace hook
