// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <initializer_list>
#include <optional>
#include <set>

#include "base/json_rewrite.h"
#include "base/names.h"
#include "base/text.h"
#include "hook/container/oci/capability.h"
#include "hook/container/oci/document.h"
#include "hook/container/oci/spec.h"

namespace hook::oci {
namespace {

using namespace base::names;
using base::Json;

// The annotation in which an edit notes, as a JSON list, the paths of the devices that it added.
// Whoever may set annotations can write it too, but it only ever removes something.
constexpr const char* kAddedAnnotation = "graphcore.ai/ipu.added";
constexpr size_t kMaxNote = 64 << 10;  // a host has far fewer devices

// Returns a member of an object, made if it is absent or null. A member that is made moves the
// others of its parent: references to them are no longer valid.
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

// Returns where a mount is; empty if it does not say.
std::string destination_of(const Json& mount) {
  const auto found = mount.is_object() ? mount.find("destination") : mount.end();
  if (!mount.is_object() || found == mount.end() || !found->is_string()) return "";
  return clean_path(found->get<std::string>());
}

template <typename Predicate>
void erase_if(Json& list, Predicate predicate) {
  auto& items = list.get_ref<Json::array_t&>();
  items.erase(std::remove_if(items.begin(), items.end(), predicate), items.end());
}

// Erases items of a list in SPEC, if there is such a list.
template <typename Predicate>
void erase_if_there(Json& spec, std::initializer_list<const char*> names, Predicate predicate) {
  Json* at = &spec;
  for (const char* name : names) {
    if (!at->is_object() || !at->contains(name)) return;
    at = &(*at)[name];
  }
  if (at->is_array()) erase_if(*at, predicate);
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

bool is_on_or_below(const Json& mount, const DirectoryMount& place) {
  return str(destination_of(mount), "/").starts_with(str(place.destination, "/"));
}

// Returns the directory called NAME on which MOUNT is, or below which; nothing if there is none.
std::optional<std::string> directory_named(const std::string& name, const Json& mount) {
  const std::string path = str(destination_of(mount), "/");
  const size_t at = path.find(str("/", name, "/"));
  if (name.empty() || at == std::string::npos) return std::nullopt;
  return path.substr(0, at + 1 + name.size());
}

// Returns the mounts of EDIT for SPEC, whose own mounts also say where.
std::vector<DirectoryMount> mounts_for(const Json& spec, const SpecEdit& edit) {
  std::vector<DirectoryMount> mounts = edit.mounts;
  const auto own = spec.find("mounts");
  if (own == spec.end() || !own->is_array()) return mounts;
  for (const DirectoryMount& mount : edit.mounts) {
    std::set<std::string> places;
    for (const Json& item : *own) {
      const std::optional<std::string> place = directory_named(mount.also_named, item);
      if (place) places.insert(*place);
    }
    for (const std::string& place : places) mounts.push_back({mount.source, place});
  }
  return mounts;
}

void add_mount(Json& mounts, const DirectoryMount& mount) {
  erase_if(mounts, [&](const Json& item) { return is_on_or_below(item, mount); });
  mounts.push_back({{"destination", mount.destination},
                    {"type", "bind"},
                    {"source", mount.source},
                    {"options", {"bind", "ro", "nosuid", "nodev", "noexec", "rprivate"}}});
}

// The size that docker, podman, containerd and nerdctl give where nobody chose one: 64 MiB, or
// podman's 64,000 KiB.
bool is_default_size(const Json& option) {
  return option == "size=65536k" || option == "size=67108864" || option == "size=65536000" ||
         option == "size=64000k";
}

void resize_shm(Json& spec, const std::string& size) {
  const auto mounts = spec.find("mounts");
  if (mounts == spec.end() || !mounts->is_array()) return;
  for (Json& mount : *mounts) {
    const bool is_shm = destination_of(mount) == "/dev/shm" && has(mount, "type", "tmpfs");
    if (!is_shm || !mount.contains("options") || !mount["options"].is_array()) continue;
    for (Json& option : mount["options"]) {
      if (is_default_size(option)) option = str("size=", size);
    }
  }
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
    environment.push_back(str(name, "=", value));
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
      return item.is_string() && may_be_one_of(item.get<std::string>(), names);
    });
  }
}

