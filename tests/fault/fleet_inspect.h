// SPDX-License-Identifier: Apache-2.0
// What must be true of the fleet after a run, whatever cut it short.
#pragma once

#include <set>
#include <string>

#include "base/result.h"
#include "tests/fault/fleet_view.h"
#include "tests/fault/inspect.h"

namespace fault {

// The warm partitions to which the fleet leads, and not the ledger: each has a key or a grant.
[[nodiscard]] std::set<std::string> warm_names(const FleetView& view);

// At once:
// - A claim or a grant of this host has a live lease or a reservation, which led to it before it
//   was made. A claim for a reset has its process, and gc removes it without one.
// - Nobody else can get what a container has: no GCD is claimed twice, no warm partition is idle or
//   removed and a container's as well, and what a container of this host has of a fleet is claimed,
//   unless nobody may claim anything.
// - A partition that a container uses is to be reset before another one has it.
base::Status inspect_fleet(const FleetView& view, Findings& findings);
// After one gc: the fleet knows the same named partitions as the ledger, but for reservations,
// nobody changes them or a warm one, nobody waits, there is no claim, and no grant but the
// bystander's and those of reservations. No import goes on, and each host has told what it has.
base::Status inspect_fleet_rest(const FleetView& view, Findings& findings);

}  // namespace fault
