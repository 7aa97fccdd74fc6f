// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/release.h"

#include "base/text.h"
#include "hook/inject/lease_files.h"
#include "hook/lifecycle/partitions.h"
#include "netns/attach.h"

namespace hook {
namespace {

using base::Deadline;
using base::Error;
using base::Result;
using base::Status;
using base::str;

Status detach_rails(const Lease& lease) {
  const std::string boot = TRY(base::boot_id());
  const bool never_attached = lease.netns_id < 0;
  if (never_attached || lease.boot_id != boot) return {};  // namespaces do not outlive the kernel
  const netns::Namespace host = TRY(netns::Namespace::current());
  if (host.identity().cookie != lease.host_netns_cookie) {
    return Error(base::Code::kUnsupported,
                 "the container was attached from another network namespace than this one; call"
                 " 'ipuctl gc' in the host's");
  }
  for (const RailLease& rail : lease.rails) {
    TRY(netns::detach(host, lease.netns_id, rail.interface, rail.mac));
  }
  return {};
}

// The effects of a lease, undone. Each is harmless when there is nothing to undo.
std::vector<Error> undo_effects(Env& env, const Lease& lease, const Deadline& deadline,
                                PartitionFate partition) {
  std::vector<Error> obstacles;
  Status detached = detach_rails(lease);
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

}  // namespace

Status release(Env& env, Lease lease, const std::string& reason, const Deadline& deadline,
               PartitionFate partition) {
  if (!is_live(lease.state)) return {};
  const base::ProcessId self = TRY(base::current_process());
  if (lease.state == LeaseState::kReleasing && lease.owner != self &&
      base::is_running(lease.owner)) {
    return {};
  }
  TRY(env.ledger.releasing(lease, self, reason));
  const std::vector<Error> obstacles = undo_effects(env, lease, deadline, partition);
  if (obstacles.empty()) return env.ledger.released(lease);
  std::string text;
  for (const Error& obstacle : obstacles) text += str(text.empty() ? "" : "; ", obstacle.message());
  TRY(env.ledger.note_obstacle(lease, text));
  return Error(obstacles.front().code(),
               str("release of lease ", lease.id, " is not done yet: ", text));
}

Status release_by_id(Env& env, const std::string& lease_id, const Deadline& deadline) {
  std::optional<Lease> lease = TRY(env.ledger.find(lease_id));
  if (!lease) return {};
  const bool ran = lease->state == LeaseState::kRunning || lease->state == LeaseState::kReleasing;
  const std::string reason = ran ? "" : "the low-level runtime did not create the container";
  return release(env, std::move(*lease), reason, deadline);
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
