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

// INTENT -> ALLOCATED -> RUNNING -> RELEASING -> QUARANTINE -> FREE. QUARANTINE: all is given back,
// but its addresses are kept from others for a while. FAILED is FREE with a reason: a lease that no
// container ever got. What is possible when, transitions.h says.
enum class LeaseState { kIntent, kAllocated, kRunning, kReleasing, kQuarantine, kFree, kFailed };

// Where the partition of a lease comes from, and so what becomes of it at the end.
enum class Origin {
  kOwn,      // made, or taken from the warm ones, for this lease: removed with it
  kNamed,    // made ahead by an operator; this lease alone has its GCD
  kShared,   // made ahead by an operator; others may have the same GCD
  kForeign,  // made ahead by somebody else, who keeps it; this lease alone has its GCD
  kJoined,   // another lease's, of the same pod: removed with the last of them
};

[[nodiscard]] std::string_view name_of(LeaseState state);  // "INTENT", ...
[[nodiscard]] std::string_view name_of(Origin origin);     // "OWN", ...
// Whether a lease in this state holds anything.
[[nodiscard]] bool is_live(LeaseState state);

// One interface of a lease, on one rail.
struct RailLease {
  netns::LinkKind kind = netns::LinkKind::kMacvlan;
  std::string parent;            // in the host's namespace: the RNIC's interface, or the function
  std::string rdma_device = {};  // of a function; empty: none
  netns::MacvlanMode mode = netns::MacvlanMode::kPrivate;
  uint32_t mtu = 0;       // 0: the parent's
  std::string interface;  // in the container: "roce0"
  netns::Address address;
  netns::MacAddress mac;
  netns::Prefix subnet = {};            // which IPUs are reached by it
  std::vector<netns::Peer> peers = {};  // others that are, from the configuration
  bool operator==(const RailLease&) const = default;
};

// One IPU of the partition, by where it is reached.
struct LeasedIpu {
  netns::Address address;  // of its IPU-Machine
  uint32_t device = 0;     // its number there
  uint16_t server_port = 0;
  uint16_t rdma_port = 0;
  bool operator==(const LeasedIpu&) const = default;
};

struct Lease {
  std::string id;         // 32 hexadecimal digits
  std::string container;  // as the engine names it
  std::string bundle;
  std::string tenant;
  std::string pool;
  std::string controller;  // the source of the partition, which must remove it: see source_of()
  std::string partition;
  uint32_t gcd = 0;  // of the partition
  Origin origin = Origin::kOwn;
  uint32_t ipus = 0;  // of that GCD; 0: not known before it is ALLOCATED
  LeaseState state = LeaseState::kIntent;
  int64_t generation = 0;  // grows with every change: a writer that read an older one loses
  // Whose life holds the lease: the runtime while it creates, the hook while it attaches, the
  // container's first process while it runs, whoever releases. Pid 0: nobody, since a release that
  // could not be done.
  base::ProcessId owner;
  std::string boot_id;
  netns::Identity netns;           // of the container; zero before the hook attached
  int32_t netns_id = -1;           // the host namespace's id of it
  uint64_t host_netns_cookie = 0;  // of the host namespace in which that id counts
  // The lease that the interfaces were made for: this one, or, in a namespace that containers
  // share, another. They belong to all live leases that name it, and go with the last.
  std::string attachment = {};
  std::string state_dir = {};  // of the container, at its low-level runtime; empty: not known
  std::string cgroup = {};     // of the container alone, below /sys/fs/cgroup; empty: not known
  std::string error;           // why no container got it
  std::string obstacle;        // why its release is not done yet
  uint32_t attempts = 0;       // at its release, that failed
  int64_t retry_ms = 0;        // unix time before which no start tries its release again
  int64_t quarantine_until_ms = 0;  // unix time; 0: it has held no address
  int64_t created_ms = 0;           // unix time
  int64_t changed_ms = 0;
  std::vector<RailLease> rails;
  std::vector<LeasedIpu> devices;
  std::vector<netns::Prefix> prohibited;  // never reachable from the container
};

// Of a live lease, what a quick look at all of them needs.
struct LeaseHold {
  std::string id;
  LeaseState state = LeaseState::kIntent;
  base::ProcessId owner;
  std::string boot_id;
  int64_t retry_ms = 0;
};

// How long what could not be given back is left alone by starts, after ATTEMPTS that failed: 2 s,
// and twice as long each time, up to 5 min.
[[nodiscard]] int64_t retry_pause_ms(uint32_t attempts);
// Whether the time RETRY_MS has come; a clock that was set back does not put it off.
[[nodiscard]] bool is_due(int64_t retry_ms, int64_t now_ms);

// The name of the partition of a lease: "c-" and the first 12 digits of its id. Far below the 36
// characters at which Graphcore's tools break.
[[nodiscard]] std::string partition_name(std::string_view lease_id);

// The MAC of ADDRESS in POOL: locally administered, one byte of the pool's name, four of the
// address: an IPv4 address itself, a hash of an IPv6 one. ATTEMPT counts up where another interface
// of the host has it already.
[[nodiscard]] netns::MacAddress mac_of(std::string_view pool, const netns::Address& address,
                                       uint32_t attempt = 0);

// Whether TEXT has the form of a lease id.
[[nodiscard]] bool is_lease_id(std::string_view text);

}  // namespace hook::ledger
