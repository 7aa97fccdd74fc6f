// SPDX-License-Identifier: Apache-2.0
// The end of a lease: everything that it holds outside the ledger is released, in an order that
// makes a crash harmless. Only then is the lease free.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "hook/lifecycle/env.h"
#include "hook/lifecycle/liveness_scan.h"

namespace hook::lifecycle::end {

// Whether a controller may know of the lease's partition: as far as is known; no, as it said
// itself; no, because it was never asked or asked for another's.
enum class PartitionFate { kMayExist, kRefused, kNeverMade };

// Releases LEASE: removes its interfaces, its partition and its files, then makes it FREE (FAILED
// if REASON is not empty). Keeps the partition while the interfaces cannot be removed, because its
// IPUs must not go to another container before that. After a failed step, the lease stays RELEASING
// with the obstacle recorded, for reconcile(). Does nothing if the lease is free already or another
// running process is releasing it.
base::Status release(Env& env, ledger::Lease lease, const std::string& reason,
                     const base::Deadline& deadline,
                     PartitionFate partition = PartitionFate::kMayExist);

// Releases the live lease with this id, if there is one. Calls TAKEN as soon as the ledger durably
// records the release, or if there is nothing to release.
base::Status release_by_id(
    Env& env, const std::string& lease_id, const base::Deadline& deadline,
    const std::function<void()>& taken = [] {});

// Returns whether another process is releasing a lease or a partition of POOL now. If so, missing
// capacity may soon be available.
enum class Releases { kNone, kUnderWay };
base::Result<Releases> releases_of(Env& env, const std::string& pool);

struct Reconciled {
  std::vector<std::string> released;    // lease ids
  std::vector<std::string> adopted;     // ids of leases whose container has a new first process
  std::vector<std::string> partitions;  // names: see find_leftovers()
  std::vector<std::string> endpoints;   // ids of leases whose V-IPU endpoint was started again
  std::vector<Judged> unknown;          // left alone, because they cannot be judged from here
  std::vector<base::Error> obstacles;   // one for each that could not be released yet
};

// Releases the leases of SCOPE whose holder is gone (its process ended, or the machine was
// restarted), and those that this process began to release but could not. Removes leftover
// partitions. Of a container that runs it touches only the V-IPU endpoint, which it starts again if
// that has ended. Asks no controller again that does not
// answer: what only that controller blocks waits for the next call, and everything else is done.
base::Result<Reconciled> reconcile(Env& env, const base::Deadline& deadline,
                                   const Scope& scope = {});

// Starts a process that reconciles, if a quick look finds a reason. For the start of a container,
// which must not wait for dead ones.
base::Status reconcile_soon(Env& env);

// Makes room for a start that finds no capacity: releases what dead containers hold in POOL, in at
// most 5 s, however often that failed before. Another process does the rest, as in
// reconcile_soon().
enum class Room { kMore, kSame };
base::Result<Room> make_room(Env& env, const std::string& pool);

}  // namespace hook::lifecycle::end
