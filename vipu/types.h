// SPDX-License-Identifier: Apache-2.0
// What V-IPU speaks of, as values: partitions, their states, and the IPUoF configuration of a GCD.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vipu {

// virmgrpc.PartitionReadyState, without the PS_ prefix.
enum class ReadyState { kUndefined, kPending, kActive, kRemoved, kError };
// virmgrpc.PartitionOperationState, without the POS_ prefix.
enum class OperationState { kUndefined, kIdle, kCreating, kRemoving, kResetting, kFailed };
// virmgrpc.IpuLinkRoutingType, GatewayRoutingType and SyncType, without their prefixes. kUndefined
// leaves the choice to the controller.
enum class LinkRouting { kUndefined, kDnc, kSwnc, kBtnc, kRingSwnc };
enum class GatewayRouting { kUndefined, kRing, kSwRing };
enum class SyncType {
  kUndefined,
  kGs2Default,
  kGs2IndependentRails,
  kPodNativeDefault,
  kPodNativeReplicatedPipeline
};

// "ACTIVE", "PENDING", ... as Graphcore's `vipu list partitions` prints them.
const char* name_of(ReadyState state);
// "IDLE", "CREATING", ...
const char* name_of(OperationState state);
// "DNC", "RINGSWNC", "RING", "ST_POD_NATIVE_DEFAULT", ...; "DEFAULT" for kUndefined.
const char* name_of(LinkRouting routing);
const char* name_of(GatewayRouting routing);
const char* name_of(SyncType type);
// The value with that name; nothing if there is none.
std::optional<LinkRouting> parse_link_routing(std::string_view name);
std::optional<GatewayRouting> parse_gateway_routing(std::string_view name);
std::optional<SyncType> parse_sync_type(std::string_view name);

// One IPU by its place in the pool: its IPU-Link domain and its number in it, in link order. Of
// cards in PCIe slots: the group of linked cards, and the position in it (a request: see pcie.h).
struct IpuPlace {
  uint32_t domain = 0;
  uint32_t ipu = 0;
  bool operator==(const IpuPlace&) const = default;
  auto operator<=>(const IpuPlace&) const = default;
};

// An IPU that is asked for by name, and what the partition calls it.
struct ChosenIpu {
  IpuPlace place;
  uint32_t domain_routing_id = 0;
  uint32_t routing_id = 0;
  bool operator==(const ChosenIpu&) const = default;
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
  LinkRouting link_routing = LinkRouting::kUndefined;
  GatewayRouting gateway_routing = GatewayRouting::kUndefined;
  SyncType sync = SyncType::kUndefined;
  bool operator==(const Partition&) const = default;
};

struct PartitionStatus {
  ReadyState ready = ReadyState::kUndefined;
  OperationState operation = OperationState::kUndefined;
  std::vector<std::string> errors = {};
  uint32_t auto_resets = 0;      // done since the partition became ACTIVE
  uint32_t max_auto_resets = 0;  // after which the controller gives up; 0: not told
  int64_t last_auto_reset = 0;   // unix time in seconds; 0: never
  bool operator==(const PartitionStatus&) const = default;
};

// 36 characters is where Graphcore's tools break.
inline constexpr size_t kMaxPartitionName = 36;
// Whether TEXT is 1 to 36 characters of [A-Za-z0-9-_].
[[nodiscard]] bool is_partition_name(std::string_view text);

// What to create. Fields that are empty, 0 or kUndefined are left to the controller.
struct PartitionRequest {
  std::string id = {};  // see is_partition_name
  uint32_t size = 0;    // IPUs, a power of two
  bool reconfigurable = false;
  std::string allocation = {};
  std::string cluster = {};
  LinkRouting link_routing = LinkRouting::kUndefined;
  GatewayRouting gateway_routing = GatewayRouting::kUndefined;
  SyncType sync = SyncType::kUndefined;
  uint32_t segments = 0;  // IPU-Link segments, each from a domain of its own
  uint32_t gcds = 0;
  uint32_t replicas = 0;             // over all GCDs
  std::vector<ChosenIpu> ipus = {};  // these and no others; a V-IPU controller then wants a cluster
  bool disable_auto_reset = false;
  bool relocatable = false;  // after errors the controller may move it to other IPUs
  bool operator==(const PartitionRequest&) const = default;
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

// A character device of the host.
struct CardNode {
  std::string path;  // "/dev/ipu0_ex"
  uint32_t major = 0;
  uint32_t minor = 0;
  bool operator==(const CardNode&) const = default;
};

// An IPU in a PCIe slot of this host.
struct Card {
  uint32_t number = 0;     // the N of /dev/ipuN
  std::string pci;         // "0000:35:00.0"
  int32_t numa_node = -1;  // -1: not told
  std::vector<CardNode> nodes;
  bool operator==(const Card&) const = default;
};

// A partition that is ACTIVE, as read back from its source: IPUs over the fabric, one configuration
// a GCD, or cards of this host. One of the two is empty.
struct Grant {
  std::vector<IpuofConfig> gcds = {};
  std::string controller_address = {};  // IPv4 address of the controller; empty if there is none
  std::vector<Card> cards = {};
  bool operator==(const Grant&) const = default;
};

// The attributes of one IPU, as `vipu list ipu-attrs` shows them.
struct IpuAttributes {
  std::string agent;  // of its IPU-Machine
  uint32_t ipu = 0;   // its hardware id there
  std::map<std::string, std::string> attributes;
  bool operator==(const IpuAttributes&) const = default;
};

// An IPU that is never given away, and why.
struct TaintedIpu {
  IpuPlace place;
  std::string reason;
  bool operator==(const TaintedIpu&) const = default;
};

// A whole pool: its IPU-Link domains by their sizes, and what is in them.
struct Survey {
  std::vector<uint32_t> domains = {};
  std::vector<Partition> partitions = {};
  std::vector<TaintedIpu> tainted = {};
  bool operator==(const Survey&) const = default;
};

}  // namespace vipu
