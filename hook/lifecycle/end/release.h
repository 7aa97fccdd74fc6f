// SPDX-License-Identifier: Apache-2.0
// The end of a lease: everything that it holds outside is given back, in an order that keeps a
// crash harmless, and only then is the lease free.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "hook/lifecycle/env.h"
#include "hook/lifecycle/liveness.h"

namespace hook::lifecycle::end {

// Whether a controller may know of the lease's partition.
enum class PartitionFate { kMayExist, kNeverMade };

// Releases LEASE: interface gone, partition removed, files removed, lease FREE (FAILED with REASON,
// if there is one). The partition is kept while the interface cannot be removed: its IPUs must not
// go to another container before. After a failed step the lease stays RELEASING with the obstacle
// noted, for reconcile(). Does nothing if the lease is free already or if another process that runs
// is releasing it.
base::Status release(Env& env, ledger::Lease lease, const std::string& reason,
                     const base::Deadline& deadline,
                     PartitionFate partition = PartitionFate::kMayExist);

// Releases the lease with this id, if there is one that is live. TAKEN is called as soon as the
// ledger says durably that it is being released, or if there is nothing to release.
base::Status release_by_id(
    Env& env, const std::string& lease_id, const base::Deadline& deadline,
    const std::function<void()>& taken = [] {});

// Whether another process is giving back a lease or a partition of POOL now: then what is missing
// may be there in a moment.
enum class Releases { kNone, kUnderWay };
base::Result<Releases> releases_of(Env& env, const std::string& pool);

struct Reconciled {
  std::vector<std::string> released;    // lease ids
  std::vector<std::string> adopted;     // lease ids, of containers with a new first process
  std::vector<std::string> partitions;  // names: see find_leftovers()
  std::vector<Judged> unknown;          // left alone, because they cannot be judged from here
  std::vector<base::Error> obstacles;   // one for each that could not be given back yet
};

// Releases the leases of SCOPE whose holder is gone (the process ended, the machine was started
// anew), and those that this process began to release and could not; removes leftover partitions. A
// lease whose container runs is never touched. A controller that does
// not answer is not asked again: what it alone keeps from being free stays for the next time, and
// all else is done.
base::Result<Reconciled> reconcile(Env& env, const base::Deadline& deadline,
                                   const Scope& scope = {});

// For the start of a container: has another process reconcile if a quick look finds a reason. What
// is dead keeps no start waiting.
base::Status reconcile_soon(Env& env);

// For a start that finds no capacity: releases what dead containers hold in POOL, in at most 5 s,
// however often that failed before; another process does the rest, as above.
enum class Room { kMore, kSame };
base::Result<Room> make_room(Env& env, const std::string& pool);

}  // namespace hook::lifecycle::end
