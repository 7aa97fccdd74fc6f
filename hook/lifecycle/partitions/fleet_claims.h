// SPDX-License-Identifier: Apache-2.0
// Named partitions of a host in a fleet: what the fleet's store has to allow first. Pools without a
// V-IPU controller and reservations are the host's own, and never there; warm partitions are in
// fleet_warm.h.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "hook/config/config.h"
#include "hook/fleet/partitions.h"
#include "hook/lifecycle/env.h"
#include "hook/lifecycle/open_fleet.h"
#include "netns/types.h"

namespace hook::lifecycle::partitions {

// Fails with kUnsupported if the ledger knows partitions of a fleet that this host is not in: what
// this host alone knows is not the truth then.
base::Status check_member(const Env& env);

// ---- a start

// Brings what the ledger knows of partition NAME of POOL in line with the fleet, before a lease of
// it begins: records one that another host has made; shares one that this host had before it was in
// the fleet; forgets one that another host has removed.
base::Status learn_partition(Env& env, const config::PoolConfig& pool, const std::string& name,
                             const base::Deadline& deadline);
// Claims the GCDs of LEASE, whose claim is in the ledger already. Fails as fleet::claim(), and as
// check_share() if its tenant may not have them in the fleet, and as MAY_HAVE does. This is called
// if the fleet has tenants.
base::Result<fleet::ClaimDuty> claim_gcds(
    Env& env, const ledger::Lease& lease,
    const std::function<base::Status(const std::vector<config::TenantConfig>&)>& may_have,
    const base::Deadline& deadline);
// Claims the addresses that the IPUs of LEASE give on RAILS, if it has a claim of GCDs, and says in
// RAILS who else has one. Fails as fleet::claim_addresses().
base::Status claim_addresses(Env& env, const ledger::Lease& lease,
                             std::vector<ledger::RailRequest>& rails,
                             const base::Deadline& deadline);
// Says that the reset is done that claim_gcds() asked for.
base::Status finish_claimed_reset(Env& env, const ledger::Lease& lease,
                                  const base::Deadline& deadline);
// Waits until the fleet's record of LEASE's partition changes, or until DEADLINE.
base::Status wait_for_claims(Env& env, const ledger::Lease& lease, const base::Deadline& deadline);

// ---- its end

// Fails with kBusy if LEASE, which is ALLOCATED, has a claim of GCDs and addresses, or a partition
// of the fleet's warm ones, of which the fleet does not know: etcd went back, or the host was
// fenced, while it started. From here on sweep_claims() claims again.
base::Status confirm_claim(Env& env, const ledger::Lease& lease, const base::Deadline& deadline);
base::Result<netns::Presence> find_claim(Env& env, const ledger::Lease& lease,
                                         const base::Deadline& deadline);
// Containers that share the interfaces of LEASE keep the addresses that its IPUs gave.
base::Status unclaim_gcds(Env& env, const ledger::Lease& lease, const base::Deadline& deadline);
// Removes claims of this host that no live lease and no running reset has: the answer to such a
// claim was lost, and it was made after its lease had ended. Claims again what a container that
// runs has and etcd does not know. Adds what failed to OBSTACLES.
void sweep_claims(Env& env, std::vector<base::Error>& obstacles);

// ---- commands of an operator

// As learn_partition(); also records a partition that this host had begun to make or to remove when
// it lost its own record.
base::Status learn_begun(Env& env, const config::PoolConfig& pool, const std::string& name,
                         const base::Deadline& deadline);
// Has the fleet forget what this host had begun to make or to remove, and which is not there.
base::Status forget_in_fleet(Env& env, const ledger::PartitionRecord& record,
                             const base::Deadline& deadline);
// Asks the fleet for the removal of RECORD's partition. Fails as fleet::begin_removal(), but not if
// the fleet does not know the partition: then nobody else makes one of its name meanwhile.
base::Status begin_shared_removal(const Env& env, const OpenFleet& fleet,
                                  const ledger::PartitionRecord& record, fleet::Takes takes,
                                  const base::Deadline& deadline);
// Fails with kExists if the fleet knows a partition of this name and controller in another pool.
base::Status check_one_name(const OpenFleet& fleet, const ledger::PartitionRecord& record,
                            const base::Deadline& deadline);

// Tells the fleet that this host makes the partition of RECORD. Fails with kExists, and names the
// host, if the name is taken in the fleet.
base::Status begin_making(const Env& env, const OpenFleet& fleet,
                          const ledger::PartitionRecord& record, const base::Deadline& deadline);
// Fails with kBusy, naming containers and hosts, while others than those that this host may TAKE
// have the partition of RECORD.
base::Status check_claims(const Env& env, const OpenFleet& fleet,
                          const ledger::PartitionRecord& record, fleet::Takes takes,
                          const base::Deadline& deadline);
// Makes RESET while nobody can claim the partition of RECORD. Fails as check_claims().
base::Status reset_alone(const Env& env, const OpenFleet& fleet,
                         const ledger::PartitionRecord& record, const base::Deadline& deadline,
                         const std::function<base::Status()>& reset);

}  // namespace hook::lifecycle::partitions
