// SPDX-License-Identifier: Apache-2.0
// A lease: one container's hold on a partition, its IPUs, and its addresses.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/process.h"
#include "netns/address.h"
#include "netns/namespace.h"
#include "netns/types.h"

namespace hook::ledger {

// INTENT -> ALLOCATED -> RUNNING -> RELEASING -> QUARANTINE -> FREE. In QUARANTINE everything is
// released, but the addresses stay reserved for a while. FAILED is FREE with a reason: no container
// ever got the lease. transitions.h lists the possible changes.
enum class LeaseState { kIntent, kAllocated, kRunning, kReleasing, kQuarantine, kFree, kFailed };

// The source of a lease's partition, which decides what becomes of the partition at the end.
enum class Origin {
  kOwn,      // made, or taken from the warm ones, for this lease; removed with it
  kNamed,    // made in advance by an operator; this lease alone has its GCDs
  kShared,   // made in advance by an operator; other leases may have the same GCDs
  kForeign,  // made in advance by somebody else, who keeps it; this lease alone has its GCDs
  kJoined,   // the partition of another lease of the same pod; removed with the last of them
};

[[nodiscard]] std::string_view name_of(LeaseState state);  // "INTENT", ...
[[nodiscard]] std::string_view name_of(Origin origin);     // "OWN", ...
// Returns whether a lease in this state holds anything.
[[nodiscard]] bool is_live(LeaseState state);

// One interface of a lease, on one rail.
struct RailLease {
  netns::LinkKind kind = netns::LinkKind::kMacvlan;
  std::string parent;            // the RNIC's interface or the function, in the host's namespace
  std::string rdma_device = {};  // the function's RDMA device; empty: none
  netns::MacvlanMode mode = netns::MacvlanMode::kPrivate;
  uint32_t mtu = 0;       // 0: the MTU of the parent
  std::string interface;  // its name in the container: "roce0"
  netns::Address address;
  netns::MacAddress mac;
  netns::Prefix subnet = {};            // the IPUs that it reaches
  std::vector<netns::Peer> peers = {};  // further IPUs that it reaches, from the configuration
  // The address follows from the lease's IPUs (config/scheme.h), so it is free with its interface.
  bool by_ipu = false;
  bool operator==(const RailLease&) const = default;
};

// One IPU of the partition and the address at which it is reached.
struct LeasedIpu {
  netns::Address address;  // of its IPU-Machine
  uint32_t device = 0;     // its number on that IPU-Machine
  uint16_t server_port = 0;
  uint16_t rdma_port = 0;
  bool operator==(const LeasedIpu&) const = default;
};

struct Lease {
  std::string id;         // 32 hexadecimal digits
  std::string container;  // its id at the engine
  std::string bundle;
  std::string tenant;
  std::string pool;
  std::string controller;  // the partition's source, which must remove it: see source_of()
  std::string partition;
  uint32_t gcd = 0;   // the first GCD of the partition that it has
  uint32_t gcds = 1;  // how many it has from that on: one, or all of the partition
  Origin origin = Origin::kOwn;
  uint32_t ipus = 0;  // IPUs of these GCDs; 0: unknown before ALLOCATED
  LeaseState state = LeaseState::kIntent;
  int64_t generation = 0;  // increases with every change; a change from an older one is refused
  // The process whose life holds the lease: the runtime during creation, the hook during
  // attachment, the container's first process while it runs, then the releasing process. Pid 0: no
  // process, because a release failed.
  base::ProcessId owner;
  std::string boot_id;
  netns::Identity netns;           // the container's; zero before the hook has attached
  int32_t netns_id = -1;           // id of netns in the host's namespace
  uint64_t host_netns_cookie = 0;  // cookie of the host namespace in which netns_id is valid
  // The lease for which the interfaces were made: this one or, in a namespace that containers
  // share, another. They belong to all live leases with this attachment, and are removed with the
  // last one.
  std::string attachment = {};
  std::string state_dir = {};  // the container's directory at its low-level runtime; empty: unknown
  std::string cgroup = {};     // the container's own, below /sys/fs/cgroup; empty: unknown
  int64_t asked_ms = 0;        // when its start began, unix time; only written, with the INTENT
  std::string error;           // why no container got the lease
  std::string obstacle;        // why the release is not complete yet
  uint32_t attempts = 0;       // failed attempts at the release
  int64_t retry_ms = 0;        // unix time before which no start tries the release again
  int64_t quarantine_until_ms = 0;  // unix time; 0: the lease has held no address
  int64_t created_ms = 0;           // unix time
  int64_t changed_ms = 0;
  std::vector<RailLease> rails;
  std::vector<LeasedIpu> devices;
  std::vector<netns::Prefix> prohibited;  // never reachable from the container
  bool has_endpoint = false;              // a process is recorded in Endpoints
  // The id under which GCDs are claimed at a fleet: that of the lease that claimed them, which may
  // have passed them on. Empty: no claim is needed.
  std::string claim = {};
  std::string fleet = {};  // prefix of that fleet
};

// The part of a live lease that a quick look at all of them needs.
struct LeaseHold {
  std::string id;
  LeaseState state = LeaseState::kIntent;
  base::ProcessId owner;
  std::string boot_id;
  int64_t retry_ms = 0;
};

// Returns how long starts leave a failed release alone after ATTEMPTS attempts: 2 s after the
// first, doubled after each further one, at most 5 min.
[[nodiscard]] int64_t retry_pause_ms(uint32_t attempts);
// Returns whether the time RETRY_MS has come. Setting the clock back does not postpone it.
[[nodiscard]] bool is_due(int64_t retry_ms, int64_t now_ms);

// Returns the name of the partition that a lease makes on the host HOST (tag_of()). It is for the
// maker alone: whoever wants the partition of a lease reads Lease::partition.
[[nodiscard]] std::string partition_name(std::string_view host, std::string_view lease_id);
// Returns whether NAME is one that only this product gives, on whichever host.
[[nodiscard]] bool is_reserved_name(std::string_view name);
// Returns whether NAME was made for the lease LEASE_ID, on whichever host.
[[nodiscard]] bool is_name_for(std::string_view name, std::string_view lease_id);

// Returns the MAC of ADDRESS in POOL: locally administered, with one byte from the pool's name and
// four from the address (an IPv4 address itself, a hash of an IPv6 address). A caller increments
// ATTEMPT if another interface of the host has the MAC already.
[[nodiscard]] netns::MacAddress mac_of(std::string_view pool, const netns::Address& address,
                                       uint32_t attempt = 0);

// Returns whether A and B have the same GCDs of the same partition.
[[nodiscard]] bool same_gcds(const Lease& a, const Lease& b);

// Returns whether A and B have a GCD in common.
[[nodiscard]] bool gcds_overlap(const Lease& a, const Lease& b);

// Returns "GCD 0", or "all 4 GCDs".
[[nodiscard]] std::string gcds_text(const Lease& lease);

// Returns whether TEXT has the form of a lease id.
[[nodiscard]] bool is_lease_id(std::string_view text);

}  // namespace hook::ledger
