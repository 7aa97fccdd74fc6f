// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/release.h"

#include "base/text.h"
#include "hook/inject/lease_files.h"
#include "hook/lifecycle/network.h"
#include "hook/lifecycle/partitions.h"

namespace hook {
namespace {

using base::Deadline;
using base::Error;
using base::Result;
using base::Status;
using base::str;

// The effects of a lease, undone. Each is harmless when there is nothing to undo.
std::vector<Error> undo_effects(Env& env, const Lease& lease, const Deadline& deadline,
                                PartitionFate partition) {
  std::vector<Error> obstacles;
  Status detached = disconnect_lease(env, lease, deadline);
  if (!detached.ok()) obstacles.push_back(detached.error());
  if (detached.ok() && partition == PartitionFate::kMayExist && lease.origin == Origin::kOwn) {
    const std::unique_ptr<vipu::Controller> controller =
        recorded_controller(env, lease.pool, lease.controller);
    Result<base::Removed> removed =
        controller->remove(lease.partition, vipu::Force::kYes, deadline);
    if (!removed.ok()) obstacles.push_back(std::move(removed).error());
  }
  Result<base::Removed> files = remove_lease_files(env.run_dir, lease.id);
  if (!files.ok()) obstacles.push_back(std::move(files).error());
  return obstacles;
}

bool is_orphan(const Lease& lease, const std::string& boot_id, const base::ProcessId& self) {
  // What this process, which may wait for long, could not release when it tried last.
  if (lease.state == LeaseState::kReleasing && lease.owner == self) return true;
  return lease.boot_id != boot_id || !base::is_running(lease.owner);
}

std::string reason_of_orphan(const Lease& lease) {
  if (lease.state != LeaseState::kIntent && lease.state != LeaseState::kAllocated) return "";
  return str("process ", lease.owner.pid, ", which was starting the container, ended");
}

enum class Owned { kYes, kNo };

// Makes this process the one that releases LEASE; kNo if there is nothing to release or another
// process that runs does it.
Result<Owned> take_over(Env& env, Lease& lease, const std::string& reason) {
  if (!is_live(lease.state)) return Owned::kNo;
  const base::ProcessId self = TRY(base::current_process());
  if (lease.state == LeaseState::kReleasing && lease.owner != self &&
      base::is_running(lease.owner)) {
    return Owned::kNo;
  }
  TRY(env.ledger.releasing(lease, self, reason));
  return Owned::kYes;
}

Status give_back(Env& env, Lease& lease, const Deadline& deadline, PartitionFate partition) {
  const std::vector<Error> obstacles = undo_effects(env, lease, deadline, partition);
  if (obstacles.empty()) return env.ledger.released(lease);
  std::string text;
  for (const Error& obstacle : obstacles) text += str(text.empty() ? "" : "; ", obstacle.message());
  TRY(env.ledger.note_obstacle(lease, text));
  return Error(obstacles.front().code(),
               str("release of lease ", lease.id, " is not done yet: ", text));
}

}  // namespace

Status release(Env& env, Lease lease, const std::string& reason, const Deadline& deadline,
               PartitionFate partition) {
  const Owned owned = TRY(take_over(env, lease, reason));
  return owned == Owned::kYes ? give_back(env, lease, deadline, partition) : Status();
}

Status release_by_id(Env& env, const std::string& lease_id, const Deadline& deadline,
                     const std::function<void()>& taken) {
  std::optional<Lease> lease = TRY(env.ledger.find(lease_id));
  Owned owned = Owned::kNo;
  if (lease) {
    const bool ran = lease->state == LeaseState::kRunning || lease->state == LeaseState::kReleasing;
    owned = TRY(
        take_over(env, *lease, ran ? "" : "the low-level runtime did not create the container"));
  }
  taken();
  return owned == Owned::kYes ? give_back(env, *lease, deadline, PartitionFate::kMayExist)
                              : Status();
}

Result<Releases> releases_of(Env& env, const std::string& pool) {
  const base::ProcessId self = TRY(base::current_process());
  for (const Lease& lease : TRY(env.ledger.live())) {
    if (lease.pool == pool && lease.state == LeaseState::kReleasing && lease.owner != self &&
        base::is_running(lease.owner)) {
      return Releases::kUnderWay;
    }
  }
  return Releases::kNone;
}

Result<std::vector<Lease>> find_orphans(Env& env) {
  const std::string boot = TRY(base::boot_id());
  const base::ProcessId self = TRY(base::current_process());
  std::vector<Lease> orphans;
  for (Lease& lease : TRY(env.ledger.live())) {
    if (is_orphan(lease, boot, self)) orphans.push_back(std::move(lease));
  }
  return orphans;
}

Result<Reconciled> reconcile(Env& env, const Deadline& deadline) {
  Reconciled done;
  for (Lease& orphan : TRY(find_orphans(env))) {
    const std::string id = orphan.id;
    const std::string reason = reason_of_orphan(orphan);
    Status released = release(env, std::move(orphan), reason, deadline);
    if (released.ok()) {
      done.released.push_back(id);
    } else {
      done.obstacles.push_back(std::move(released).error());
    }
  }
  done.partitions = TRY(reconcile_partitions(env, deadline, done.obstacles));
  return done;
}

}  // namespace hook
