// SPDX-License-Identifier: Apache-2.0
#include "hook/engines/docker_config.h"

#include <algorithm>

#include "base/json_rewrite.h"
#include "base/names.h"
#include "base/text.h"
#include "hook/engines/daemon.h"

namespace hook::engines {
namespace {

using namespace base::names;
using base::Json;

constexpr const char* kRuntimes = "runtimes";
constexpr const char* kDefault = "default-runtime";

// Parses daemon.json. An empty file counts as an absent one, as for dockerd.
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

// Returns the program of RUNTIME; empty if RUNTIME names a containerd shim instead.
std::string path_of(const Json& runtime) {
  const auto path = runtime.find("path");
  return path != runtime.end() && path->is_string() ? path->get<std::string>() : "";
}

bool is_ours(const std::string& path) { return path.ends_with("/ipu-container-runtime"); }

std::string text_of(const FileText& text, const Json& original, const Json& edited) {
  if (!text || base::trim(*text).empty())
    return base::rewrite_json("{}", Json::object(), edited) + "\n";
  return base::rewrite_json(*text, original, edited);
}

// Returns the default runtime of BEFORE, if dockerd still knows that runtime with EDITED; nullptr
// otherwise. dockerd knows the runtimes that EDITED names, and its own, which BEFORE need not name.
const Json* former_default(const Json& before, const Json& edited) {
  const auto former = before.find(kDefault);
  if (former == before.end() || !former->is_string()) return nullptr;
  const auto was_named = before.find(kRuntimes);
  if (was_named == before.end() || !was_named->contains(*former)) return &*former;
  const auto is_named = edited.find(kRuntimes);
  return is_named != edited.end() && is_named->contains(*former) ? &*former : nullptr;
}

// Returns the first of HOSTS that is a Unix socket; empty if none is. "fd://" means the socket that
// systemd made for dockerd, which is USUAL.
std::string unix_host(const std::vector<std::string>& hosts, const std::string& usual) {
  for (const std::string& host : hosts) {
    if (host.starts_with("unix://")) return host;
    if (host.starts_with("fd://")) return usual;
  }
  return "";
}

}  // namespace

Result<FileText> add_docker_runtime(const FileText& text, const RuntimeEntry& entry,
                                    const std::string& file) {
  const Json original = TRY(parse(text, file));
  Json edited = original;
  Json& runtimes = edited[kRuntimes];
  const auto found = runtimes.find(entry.name);
  if (found != runtimes.end() && path_of(*found) != entry.path) {
    return Error(
        Code::kExists,
        str(file, ": runtime ", base::quote(entry.name), " already exists, with ",
            path_of(*found).empty() ? "no path" : str("path ", base::quote(path_of(*found))),
            "; remove it there, or choose another name with --name"));
  }
  if (found == runtimes.end()) runtimes[entry.name] = {{"path", entry.path}};
  if (entry.make_default) edited[kDefault] = entry.name;
  if (edited == original) return text;
  return FileText(text_of(text, original, edited));
}

Result<FileText> remove_docker_runtime(const FileText& text, const FileText& before,
                                       const std::string& name, const std::string& file) {
  const Json original = TRY(parse(text, file));
  Json edited = original;
  const auto runtimes = edited.find(kRuntimes);
  if (runtimes != edited.end() && runtimes->contains(name)) {
    const std::string path = path_of(runtimes->at(name));
    if (!is_ours(path)) {
      return Error(Code::kExists, str(file, ": runtime ", base::quote(name), " has ",
                                      path.empty() ? "no path" : str("path ", base::quote(path)),
                                      ", so it is not the toolkit's; remove it there yourself"));
    }
    if (runtimes->erase(name) > 0 && runtimes->empty()) edited.erase(kRuntimes);
  }
  const auto is_default = edited.find(kDefault);
  if (is_default != edited.end() && *is_default == name) {
    const Result<Json> old = parse(before, file);
    const Json* const former = old.ok() ? former_default(old.value(), edited) : nullptr;
    if (former != nullptr && *former != name) {
      *is_default = *former;
    } else {
      edited.erase(kDefault);
    }
  }
  if (edited == original) return text;
  return FileText(text_of(text, original, edited));
}

bool has_docker_runtime(const FileText& text) {
  const Result<Json> json = parse(text, "");
  if (!json.ok() || !json.value().contains(kRuntimes)) return false;
  const Json& runtimes = json.value().at(kRuntimes);
  return std::any_of(runtimes.begin(), runtimes.end(),
                     [](const Json& runtime) { return is_ours(path_of(runtime)); });
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

Result<std::string> docker_host(const std::vector<std::string>& args, const FileText& text,
                                const std::string& usual, const std::string& file) {
  std::vector<std::string> hosts = option_values(args, {"-H", "--host"});
  if (hosts.empty()) {
    const Json json = TRY(parse(text, file));
    const auto listed = json.find("hosts");
    if (listed != json.end() && listed->is_array()) {
      for (const Json& host : *listed) {
        if (host.is_string()) hosts.push_back(host.get<std::string>());
      }
    }
  }
  if (hosts.empty()) return usual;
  std::string host = unix_host(hosts, usual);
  if (!host.empty()) return host;
  return Error(Code::kUnavailable,
               str("dockerd listens on ", base::join(hosts, " "), ", but on no Unix socket"));
}

Status check_docker_options(const std::vector<std::string>& args, const std::string& who,
                            const RuntimeEntry& entry, const std::string& file) {
  const bool has_runtimes = option_value(args, {"--add-runtime"}).has_value();
  const bool has_default =
      entry.make_default && option_value(args, {"--default-runtime"}).has_value();
  if (!has_runtimes && !has_default) return {};
  return Error(
      Code::kInvalid,
      str(who, " has the option ", has_runtimes ? "--add-runtime" : "--default-runtime",
          ", so it would not start with the same key in ", file, "; remove the option first"));
}

}  // namespace hook::engines
