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

// A file of the host that the container sees read-only.
struct FileMount {
  std::string source;
  std::string destination;
  bool operator==(const FileMount&) const = default;
};

struct HookEntry {
  std::string path;
  std::vector<std::string> args;
  int timeout_seconds = 0;
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
  std::vector<DeviceNode> devices;  // nodes and cgroup rules, read and write
  std::vector<FileMount> mounts;
  std::map<std::string, std::string> environment;
  std::vector<std::string> forget_environment;   // exact names or, with a final '*', prefixes
  std::vector<std::string> forget_capabilities;  // from every set
  std::string forget_mounts;  // mounts to drop: those on this container path, or below; empty: none
  std::optional<uint64_t> memlock;        // RLIMIT_MEMLOCK, soft and hard, in bytes
  std::vector<HookEntry> create_runtime;  // after the existing ones
  std::vector<HookEntry> poststop;        // before the existing ones: runc stops at a failure
  std::map<std::string, std::string> annotations;
  std::string leases;        // directory of files that earlier edits mounted; ends in '/'
  bool own_network = false;  // a new network namespace instead of the host's
  // Device name -> linux.resources.rdma limits; an unset limit is not written.
  std::map<std::string, RdmaLimit> rdma_limits;
};

// The parts of a config.json that the product reads.
struct SpecView {
  std::vector<std::string> environment;  // process.env, in order
  std::map<std::string, std::string> annotations;
  NetworkNamespace network;
  std::string root;                    // root.path; relative to the bundle if not absolute
  std::set<std::string> capabilities;  // of the process, in any of its sets
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

// Does the same for TEXT that is the process object of a config.json alone, as runtimes take it for
// `exec`. Only what EDIT says of the process counts.
base::Result<std::string> edit_process(std::string_view text, const SpecEdit& edit);

}  // namespace hook::oci
