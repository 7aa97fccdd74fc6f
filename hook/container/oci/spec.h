// SPDX-License-Identifier: Apache-2.0
// A container's config.json: what the product reads from it, and how it edits it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace hook::oci {

// The size limit of a config.json.
inline constexpr size_t kMaxSpecBytes = 16 << 20;

// The source of a container's network namespace.
struct NetworkNamespace {
  enum class Kind { kNew, kPath, kHost };
  Kind kind = Kind::kHost;
  std::string path;  // for kPath
};

// A character device of the host, with the same path in the container.
struct DeviceNode {
  std::string path;
  uint32_t major = 0;
  uint32_t minor = 0;
  bool operator==(const DeviceNode&) const = default;
};

// A directory of the host that the container sees read-only. A file would need a file to be mounted
// on, which would stay, empty, in the image or in a directory of the host.
struct DirectoryMount {
  std::string source;
  std::string destination;
  // Not empty: also instead of what is mounted on or below a directory of this name, wherever.
  std::string also_named = {};
  bool operator==(const DirectoryMount&) const = default;
};

struct HookEntry {
  std::string path;
  std::vector<std::string> args;
  int timeout_seconds = 0;
  bool is_debugged = false;  // it gets IPU_DEBUG=1
  bool operator==(const HookEntry&) const = default;
};

// Limits of one RDMA device, in the units of the cgroup controller `rdma`.
struct RdmaLimit {
  std::optional<uint32_t> handles;
  std::optional<uint32_t> objects;
  bool operator==(const RdmaLimit&) const = default;
};

// All changes that the product makes to a config.json.
struct SpecEdit {
  std::vector<DeviceNode> devices;     // nodes and cgroup rules, read and write
  std::vector<DirectoryMount> mounts;  // instead of those on the same container path, or below
  std::string shm_size;  // of /dev/shm, as tmpfs(5) takes it, instead of the engines' default size
  std::map<std::string, std::string> environment;
  std::vector<std::string> forget_environment;   // exact names or, with a final '*', prefixes
  std::vector<std::string> forget_capabilities;  // from every set
  std::optional<uint64_t> memlock;               // RLIMIT_MEMLOCK, soft and hard, in bytes
  std::vector<HookEntry> create_runtime;         // after the existing ones
  std::vector<HookEntry> poststop;  // before the existing ones: runc stops at a failure
  std::map<std::string, std::string> annotations;
  std::string leases;        // directory of what earlier edits mounted; ends in '/'
  bool own_network = false;  // a new network namespace instead of the host's
  // Device name -> linux.resources.rdma limits; an unset limit is not written.
  std::map<std::string, RdmaLimit> rdma_limits;
};

// A mount that config.json names, as far as it decides on what lies below.
struct MountView {
  std::string destination;  // absolute and clean
  std::string source;       // relative to the bundle if not absolute
  bool is_bind = false;     // of SOURCE, with the owners that it has on the host
  bool is_read_only = false;
};

// Users (or groups) HOST to HOST + SIZE - 1 of the host, who are also in a user namespace.
struct IdRange {
  uint32_t host = 0;
  uint32_t size = 0;
};

// The parts of a config.json that the product reads.
struct SpecView {
  std::vector<std::string> environment;  // process.env, in order
  std::map<std::string, std::string> annotations;
  NetworkNamespace network;
  std::string root;                    // root.path; relative to the bundle if not absolute
  std::set<std::string> capabilities;  // of the process, in any of its sets
  std::vector<MountView> mounts;       // in order
  std::vector<IdRange> uids, gids;     // of a new user namespace; empty: none, or not known
  std::optional<uint64_t> memlock;     // hard RLIMIT_MEMLOCK in bytes, if the engine sets it
};

// Parses TEXT. Returns kInvalid, with the key, if TEXT is not a JSON object, has a duplicate key,
// has a key of the product's in another spelling that runc takes for it and crun does not, has a
// type that the OCI runtime specification does not allow, or has an environment too large to start
// a program with.
base::Result<SpecView> parse_spec(std::string_view text);

// Returns TEXT with EDIT applied. Removes the devices, their rules and the mounts of an earlier
// edit, which noted the devices in the annotation graphcore.ai/ipu.added. All else keeps its bytes:
// its order, and the form of each number. Repeating the same edit changes nothing. Fails as
// parse_spec does.
base::Result<std::string> edit_spec(std::string_view text, const SpecEdit& edit);

// Returns TEXT without what an earlier edit like EDIT, of whatever lease, added to it: devices,
// mounts of EDIT's leases on EDIT's places, hooks that name a lease, variables with EDIT's values,
// and annotations. What an edit replaced or removed is not known any more. Fails as parse_spec
// does.
base::Result<std::string> forget_edit(std::string_view text, const SpecEdit& edit);

// Does the same as edit_spec for TEXT that is the process object of a config.json alone, as
// runtimes take it for `exec`. Only what EDIT says of the process counts.
base::Result<std::string> edit_process(std::string_view text, const SpecEdit& edit);

}  // namespace hook::oci
