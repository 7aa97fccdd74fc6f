// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/json_rewrite.h"
#include "base/text.h"
#include "hook/container/oci/document.h"
#include "hook/container/oci/spec.h"

namespace hook::oci {
namespace {

using base::Json;
using base::Result;

// The annotation in which an edit notes, as a JSON list, the paths of the devices that it added.
// Whoever may set annotations can write it too, but it only ever removes something.
constexpr const char* kAddedAnnotation = "graphcore.ai/ipu.added";

// Returns a member of an object, made if it is absent or null.
Json& object_in(Json& parent, const char* name) {
  Json& member = parent[name];
  if (member.is_null()) member = Json::object();
  return member;
}

Json& list_in(Json& parent, const char* name) {
  Json& member = parent[name];
  if (member.is_null()) member = Json::array();
  return member;
}

template <typename Predicate>
void erase_if(Json& list, Predicate predicate) {
  auto& items = list.get_ref<Json::array_t&>();
  items.erase(std::remove_if(items.begin(), items.end(), predicate), items.end());
}

bool has(const Json& item, const char* key, const std::string& value) {
  return item.is_object() && item.contains(key) && item[key] == value;
}

bool has_item(const Json& list, const char* key, const std::string& value) {
  return std::any_of(list.begin(), list.end(),
                     [&](const Json& item) { return has(item, key, value); });
}

Json allow_rule(const Json& major, const Json& minor) {
  return {{"allow", true}, {"type", "c"}, {"major", major}, {"minor", minor}, {"access", "rw"}};
}

void add_device(Json& linux_section, const DeviceNode& device, Json& added) {
  Json& nodes = list_in(linux_section, "devices");
  if (!has_item(nodes, "path", device.path)) added.push_back(device.path);
  erase_if(nodes, [&](const Json& item) { return has(item, "path", device.path); });
  nodes.push_back({{"path", device.path},
                   {"type", "c"},
                   {"major", device.major},
                   {"minor", device.minor},
                   {"fileMode", 0666},
                   {"uid", 0},
                   {"gid", 0}});
  // Appended, because order counts, and the rule that denies everything comes first.
  const Json rule = allow_rule(device.major, device.minor);
  Json& rules = list_in(object_in(linux_section, "resources"), "devices");
  erase_if(rules, [&](const Json& item) { return item == rule; });
  rules.push_back(rule);
}

void add_mount(Json& mounts, const FileMount& mount) {
  erase_if(mounts, [&](const Json& item) { return has(item, "destination", mount.destination); });
  mounts.push_back({{"destination", mount.destination},
                    {"type", "bind"},
                    {"source", mount.source},
                    {"options", {"bind", "ro", "nosuid", "nodev", "noexec", "rprivate"}}});
}

bool matches(std::string_view variable, std::string_view pattern) {
  const std::string_view name = variable.substr(0, variable.find('='));
  if (pattern.ends_with('*')) return name.starts_with(pattern.substr(0, pattern.size() - 1));
  return name == pattern;
}

void edit_environment(Json& environment, const SpecEdit& edit) {
  erase_if(environment, [&](const Json& item) {
    const std::string variable = item.is_string() ? item.get<std::string>() : "";
    const auto matches_it = [&](const std::string& pattern) { return matches(variable, pattern); };
    return std::any_of(edit.forget_environment.begin(), edit.forget_environment.end(),
                       matches_it) ||
           edit.environment.contains(variable.substr(0, variable.find('=')));
  });
  for (const auto& [name, value] : edit.environment) {
    environment.push_back(base::str(name, "=", value));
  }
}

void set_memlock(Json& rlimits, uint64_t bytes) {
  erase_if(rlimits, [](const Json& item) { return has(item, "type", "RLIMIT_MEMLOCK"); });
  rlimits.push_back({{"type", "RLIMIT_MEMLOCK"}, {"hard", bytes}, {"soft", bytes}});
}

void forget_capabilities(Json& process, const std::vector<std::string>& names) {
  const auto sets = process.find("capabilities");
  if (sets == process.end() || !sets->is_object()) return;
  for (auto& set : *sets) {
    if (!set.is_array()) continue;
    erase_if(set, [&](const Json& item) {
      return std::find(names.begin(), names.end(), item) != names.end();
    });
  }
}

Json to_json(const HookEntry& entry) {
  // Without an environment of its own, a hook inherits the runtime's, or even the image's
  // (CVE-2025-23266).
  return {{"path", entry.path},
          {"args", entry.args},
          {"env", {"PATH=/usr/sbin:/usr/bin:/sbin:/bin"}},
          {"timeout", entry.timeout_seconds}};
}

// Removes our entries of an earlier edit, which have our program.
void forget_hooks(Json& list, const std::vector<HookEntry>& entries) {
  erase_if(list, [&](const Json& item) {
    return std::any_of(entries.begin(), entries.end(),
                       [&](const HookEntry& entry) { return has(item, "path", entry.path); });
  });
}

void edit_hooks(Json& spec, const SpecEdit& edit) {
  if (edit.create_runtime.empty() && edit.poststop.empty()) return;
  Json& hooks = object_in(spec, "hooks");
  Json& create_runtime = list_in(hooks, "createRuntime");
  forget_hooks(create_runtime, edit.create_runtime);
  for (const HookEntry& entry : edit.create_runtime) create_runtime.push_back(to_json(entry));
  Json& poststop = list_in(hooks, "poststop");
  forget_hooks(poststop, edit.poststop);
  auto position = poststop.begin();
  for (const HookEntry& entry : edit.poststop)
    position = poststop.insert(position, to_json(entry)) + 1;
}

// A namespace without a path is a new one.
void give_own_network(Json& linux_section) {
  Json& namespaces = list_in(linux_section, "namespaces");
  erase_if(namespaces, [](const Json& item) { return has(item, "type", "network"); });
  namespaces.push_back({{"type", "network"}});
}

void limit_rdma(Json& linux_section, const std::map<std::string, RdmaLimit>& limits) {
  Json& rdma = object_in(object_in(linux_section, "resources"), "rdma");
  for (const auto& [device, limit] : limits) {
    Json& entry = object_in(rdma, device.c_str());
    if (limit.handles) entry["hcaHandles"] = *limit.handles;
    if (limit.objects) entry["hcaObjects"] = *limit.objects;
  }
}

void take_back_device(Json& linux_section, const std::string& path) {
  Json& nodes = list_in(linux_section, "devices");
  Json& rules = list_in(object_in(linux_section, "resources"), "devices");
  for (const Json& node : nodes) {
    if (!has(node, "path", path) || !node.contains("major") || !node.contains("minor")) continue;
    const Json rule = allow_rule(node["major"], node["minor"]);
    erase_if(rules, [&](const Json& item) { return item == rule; });
  }
  erase_if(nodes, [&](const Json& item) { return has(item, "path", path); });
}

// Takes the note of an earlier edit out of SPEC and returns its paths.
std::vector<std::string> take_note(Json& spec) {
  std::vector<std::string> paths;
  const auto annotations = spec.find("annotations");
  if (annotations == spec.end() || !annotations->contains(kAddedAnnotation)) return paths;
  const Json text = (*annotations)[kAddedAnnotation];
  annotations->erase(kAddedAnnotation);
  if (!text.is_string()) return paths;
  const Result<Json> note = base::parse_json(text.get<std::string>(), kAddedAnnotation);
  if (!note.ok() || !note.value().is_array()) return paths;
  for (const Json& path : note.value()) {
    if (path.is_string()) paths.push_back(path.get<std::string>());
  }
  return paths;
}

bool is_file_of_lease(const Json& mount, const std::string& leases) {
  const auto source = mount.is_object() ? mount.find("source") : mount.end();
  return mount.is_object() && source != mount.end() && source->is_string() &&
         source->get<std::string>().starts_with(leases);
}

void forget_mounts(Json& mounts, const std::string& path) {
  erase_if(mounts, [&](const Json& item) {
    const auto destination = item.is_object() ? item.find("destination") : item.end();
    if (!item.is_object() || destination == item.end() || !destination->is_string()) return false;
    return base::str(destination->get<std::string>(), "/").starts_with(base::str(path, "/"));
  });
}

// Removes what an earlier edit of the same bundle added: its devices may be another container's
// now, and its files are gone.
void take_back(Json& spec, const SpecEdit& edit) {
  for (const std::string& path : take_note(spec)) {
    take_back_device(object_in(spec, "linux"), path);
  }
  const auto mounts = spec.find("mounts");
  if (edit.leases.empty() || mounts == spec.end() || !mounts->is_array()) return;
  erase_if(*mounts, [&](const Json& item) { return is_file_of_lease(item, edit.leases); });
}

}  // namespace

Result<std::string> edit_spec(std::string_view text, const SpecEdit& edit) {
  const Json original = TRY(parse_document(text));
  Json spec = original;
  Json added = Json::array();
  take_back(spec, edit);
  for (const DeviceNode& device : edit.devices) {
    add_device(object_in(spec, "linux"), device, added);
  }
  if (edit.own_network) give_own_network(object_in(spec, "linux"));
  if (!edit.rdma_limits.empty()) limit_rdma(object_in(spec, "linux"), edit.rdma_limits);
  if (!edit.forget_mounts.empty()) forget_mounts(list_in(spec, "mounts"), edit.forget_mounts);
  for (const FileMount& mount : edit.mounts) add_mount(list_in(spec, "mounts"), mount);
  Json& process = object_in(spec, "process");
  edit_environment(list_in(process, "env"), edit);
  if (edit.memlock) set_memlock(list_in(process, "rlimits"), *edit.memlock);
  forget_capabilities(process, edit.forget_capabilities);
  edit_hooks(spec, edit);
  for (const auto& [key, value] : edit.annotations) object_in(spec, "annotations")[key] = value;
  if (!added.empty()) object_in(spec, "annotations")[kAddedAnnotation] = base::to_text(added);
  return base::rewrite_json(text, original, spec);
}

}  // namespace hook::oci
