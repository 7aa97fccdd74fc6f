// SPDX-License-Identifier: Apache-2.0
// A container's config.json: what the product reads of it, and the edits that it makes.
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

// The longest config.json that is parsed.
inline constexpr size_t kMaxSpecBytes = 16 << 20;

// Where a container's network namespace comes from.
struct NetworkNamespace {
  enum class Kind { kNew, kPath, kHost };
  Kind kind = Kind::kHost;
  std::string path;  // of kPath
};

// A character device of the host, under the same path in the container.
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

// Limits of one RDMA device, as the cgroup controller `rdma` counts.
struct RdmaLimit {
  std::optional<uint32_t> handles;
  std::optional<uint32_t> objects;
  bool operator==(const RdmaLimit&) const = default;
};

// All that the product changes in a config.json, as a value.
struct SpecEdit {
  std::vector<DeviceNode> devices;  // nodes and cgroup rules, read and write
  std::vector<FileMount> mounts;
  std::map<std::string, std::string> environment;
  std::vector<std::string> forget_environment;   // exact names and, with a final '*', prefixes
  std::vector<std::string> forget_capabilities;  // from every set
  std::string
      forget_mounts;  // what is mounted on this path of the container, or below; empty: none
  std::optional<uint64_t> memlock;        // RLIMIT_MEMLOCK, soft and hard, in bytes
  std::vector<HookEntry> create_runtime;  // after those that are there
  std::vector<HookEntry> poststop;        // before those that are there: runc skips after a failure
  std::map<std::string, std::string> annotations;
  std::string leases;  // below which earlier edits found the files that they mounted; ends in '/'
  bool own_network = false;  // a new network namespace instead of the host's
  // Device name -> linux.resources.rdma limits; an unset one is not written.
  std::map<std::string, RdmaLimit> rdma_limits;
};

// What the product reads of a config.json.
struct SpecView {
  std::vector<std::string> environment;  // process.env, in order
  std::map<std::string, std::string> annotations;
  NetworkNamespace network;
  std::string root;                    // root.path; relative: to the bundle
  std::set<std::string> capabilities;  // of the process, in any of its sets
  std::optional<uint64_t> memlock;     // hard RLIMIT_MEMLOCK in bytes, if the engine sets it
};

// kInvalid, with the key, if TEXT is no JSON object, if a key stands twice in an object, if a key
// that the product reads or changes stands there in another case (runc and crun then disagree on
// what the container is), if one has another type than the OCI runtime specification says, or if
// the environment is larger than a program can be started with.
base::Result<SpecView> parse_spec(std::string_view text);

// TEXT with EDIT made, and without the devices, their rules and the mounts that an earlier edit
// added (it noted the devices in the annotation graphcore.ai/ipu.added). What neither names keeps
// its bytes: its order, and each number as it was written. Making the same edit again changes
// nothing. Fails as parse_spec does.
base::Result<std::string> edit_spec(std::string_view text, const SpecEdit& edit);

}  // namespace hook::oci
