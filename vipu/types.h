// SPDX-License-Identifier: Apache-2.0
// What V-IPU speaks of, as values: partitions, their states, and the IPUoF configuration of a GCD.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace vipu {

// virmgrpc.PartitionReadyState, without the PS_ prefix.
enum class ReadyState { kUndefined, kPending, kActive, kRemoved, kError };
// virmgrpc.PartitionOperationState, without the POS_ prefix.
enum class OperationState { kUndefined, kIdle, kCreating, kRemoving, kResetting, kFailed };

// "ACTIVE", "PENDING", ... as Graphcore's `vipu list partitions` prints them.
const char* name_of(ReadyState state);

// One IPU of a partition, by its place in the POD: its IPU-Link domain and its number in it.
struct IpuPlace {
  uint32_t domain = 0;
  uint32_t ipu = 0;
  bool operator==(const IpuPlace&) const = default;
  auto operator<=>(const IpuPlace&) const = default;
};

struct Partition {
  std::string id;
  std::string cluster;
  std::string allocation;
  std::vector<IpuPlace> ipus;  // its size is the partition's
  uint32_t gcds = 1;
  uint32_t replicas = 1;
  uint32_t segments = 1;  // IPU-Link segments (ILDs)
  bool reconfigurable = false;
  ReadyState ready = ReadyState::kUndefined;
  bool operator==(const Partition&) const = default;
};

struct PartitionStatus {
  ReadyState ready = ReadyState::kUndefined;
  OperationState operation = OperationState::kUndefined;
  std::vector<std::string> errors;
};

// What to create. Fields that are empty or 0 are left to the controller.
struct PartitionRequest {
  std::string id;     // at most 36 characters of [A-Za-z0-9-_]: where Graphcore's tools break
  uint32_t size = 0;  // IPUs, a power of two
  bool reconfigurable = false;
  std::string allocation;
};

// One device of an IPUoF configuration; the fields of virmgrpc.IpuofDevice, and of the same names
// in the JSON file that Poplar reads.
struct IpuofDevice {
  std::string ip;
  uint32_t server_port = 0;
  uint32_t rdma_port = 0;
  uint32_t device_id = 0;  // IPU number on its IPU-Machine, 0 to 3
  uint32_t ipulink_segment_id = 0;
  uint32_t routing_id = 0;
  uint32_t ipu_arch_id = 0;
  uint32_t ipu_id = 0;
  std::string chip_id;
  std::string gwsw_version;
  std::string ipum_sw_version;
  bool operator==(const IpuofDevice&) const = default;
};

// The IPUoF configuration of one GCD. The attributes are Graphcore's: they are copied verbatim.
struct IpuofConfig {
  std::vector<IpuofDevice> devices;
  std::map<std::string, std::string> attributes;
  bool operator==(const IpuofConfig&) const = default;
};

// The file that Poplar reads at IPUOF_CONFIG_PATH: {"devices":[...],"attributes":{...}}.
std::string to_ipuof_file(const IpuofConfig& config);

// A partition that is ACTIVE, as read back from its controller.
struct Grant {
  std::vector<IpuofConfig> gcds;
  std::string controller_address;  // IPv4 address of the controller that answered; empty if unknown
};

// How much of a POD is taken. The largest free block is a power of two, aligned: what one more
// partition can have at most.
struct Capacity {
  uint32_t total = 0;
  uint32_t used = 0;
  uint32_t largest_free = 0;
};

}  // namespace vipu