Json to_json(const HookEntry& entry) {
  // Without an environment of its own, a hook inherits the runtime's, or even the image's
  // (CVE-2025-23266).
  Json environment = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin"};
  if (entry.is_debugged) environment.push_back("IPU_DEBUG=1");
  return {{"path", entry.path},
          {"args", entry.args},
          {"env", std::move(environment)},
          {"timeout", entry.timeout_seconds}};
}

// Whether a hook is a CDI device's, which says what the container asks for.
bool is_of_cdi(const Json& hook) {
  const auto args = hook.is_object() ? hook.find("args") : hook.end();
  return hook.is_object() && args != hook.end() && args->is_array() &&
         std::find(args->begin(), args->end(), "--cdi") != args->end();
}

// Removes our entries of an earlier edit, which have one of our programs: earlier releases named
// the hook's at both stages. A CDI device's stays: the bundle may be started again.
void forget_hooks(Json& list, const SpecEdit& edit) {
  const auto is_of = [](const Json& item, const std::vector<HookEntry>& entries) {
    return std::any_of(entries.begin(), entries.end(),
                       [&](const HookEntry& entry) { return has(item, "path", entry.path); });
  };
  erase_if(list, [&](const Json& item) {
    return !is_of_cdi(item) && (is_of(item, edit.create_runtime) || is_of(item, edit.poststop));
  });
}

void edit_hooks(Json& spec, const SpecEdit& edit) {
  if (edit.create_runtime.empty() && edit.poststop.empty()) return;
  Json& hooks = object_in(spec, "hooks");
  Json& create_runtime = list_in(hooks, "createRuntime");
  forget_hooks(create_runtime, edit);
  for (const HookEntry& entry : edit.create_runtime) create_runtime.push_back(to_json(entry));
  Json& poststop = list_in(hooks, "poststop");
  forget_hooks(poststop, edit);
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

void take_back_devices(Json& spec, const std::set<std::string>& paths) {
  const auto is_named = [&](const Json& node) {
    const auto path = node.is_object() ? node.find("path") : node.end();
    return node.is_object() && path != node.end() && path->is_string() &&
           paths.contains(path->get<std::string>());
  };
  std::set<Json> given;
  erase_if_there(spec, {"linux", "devices"}, [&](const Json& node) {
    if (!is_named(node)) return false;
    if (node.contains("major") && node.contains("minor"))
      given.insert(allow_rule(node["major"], node["minor"]));
    return true;
  });
  erase_if_there(spec, {"linux", "resources", "devices"},
                 [&](const Json& rule) { return given.contains(rule); });
}

// Takes the note of an earlier edit out of SPEC and returns its paths.
Result<std::set<std::string>> take_note(Json& spec) {
  std::set<std::string> paths;
  const auto annotations = spec.find("annotations");
  if (annotations == spec.end() || !annotations->contains(kAddedAnnotation)) return paths;
  const Json text = (*annotations)[kAddedAnnotation];
  annotations->erase(kAddedAnnotation);
  if (!text.is_string()) return paths;
  if (const size_t bytes = text.get_ref<const std::string&>().size(); bytes > kMaxNote) {
    return Error(Code::kInvalid, str("config.json: annotation '", kAddedAnnotation, "' has ", bytes,
                                     " bytes; at most ", kMaxNote,
                                     " are accepted. It is the toolkit's own: create "
                                     "the container without it"));
  }
  const Result<Json> note = base::parse_json(text.get<std::string>(), kAddedAnnotation);
  if (!note.ok() || !note.value().is_array()) return paths;
  for (const Json& path : note.value()) {
    if (path.is_string()) paths.insert(path.get<std::string>());
  }
  return paths;
}

bool is_of_leases(const Json& mount, const std::string& leases) {
  const auto source = mount.is_object() ? mount.find("source") : mount.end();
  return mount.is_object() && source != mount.end() && source->is_string() &&
         source->get<std::string>().starts_with(leases);
}

// Removes what an earlier edit of the same bundle added: its devices may be another container's
// now, and its files are gone.
Status take_back(Json& spec, const SpecEdit& edit) {
  const std::set<std::string> added = TRY(take_note(spec));
  take_back_devices(spec, added);
  const auto mounts = spec.find("mounts");
  if (edit.leases.empty() || mounts == spec.end() || !mounts->is_array()) return {};
  erase_if(*mounts, [&](const Json& item) { return is_of_leases(item, edit.leases); });
  return {};
}

// Whether a hook was written by an edit like those of ENTRIES: it has our program and names a
// lease. A hook without a lease is the bundle's own.
bool is_of_lease(const Json& hook, const std::vector<HookEntry>& entries) {
  const auto args = hook.is_object() ? hook.find("args") : hook.end();
  if (!hook.is_object() || args == hook.end() || !args->is_array()) return false;
  const bool names_lease = std::find(args->begin(), args->end(), "--lease") != args->end();
  return names_lease && std::any_of(entries.begin(), entries.end(), [&](const HookEntry& entry) {
           return has(hook, "path", entry.path);
         });
}

void edit_process_of(Json& spec, const SpecEdit& edit) {
  Json& process = object_in(spec, "process");
  if (!edit.environment.empty() || !edit.forget_environment.empty()) {
    edit_environment(list_in(process, "env"), edit);
  }
  if (edit.memlock) set_memlock(list_in(process, "rlimits"), *edit.memlock);
  forget_capabilities(process, edit.forget_capabilities);
}

}  // namespace

