// SPDX-License-Identifier: Apache-2.0
// IPUs of leases and reservations in the books of a fleet (fleet/grants.h): what ends them, and
// what brings the books in line with this host's ledger.
#pragma once

#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "hook/lifecycle/env.h"
#include "hook/lifecycle/open_fleet.h"
#include "netns/types.h"

namespace hook::lifecycle::partitions {

base::Result<netns::Presence> find_lease_grant(const OpenFleet& fleet, const ledger::Lease& lease,
                                               const base::Deadline& deadline);
// Removes it. If it names a warm partition of which the lease does not know, because the answer to
// the claim was lost, that goes first, unless another container has it by now.
base::Status remove_lease_grant(Env& env, const OpenFleet& fleet, const ledger::Lease& lease,
                                const base::Deadline& deadline);

// Takes the IPUs of a reservation, whose partition is gone, out of the books. What fails is for
// sweep_grants().
void remove_reservation_grant(const Env& env, const ledger::PartitionRecord& record);

// Removes tickets of this host whose requests have ended, and grants of it that no live lease and
// no reservation has. A partition that such a grant names goes first, if the ledger says that its
// lease has ended; if the ledger does not know the lease, both stay. Grants what runs and is not in
// the books: it is older than the fleet, etcd was restored from an older copy, or a fence removed
// it. Adds what failed to OBSTACLES. Returns whether all that runs is in the books then.
base::Result<bool> sweep_grants(Env& env, const OpenFleet& fleet,
                                std::vector<base::Error>& obstacles);

// Removes the grants of this host, which leaves FLEET.
base::Status leave_grants(Env& env, const OpenFleet& fleet);
// Removes all of them, whatever they are for.
base::Status end_grants(Env& env, const OpenFleet& fleet);

}  // namespace hook::lifecycle::partitions
