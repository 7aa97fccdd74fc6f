// SPDX-License-Identifier: Apache-2.0
// From a granted lease to everything that a container gets. Pure: the same input, the same plan.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "hook/container/device/rdma.h"
#include "hook/container/oci/spec.h"
#include "hook/container/plan/orders.h"
#include "hook/ledger/lease.h"
#include "netns/types.h"
#include "vipu/types.h"

namespace hook::plan {

struct PlanInput {
  ledger::Lease lease;
  vipu::IpuofConfig ipuof;                              // of the GCD that the container drives; or
  std::vector<vipu::Card> cards;                        // the cards that it gets
  std::vector<std::optional<device::RdmaDevice>> rdma;  // one for each rail of the lease
  std::string lease_dir;                                // on the host, where the generated files go
  std::string hook_program;
  uint64_t memlock = 0;            // the highest RLIMIT_MEMLOCK that can be given, in bytes
  oci::RdmaLimit rdma_limit = {};  // of each device; nothing set: none
  bool own_network = false;        // a namespace of its own instead of the host's
  AttachOrders orders = {};        // without ports, which the plan adds
};

struct Plan {
  oci::SpecEdit edit;
  std::map<std::string, std::string> files;  // name in the lease's directory -> content
};

[[nodiscard]] Plan make_plan(const PlanInput& input);

// The IPUs of a configuration, for the ledger. kInvalid if the controller's answer holds what is no
// IPv4 address or port, or not COUNT devices.
base::Result<std::vector<ledger::LeasedIpu>> leased_ipus(const vipu::IpuofConfig& config,
                                                         uint32_t count);

// Cards of this host, for the ledger: they have no address.
[[nodiscard]] std::vector<ledger::LeasedIpu> leased_cards(const std::vector<vipu::Card>& cards);

// What is made in the network namespace that LEASES, at least one, share: the interfaces, which are
// the same for all, with the IPUs of all. GUARDED: the host's own addresses.
[[nodiscard]] netns::NetworkPlan network_plan(const std::vector<ledger::Lease>& leases,
                                              const std::vector<netns::Address>& guarded);

// The interface of RAIL as the only one: what it takes to give it back.
[[nodiscard]] netns::RailPlan rail_plan(const ledger::RailLease& rail);

// lease.json with the GIDs that the RNICs' tables have now: interface -> GID. TEXT is lease.json as
// make_plan wrote it.
base::Result<std::string> with_gids(const std::string& text,
                                    const std::map<std::string, device::Gid>& gids);

}  // namespace hook::plan
