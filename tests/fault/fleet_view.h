// SPDX-License-Identifier: Apache-2.0
// What the fleet's etcd says, read with etcdctl and not by the product's code.
#pragma once

#include <map>
#include <set>
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

// Who has IPUs of the pool.
struct FleetGrant {
  std::string id;         // of a reservation: its partition
  std::string host;       // tag
  std::string container;  // empty: it is a reservation
  std::string partition;  // which it took of the warm ones; empty: none
};

struct FleetView {
  std::map<std::string, std::string> partitions;  // name to phase
  std::vector<FleetClaim> claims;
  std::map<std::string, std::string> warm;  // name to phase
  std::vector<FleetGrant> grants;
  std::vector<std::string> waiting;  // the containers, and reservations
  std::vector<std::string> fenced;   // tags of hosts
  std::vector<std::string> alive;
};

base::Result<FleetView> read_fleet();
// Removes all keys below the fleet's prefix.
base::Status clear_fleet();
// As if host kDeadHost had beaten once, and had claimed GCD 0 of PARTITION.
base::Status put_dead_host(const std::string& partition);

// The warm partitions to which the fleet leads, and not the ledger: each has a key or a grant.
[[nodiscard]] std::set<std::string> warm_names(const FleetView& view);

// At once: a claim or a grant of this host has a live lease or a reservation, which led to it
// before it was made. No warm partition is idle or removed, and a container's as well.
base::Status inspect_claims(const FleetView& view, Findings& findings);
// After one gc: the fleet knows the same named partitions as the ledger, but for reservations,
// nobody changes them or a warm one, nobody waits, there is no claim, and no grant but the
// bystander's and those of reservations.
base::Status inspect_fleet_rest(const FleetView& view, Findings& findings);

}  // namespace fault