Result<std::string> edit_spec(std::string_view text, const SpecEdit& edit) {
  const Json original = TRY(parse_document(text));
  Json spec = original;
  Json added = Json::array();
  TRY(take_back(spec, edit));
  for (const DeviceNode& device : edit.devices) {
    add_device(object_in(spec, "linux"), device, added);
  }
  if (edit.own_network) give_own_network(object_in(spec, "linux"));
  if (!edit.rdma_limits.empty()) limit_rdma(object_in(spec, "linux"), edit.rdma_limits);
  for (const DirectoryMount& mount : mounts_for(original, edit))
    add_mount(list_in(spec, "mounts"), mount);
  if (!edit.shm_size.empty()) resize_shm(spec, edit.shm_size);
  edit_process_of(spec, edit);
  edit_hooks(spec, edit);
  for (const auto& [key, value] : edit.annotations) object_in(spec, "annotations")[key] = value;
  if (!added.empty()) object_in(spec, "annotations")[kAddedAnnotation] = base::to_text(added);
  return base::rewrite_json(text, original, spec);
}

Result<std::string> forget_edit(std::string_view text, const SpecEdit& edit) {
  const Json original = TRY(parse_document(text));
  Json spec = original;
  const std::set<std::string> added = TRY(take_note(spec));
  take_back_devices(spec, added);
  erase_if_there(spec, {"mounts"}, [&](const Json& mount) {
    return is_of_leases(mount, edit.leases) &&
           std::any_of(edit.mounts.begin(), edit.mounts.end(), [&](const DirectoryMount& place) {
             return is_on_or_below(mount, place) || directory_named(place.also_named, mount);
           });
  });
  const auto is_ours = [&](const Json& hook) {
    return is_of_lease(hook, edit.create_runtime) || is_of_lease(hook, edit.poststop);
  };
  erase_if_there(spec, {"hooks", "createRuntime"}, is_ours);
  erase_if_there(spec, {"hooks", "poststop"}, is_ours);
  for (const auto& [name, value] : edit.environment) {
    const std::string variable = str(name, "=", value);
    erase_if_there(spec, {"process", "env"}, [&](const Json& item) { return item == variable; });
  }
  for (const auto& [key, value] : edit.annotations) {
    if (const auto found = spec.find("annotations"); found != spec.end() && found->is_object()) {
      found->erase(key);
    }
  }
  return base::rewrite_json(text, original, spec);
}

Result<std::string> edit_process(std::string_view text, const SpecEdit& edit) {
  constexpr std::string_view kBefore = R"({"process":)";
  constexpr std::string_view kAfter = "}";
  SpecEdit of_process;
  of_process.environment = edit.environment;
  of_process.forget_environment = edit.forget_environment;
  of_process.forget_capabilities = edit.forget_capabilities;
  of_process.memlock = edit.memlock;
  const std::string edited = TRY(edit_spec(str(kBefore, text, kAfter), of_process));
  return edited.substr(kBefore.size(), edited.size() - kBefore.size() - kAfter.size());
}

}  // namespace hook::oci
