// SPDX-License-Identifier: Apache-2.0
#include "cmd/ipu-slurm/job/bundle.h"

#include <algorithm>

#include "base/json.h"
#include "base/names.h"
#include "base/text.h"

namespace slurm {
namespace {

using namespace base::names;
using base::Json;

constexpr std::string_view kWhat = "config.json";

Json bundle(const BundleInput& input) {
  Json namespaces = Json::array();
  for (const char* const type : {"pid", "ipc", "uts", "mount", "network"})
    namespaces.push_back({{"type", type}});
  Json mount = {{"destination", kPause},
                {"type", "bind"},
                {"source", input.program},
                {"options", {"bind", "ro", "nosuid", "nodev"}}};
  // runc does not start a container without it.
  Json proc = {{"destination", "/proc"}, {"type", "proc"}, {"source", "proc"}};
  Json process = {{"user", {{"uid", 0}, {"gid", 0}}}, {"args", {kPause, "pause"}},
                  {"env", input.environment},         {"cwd", "/"},
                  {"capabilities", Json::object()},   {"noNewPrivileges", true}};
  Json rules = Json::array();
  rules.push_back({{"allow", false}, {"access", "rwm"}});
  Json on_linux = {{"cgroupsPath", input.cgroup},
                   {"namespaces", std::move(namespaces)},
                   {"resources", {{"devices", std::move(rules)}}}};
  return {{"ociVersion", "1.0.2"},
          {"process", std::move(process)},
          {"root", {{"path", "rootfs"}, {"readonly", true}}},
          {"mounts", Json::array({std::move(mount), std::move(proc)})},
          {"linux", std::move(on_linux)}};
}

// Returns the member of OBJECT if it is a list, else an empty one.
const Json& list_in(const Json& object, const char* key) {
  static const Json kNone = Json::array();
  const auto found = object.is_object() ? object.find(key) : object.end();
  return object.is_object() && found != object.end() && found->is_array() ? *found : kNone;
}

Result<std::string> text_of(const Json& value) {
  const auto* const text = value.get_ptr<const std::string*>();
  const bool fits = text != nullptr && std::none_of(text->begin(), text->end(), [](char c) {
                      return static_cast<unsigned char>(c) < ' ';
                    });
  if (fits) return *text;
  return Error(Code::kInvalid,
               str(kWhat, ": not a text of one line: ", quote(base::to_text(value))));
}

Result<std::string> text_in(const Json& object, const char* key) {
  if (object.is_object() && object.contains(key)) return text_of(object[key]);
  return Error(Code::kInvalid, str(kWhat, ": ", quote(key), " is absent"));
}

}  // namespace

std::string bundle_text(const BundleInput& input) { return base::to_pretty_text(bundle(input)); }

Result<Entry> entry_of(const BundleInput& input, std::string_view text) {
  const Json now = TRY(base::parse_json(text, kWhat));
  if (!now.is_object() || !now.contains("process"))
    return Error(Code::kInvalid, str(kWhat, ": 'process' is absent"));
  Entry entry;
  for (const Json& each : list_in(now["process"], "env")) {
    std::string variable = TRY(text_of(each));
    const auto& before = input.environment;
    if (std::find(before.begin(), before.end(), variable) == before.end())
      entry.environment.push_back(std::move(variable));
  }
  for (const Json& each : list_in(now, "mounts")) {
    std::string destination = TRY(text_in(each, "destination"));
    if (destination == kPause) continue;
    std::string source = TRY(text_in(each, "source"));
    if (source.starts_with('/'))
      entry.mounts.push_back({std::move(source), std::move(destination)});
  }
  if (now.contains("linux")) {
    for (const Json& each : list_in(now["linux"], "devices"))
      entry.devices.push_back(TRY(text_in(each, "path")));
  }
  return entry;
}

}  // namespace slurm
