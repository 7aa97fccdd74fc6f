// SPDX-License-Identifier: Apache-2.0
// Warm partitions that the hosts of a fleet share (fleet/warm.h), as this host makes and removes
// them. The ledger has a record of one while this host does so, and none while it is idle.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "hook/config/config.h"
#include "hook/fleet/warm.h"
#include "hook/lifecycle/env.h"
#include "hook/lifecycle/open_fleet.h"

namespace hook::lifecycle::partitions {

// Returns the fleet whose hosts share the warm partitions of POOL, which this host joins if it has
// joined none; nothing if it is in no fleet, or the pool is this host's own.
base::Result<std::optional<OpenFleet>> warm_fleet(Env& env, const config::PoolConfig& pool,
                                                  const base::Deadline& deadline);
// Returns a new name for a warm partition of FLEET.
base::Result<std::string> fleet_warm_name(const OpenFleet& fleet);
[[nodiscard]] bool is_fleets(const ledger::PartitionRecord& record);

// Returns the partitions that FLEET keeps warm at POOL's controller and that this host may remove:
// they are idle, or another host has begun to remove them; unless they are in another ALLOCATION,
// empty: any. Oldest first.
base::Result<std::vector<ledger::PartitionRecord>> removable_in_fleet(
    const OpenFleet& fleet, const config::PoolConfig& pool, const std::string& allocation,
    const base::Deadline& deadline);
// Returns those of the idle ones that are not ACTIVE at CONTROLLER any more, and those that this
// host made above what its configuration says for all hosts together.
base::Result<std::vector<ledger::PartitionRecord>> unwanted_in_fleet(
    Env& env, const OpenFleet& fleet, const config::PoolConfig& pool, vipu::Controller& controller,
    const base::Deadline& deadline);

// Claims a place for the partition of RECORD, which this host is about to make and which is in the
// ledger, unless the fleet has LIMIT of them. If it has, removes the record and returns false.
base::Result<bool> begin_in_fleet(Env& env, const OpenFleet& fleet, const config::PoolConfig& pool,
                                  const ledger::PartitionRecord& record, uint32_t limit,
                                  const base::Deadline& deadline);
// Lets all hosts take the partition of RECORD, which was made, and removes the record. After an
// error, reconcile() removes the partition, unless the fleet has it.
base::Status give_to_fleet(Env& env, const OpenFleet& fleet, const config::PoolConfig& pool,
                           const ledger::PartitionRecord& record, const base::Deadline& deadline);

// Removes an idle partition, of any maker. Fails with kBusy if somebody else was faster: a
// container that took it, or a process of this host that removes it.
base::Status remove_from_fleet(Env& env, const OpenFleet& fleet, ledger::PartitionRecord record,
                               const base::Deadline& deadline);
// Removes the partition of RECORD, which is REMOVING and held by this process, unless it is a
// container's: then kBusy, and only the record goes. Fails without touching it while the store is
// silent.
base::Status finish_in_fleet(Env& env, const OpenFleet& fleet,
                             const ledger::PartitionRecord& record, const base::Deadline& deadline);

// Whether a partition that a container of this host had may be removed.
enum class Removable {
  kYes,
  kNo,  // another container has it: etcd went back, and that one took it since; or it is no warm
        // partition of a fleet
};
// Returns whether partition NAME of POOL, which the container with the grant OWN had, empty: an
// ended one, may be removed. Has nobody else take it then. A partition that is no warm one of a
// fleet may not be: a grant does not say whose it is. Fails while the store is silent. LEASE is
// that container's, if it is released now.
base::Result<Removable> begin_end_of_taken(const Env& env, const OpenFleet& fleet,
                                           const std::string& pool, const std::string& name,
                                           const std::string& own, const base::Deadline& deadline,
                                           const std::string& lease = "");
// Returns whether LEASE has a partition that a fleet kept warm.
[[nodiscard]] bool has_taken(const ledger::Lease& lease);
// Returns whether it may be removed, after a look alone, or has nobody else take it then.
enum class Asks { kLooks, kBegins };
base::Result<Removable> may_remove(const Env& env, const ledger::Lease& lease, Asks asks,
                                   const base::Deadline& deadline);

// Removes what the store says that this host makes or removes and of which the ledger knows
// nothing: the ledger is newer than that, or the answer to a claim was lost.
base::Status sweep_warm(Env& env, const OpenFleet& fleet, std::vector<base::Error>& obstacles);

}  // namespace hook::lifecycle::partitions
