// SPDX-License-Identifier: Apache-2.0
// The values of V-IPU: partitions, their states, and the IPUoF configuration of a GCD.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "vipu/block.h"

namespace vipu {

// Values of virmgrpc.PartitionReadyState, without the PS_ prefix.
enum class ReadyState { kUndefined, kPending, kActive, kRemoved, kError };
// Values of virmgrpc.PartitionOperationState, without the POS_ prefix.
enum class OperationState { kUndefined, kIdle, kCreating, kRemoving, kResetting, kFailed };
// Values of virmgrpc.IpuLinkRoutingType, GatewayRoutingType and SyncType, without their prefixes.
// kUndefined leaves the choice to the controller.
enum class LinkRouting { kUndefined, kDnc, kSwnc, kBtnc, kRingSwnc };
enum class GatewayRouting { kUndefined, kRing, kSwRing };
enum class SyncType {
  kUndefined,
  kGs2Default,
  kGs2IndependentRails,
  kPodNativeDefault,
  kPodNativeReplicatedPipeline
};

// Returns "ACTIVE", "PENDING", ..., as Graphcore's `vipu list partitions` prints them.
const char* name_of(ReadyState state);
// Returns "IDLE", "CREATING", ...
const char* name_of(OperationState state);
// Return "DNC", "RINGSWNC", "RING", "ST_POD_NATIVE_DEFAULT", ...; "DEFAULT" for kUndefined.
const char* name_of(LinkRouting routing);
const char* name_of(GatewayRouting routing);
const char* name_of(SyncType type);
// Return the value with that name, or nothing if there is none.
std::optional<LinkRouting> parse_link_routing(std::string_view name);
std::optional<GatewayRouting> parse_gateway_routing(std::string_view name);
std::optional<SyncType> parse_sync_type(std::string_view name);

// The place of one IPU in the pool: its IPU-Link domain, and its number there in link order. For
// cards in PCIe slots: the group of linked cards, and the position in it (for requests see pcie.h).
struct IpuPlace {
  uint32_t domain = 0;
  uint32_t ipu = 0;
  bool operator==(const IpuPlace&) const = default;
  auto operator<=>(const IpuPlace&) const = default;
};

// An IPU that is requested by name, and the ids that the partition gives it.
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
  uint32_t auto_resets = 0;      // number since the partition became ACTIVE
  uint32_t max_auto_resets = 0;  // limit at which the controller gives up; 0: not reported
  int64_t last_auto_reset = 0;   // unix time in seconds; 0: never
  bool operator==(const PartitionStatus&) const = default;
};

// The length above which Graphcore's tools break.
inline constexpr size_t kMaxPartitionName = 36;
// Returns whether TEXT is 1 to 36 characters of [A-Za-z0-9-_].
[[nodiscard]] bool is_partition_name(std::string_view text);

// The partition to create. Fields that are empty, 0 or kUndefined are left to the controller.
struct PartitionRequest {
  std::string id = {};  // see is_partition_name
  uint32_t size = 0;    // IPUs, a power of two
  bool reconfigurable = false;
  std::string allocation = {};
  std::string cluster = {};
  LinkRouting link_routing = LinkRouting::kUndefined;
  GatewayRouting gateway_routing = GatewayRouting::kUndefined;
  SyncType sync = SyncType::kUndefined;
  uint32_t segments = 0;  // IPU-Link segments, each from another domain
  uint32_t gcds = 0;
  uint32_t replicas = 0;  // over all GCDs
  std::vector<ChosenIpu> ipus =
      {};  // exactly these IPUs; a V-IPU controller then requires a cluster
  bool disable_auto_reset = false;
  bool relocatable = false;          // after errors the controller may move it to other IPUs
  std::optional<Block> pinned = {};  // of a larger request that waits: not to be used (backfill.h)
  bool operator==(const PartitionRequest&) const = default;
};

// One device of an IPUoF configuration, with the fields of virmgrpc.IpuofDevice, which have the
// same names in the JSON file that Poplar reads.
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

// The IPUoF configuration of one GCD. The attributes are Graphcore's and are copied verbatim.
struct IpuofConfig {
  std::vector<IpuofDevice> devices;
  std::map<std::string, std::string> attributes;
  bool operator==(const IpuofConfig&) const = default;
};

// Returns the file that Poplar reads at IPUOF_CONFIG_PATH: {"devices":[...],"attributes":{...}}.
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
  int32_t numa_node = -1;  // -1: unknown
  std::vector<CardNode> nodes;
  bool operator==(const Card&) const = default;
};

// An ACTIVE partition, as read back from its source: either IPUs over the fabric, with one
// configuration per GCD, or cards of this host. The other list is empty.
struct Grant {
  std::vector<IpuofConfig> gcds = {};
  // IPv4 address of the controller that answered; empty if there is none.
  std::string controller_address = {};
  std::vector<Card> cards = {};
  // IPv4 and IPv6 addresses of the controller, at most kMaxControllerAddresses: its numeric one, or
  // all that its name had. They are looked up, never taken from an answer of the controller.
  std::vector<std::string> controller_addresses = {};
  bool operator==(const Grant&) const = default;
};

// A name with more addresses is refused: containers are kept from each of them.
inline constexpr size_t kMaxControllerAddresses = 16;

// The attributes of one IPU, as `vipu list ipu-attrs` shows them.
struct IpuAttributes {
  std::string agent;  // agent of its IPU-Machine
  uint32_t ipu = 0;   // its hardware id on that machine
  std::map<std::string, std::string> attributes;
  bool operator==(const IpuAttributes&) const = default;
};

// An IPU that is never given to a partition, and the reason.
struct TaintedIpu {
  IpuPlace place;
  std::string reason;
  bool operator==(const TaintedIpu&) const = default;
};

// A whole pool: the sizes of its IPU-Link domains, and what is in them.
struct Survey {
  std::vector<uint32_t> domains = {};
  std::vector<Partition> partitions = {};
  std::vector<TaintedIpu> tainted = {};
  bool operator==(const Survey&) const = default;
};

}  // namespace vipu
