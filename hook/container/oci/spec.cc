// SPDX-License-Identifier: Apache-2.0
#include "hook/container/oci/spec.h"

#include <algorithm>
#include <initializer_list>

#include "base/names.h"
#include "base/text.h"
#include "hook/container/oci/document.h"

namespace hook::oci {
namespace {

using namespace base::names;
using base::Json;

// The kernel gives a program's arguments and environment a quarter of the usual 8 MiB stack.
constexpr size_t kMaxEnvironment = 2 << 20;

// Returns the member NAME of OBJECT, or null if it is absent or null.
const Json& member(const Json& object, const char* name) {
  static const Json kNull;
  if (!object.is_object()) return kNull;
  const auto found = object.find(name);
  return found == object.end() ? kNull : *found;
}

Result<std::vector<std::string>> read_environment(const Json& spec) {
  std::vector<std::string> environment;
  size_t bytes = 0;
  for (const Json& entry : member(member(spec, "process"), "env")) {
    if (!entry.is_string()) {
      return Error(Code::kInvalid, "config.json: key 'process.env' must be a list of strings");
    }
    environment.push_back(entry.get<std::string>());
    bytes += environment.back().size() + 1;
  }
  if (bytes > kMaxEnvironment) {
    return Error(Code::kInvalid, str("config.json: key 'process.env' has ", bytes,
                                     " bytes; at most ", kMaxEnvironment, " are accepted"));
  }
  return environment;
}

Result<std::map<std::string, std::string>> read_annotations(const Json& spec) {
  std::map<std::string, std::string> annotations;
  for (const auto& [key, value] : member(spec, "annotations").items()) {
    if (!value.is_string()) {
      return Error(Code::kInvalid,
                   str("config.json: annotation ", base::quote(key), " must be a string"));
    }
    annotations[key] = value.get<std::string>();
  }
  return annotations;
}

Result<NetworkNamespace> read_network(const Json& spec) {
  for (const Json& entry : member(member(spec, "linux"), "namespaces")) {
    const Json& type = member(entry, "type");
    if (!type.is_string() || type != "network") continue;
    const Json& path = member(entry, "path");
    if (path.is_null() || path == "") return NetworkNamespace{NetworkNamespace::Kind::kNew, ""};
    if (!path.is_string()) {
      return Error(Code::kInvalid,
                   "config.json: key 'path' of the network namespace must be a string");
    }
    return NetworkNamespace{NetworkNamespace::Kind::kPath, path.get<std::string>()};
  }
  return NetworkNamespace{NetworkNamespace::Kind::kHost, ""};
}

bool has_option(const Json& mount, std::initializer_list<const char*> names) {
  const Json& options = member(mount, "options");
  return std::any_of(names.begin(), names.end(), [&](const char* name) {
    return std::find(options.begin(), options.end(), name) != options.end();
  });
}

std::string text_of(const Json& object, const char* name) {
  const Json& text = member(object, name);
  return text.is_string() ? text.get<std::string>() : "";
}

std::vector<MountView> read_mounts(const Json& spec) {
  std::vector<MountView> mounts;
  for (const Json& entry : member(spec, "mounts")) {
    const std::string destination = text_of(entry, "destination");
    if (destination.empty()) continue;
    MountView mount{clean_path(destination), text_of(entry, "source")};
    const bool is_bind = text_of(entry, "type") == "bind" || has_option(entry, {"bind", "rbind"});
    const bool is_mapped =
        !member(entry, "uidMappings").is_null() || has_option(entry, {"idmap", "ridmap"});
    mount.is_bind = is_bind && !is_mapped;
    mount.is_read_only = has_option(entry, {"ro", "rro"}) && !has_option(entry, {"rw", "rrw"});
    mounts.push_back(std::move(mount));
  }
  return mounts;
}

bool has_new_user_namespace(const Json& spec) {
  for (const Json& entry : member(member(spec, "linux"), "namespaces")) {
    if (member(entry, "type") == "user") return text_of(entry, "path").empty();
  }
  return false;
}

std::vector<IdRange> read_ranges(const Json& spec, const char* name) {
  std::vector<IdRange> ranges;
  if (!has_new_user_namespace(spec)) return ranges;
  for (const Json& entry : member(member(spec, "linux"), name)) {
    const Json& host = member(entry, "hostID");
    const Json& size = member(entry, "size");
    if (!host.is_number_unsigned() || !size.is_number_unsigned()) return {};
    ranges.push_back({host.get<uint32_t>(), size.get<uint32_t>()});
  }
  return ranges;
}

std::string read_root(const Json& spec) {
  const Json& path = member(member(spec, "root"), "path");
  return path.is_string() ? path.get<std::string>() : "";
}

std::set<std::string> read_capabilities(const Json& spec) {
  std::set<std::string> names;
  for (const Json& set : member(member(spec, "process"), "capabilities")) {
    if (!set.is_array()) continue;
    for (const Json& name : set) {
      if (name.is_string()) names.insert(name.get<std::string>());
    }
  }
  return names;
}

std::optional<uint64_t> read_memlock(const Json& spec) {
  for (const Json& limit : member(member(spec, "process"), "rlimits")) {
    const Json& hard = member(limit, "hard");
    if (member(limit, "type") == "RLIMIT_MEMLOCK" && hard.is_number_unsigned()) {
      return hard.get<uint64_t>();
    }
  }
  return std::nullopt;
}

}  // namespace

Result<SpecView> parse_spec(std::string_view text) {
  const Json json = TRY(parse_document(text));
  SpecView view;
  view.environment = TRY(read_environment(json));
  view.annotations = TRY(read_annotations(json));
  view.network = TRY(read_network(json));
  view.root = read_root(json);
  view.mounts = read_mounts(json);
  view.uids = read_ranges(json, "uidMappings");
  view.gids = read_ranges(json, "gidMappings");
  view.capabilities = read_capabilities(json);
  view.memlock = read_memlock(json);
  return view;
}

}  // namespace hook::oci
