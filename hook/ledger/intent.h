// SPDX-License-Identifier: Apache-2.0
// What a start and its hook tell the ledger: what a new lease is for, and where it is attached.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/process.h"
#include "hook/config/config.h"
#include "hook/ledger/tenants.h"
#include "netns/address.h"
#include "netns/namespace.h"

namespace hook::ledger {

// A partition that was made in advance. Without a GCD, its only one is meant, unless ALL_GCDS.
struct NamedPartition {
  std::string name;
  std::optional<uint32_t> gcd = {};
  bool all_gcds = false;
};

// What a new lease starts from.
struct Intent {
  std::string container;
  std::string bundle;
  std::string tenant;
  config::PoolConfig pool;
  // The rails that must have a free address; none for a container that will share another's
  // interfaces. Not checked if the lease joins a sandbox.
  std::vector<config::RailConfig> rails;
  uint32_t ipus = 0;  // size of a new partition; a named one's is in its record
  base::ProcessId owner;
  std::optional<NamedPartition> named = {};  // unset: a new partition
  // The container (a pod's sandbox) whose lease is to be joined; empty: none. Ignored if it has no
  // such lease, or if NAMED is not the partition of that lease.
  std::string sandbox = {};
  std::chrono::milliseconds history = config::kDefaultHistory;  // how long ended leases are kept
  std::string state_dir = {};  // the container's directory at its low-level runtime; empty: unknown
  bool waits = false;          // Queue::cancel() can tell its start to give up
  // Of TENANT, checked when the lease is acquired; unset: tenants have no shares on this host.
  std::optional<Share> share = {};
  std::string fleet = {};  // prefix of the fleet of this host; empty: none
  int64_t asked_ms = 0;    // when the start began, unix time, for the usage; 0: unknown
};

// A VF or SF of the host that a container can get now.
struct HostFunction {
  std::string interface;
  netns::MacAddress mac;
  std::string rdma_device;  // empty: none
};

// What a lease needs of one rail.
struct RailRequest {
  config::RailConfig rail;
  std::string interface;                     // its name in the container
  std::vector<HostFunction> functions = {};  // those present, on a rail with functions
  // The address that its IPUs give, with scheme "ipu"; unset: any of the range.
  std::optional<netns::Address> by_ipu = {};
  // Who has that address in the fleet: "container 0123456789ab on host 1f2e3d4c (GCD 0)". Empty:
  // nobody else.
  std::string by_ipu_holder = {};
};

// The network namespace in which a lease is attached.
struct AttachedNamespace {
  netns::Identity identity;
  int32_t id = -1;           // its id in the host's namespace
  uint64_t host_cookie = 0;  // cookie of the host's namespace
};

}  // namespace hook::ledger
