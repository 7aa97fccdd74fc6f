// SPDX-License-Identifier: Apache-2.0
// What the fleet's etcd says, read with etcdctl and not by the product's code.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "tests/fault/inspect.h"
#include "tests/fault/world.h"

namespace fault {

// A host that is in no ledger of this host.
inline constexpr const char* kDeadHost = "1f2e3d4c";

struct FleetClaim {
  std::string partition;
  std::string id;
  std::string host;  // tag
};

struct FleetView {
  std::map<std::string, std::string> partitions;  // name to phase
  std::vector<FleetClaim> claims;
  std::vector<std::string> fenced;  // tags of hosts
  std::vector<std::string> alive;
};

base::Result<FleetView> read_fleet();
// Removes all keys below the fleet's prefix.
base::Status clear_fleet();
// As if host kDeadHost had beaten once, and had claimed GCD 0 of PARTITION.
base::Status put_dead_host(const std::string& partition);

// At once: a claim of this host has a live lease, which led to it before it was made.
base::Status inspect_claims(Findings& findings);
// After one gc: the fleet knows the same named partitions as the ledger, nobody changes them, and
// there is no claim.
base::Status inspect_fleet_rest(Findings& findings);

}  // namespace fault
