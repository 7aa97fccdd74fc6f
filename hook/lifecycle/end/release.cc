// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/end/release.h"

#include <algorithm>
#include <set>

#include "base/log.h"
#include "base/names.h"
#include "base/text.h"
#include "hook/container/inject/lease_files.h"
#include "hook/lifecycle/end/effects.h"
#include "hook/lifecycle/endpoint/revive.h"
#include "hook/lifecycle/fleet_mark.h"
#include "hook/lifecycle/network/border.h"
#include "hook/lifecycle/network/marks.h"
#include "hook/lifecycle/partitions/fleet_claims.h"
#include "hook/lifecycle/partitions/joining.h"
#include "hook/lifecycle/partitions/orphans.h"
#include "hook/lifecycle/partitions/partitions.h"
#include "hook/plain/links.h"

namespace hook::lifecycle::end {
namespace {

using namespace base::names;

constexpr std::chrono::milliseconds kRoomTime{5000};
constexpr std::chrono::milliseconds kMarkTime{10'000};
// Who follows the addresses of controllers changes leases of containers that run.
constexpr int kTakeOvers = 3;

Status undo(Env& env, const Effect& effect, ledger::Lease& lease, const Deadline& deadline,
            Silent& silent) {
  const auto asks = partitions::Asks::kBegins;
  if (effect.name == kPartition && TRY(is_anothers(env, lease, asks, deadline, silent))) {
    env.ledger.events().note(
        lease.id, ledger::EventKind::kNote,
        str("partition ", lease.partition, " stays: another container has it"));
    return env.ledger.partitions().leave(lease);
  }
  return ask(counterpart(effect, lease), silent, [&] { return effect.undo(env, lease, deadline); });
}

// Undoes all that LEASE may have done. A failed effect blocks only those that must come after it.
std::vector<Error> undo_effects(Env& env, ledger::Lease& lease, const Deadline& deadline,
                                PartitionFate partition, Silent& silent) {
  std::vector<Error> obstacles;
  std::vector<std::string_view> remaining;
  for (const Effect& effect : effects()) {
    // The grant of a partition that was never made is taken back by whoever had it.
    const bool is_own = effect.name == kPartition ||
                        (effect.name == kClaim && lease.origin == ledger::Origin::kOwn);
    const bool never_made = is_own && partition == PartitionFate::kNeverMade;
    const bool must_wait =
        std::any_of(remaining.begin(), remaining.end(), [&](std::string_view other) {
          return std::count(effect.after.begin(), effect.after.end(), other) > 0;
        });
    if (never_made || must_wait || !effect.may_have(lease)) continue;
    Status undone = undo(env, effect, lease, deadline, silent);
    base::log_step(base::LogLevel::kDebug,
                   str("undo ", effect.name, ": ", undone.ok() ? "done" : undone.error().message()),
                   lease.id);
    if (undone.ok()) continue;
    obstacles.push_back(std::move(undone).error());
    remaining.push_back(effect.name);
  }
  return obstacles;
}

// Returns why the container never ran; empty if it did.
std::string reason_of(const Judged& orphan) {
  const ledger::LeaseState state = orphan.lease.state;
  const bool started =
      state == ledger::LeaseState::kIntent || state == ledger::LeaseState::kAllocated;
  return started ? orphan.judgement.because : "";
}

// Whether a process works on the release of LEASE. One of another boot may still be: a lease keeps
// its boot when it is released. But one of another pid namespace too ended with its boot.
Result<bool> is_being_released(const ledger::Lease& lease, const base::ProcessId& self) {
  if (lease.state != ledger::LeaseState::kReleasing || lease.owner == self) return false;
  if (lease.owner.pid_namespace != self.pid_namespace && lease.boot_id != TRY(base::boot_id()))
    return false;
  return base::is_running(lease.owner);
}

// Makes this process the one that releases LEASE. Returns false if there is nothing to release or
// another running process is doing it.
Result<bool> take_over(Env& env, ledger::Lease& lease, const std::string& reason) {
  if (!ledger::is_live(lease.state)) return false;
  const base::ProcessId self = TRY(base::current_process());
  if (TRY(is_being_released(lease, self))) return false;
  TRY(env.ledger.begin_release(lease, self, reason));
  return true;
}

Status give_back(Env& env, ledger::Lease& lease, const Deadline& deadline, PartitionFate partition,
                 Silent& silent) {
  const std::vector<Error> obstacles = undo_effects(env, lease, deadline, partition, silent);
  using Late = ledger::Ledger::Late;
  const Late late = partition == PartitionFate::kMayExist ? Late::kMayCome : Late::kNever;
  if (obstacles.empty()) return env.ledger.finish_release(lease, late);
  std::string text;
  for (const Error& obstacle : obstacles) text += str(text.empty() ? "" : "; ", obstacle.message());
  TRY(env.ledger.note_obstacle(lease, text));
  return Error(obstacles.front().code(),
               str("release of lease ", lease.id, " is not complete yet: ", text));
}

// If another process was faster, it decides what becomes of the lease, and nothing blocks it.
void release_orphan(Env& env, Judged& orphan, const Deadline& deadline, Silent& silent,
                    Reconciled& done) {
  ledger::Lease& lease = orphan.lease;
  const Result<bool> owned = take_over(env, lease, reason_of(orphan));
  if (!owned.ok() && owned.error().code() != Code::kBusy) done.obstacles.push_back(owned.error());
  if (!owned.ok() || !owned.value()) return;
  Status released = give_back(env, lease, deadline, PartitionFate::kMayExist, silent);
  if (released.ok()) {
    done.released.push_back(lease.id);
  } else {
    done.obstacles.push_back(std::move(released).error());
  }
}

// Adopts a restored container. Its new first process is in the namespace in which the lease is
// attached, so nothing needs attaching. A container that was restored into another namespace came
// through the runtime and has a lease of its own.
void adopt(Env& env, Judged& restored, Reconciled& done) {
  const Status adopted = env.ledger.adopt_process(restored.lease, *restored.judgement.successor);
  if (!adopted.ok()) {
    if (adopted.error().code() != Code::kBusy) done.obstacles.push_back(adopted.error());
    return;
  }
  done.adopted.push_back(restored.lease.id);
  Status recorded = inject::write_lease_record(env.run_dir, restored.lease);
  if (!recorded.ok() && recorded.error().code() != Code::kNotFound)
    done.obstacles.push_back(std::move(recorded).error());
}

endpoint::Which which(const Scope& scope) {
  return scope.due_only ? endpoint::Which::kDue : endpoint::Which::kAll;
}

Status start_endpoints_again(Env& env, const Scope& scope, const Deadline& deadline,
                             Reconciled& done) {
  for (const ledger::Endpoint& ended : TRY(endpoint::find_ended(env, which(scope)))) {
    const Result<endpoint::Revived> revived = endpoint::revive(env, ended, deadline);
    if (!revived.ok()) done.obstacles.push_back(revived.error());
    if (revived.ok() && revived.value() == endpoint::Revived::kYes)
      done.endpoints.push_back(ended.lease);
  }
  return {};
}

}  // namespace

Status release(Env& env, ledger::Lease lease, const std::string& reason, const Deadline& deadline,
               PartitionFate partition) {
  const bool owned = TRY(take_over(env, lease, reason));
  Silent silent;
  return owned ? give_back(env, lease, deadline, partition, silent) : Status();
}

Status release_by_id(Env& env, const std::string& lease_id, const Deadline& deadline,
                     const std::function<void()>& taken) {
  std::optional<ledger::Lease> lease;
  Result<bool> owned = false;
  for (int attempts = 0; attempts < kTakeOvers; ++attempts) {
    lease = TRY(env.ledger.find(lease_id));
    if (!lease) break;
    const bool ran = lease->state == ledger::LeaseState::kRunning ||
                     lease->state == ledger::LeaseState::kReleasing;
    owned = take_over(env, *lease, ran ? "" : "the low-level runtime did not create the container");
    if (owned.ok() || owned.error().code() != Code::kBusy) break;
  }
  const bool is_ours = TRY(owned);
  taken();
  Silent silent;
  return is_ours ? give_back(env, *lease, deadline, PartitionFate::kMayExist, silent) : Status();
}

Result<Releases> releases_of(Env& env, const std::string& pool) {
  const base::ProcessId self = TRY(base::current_process());
  for (const ledger::Lease& lease : TRY(env.ledger.live())) {
    if (lease.pool == pool && TRY(is_being_released(lease, self))) return Releases::kUnderWay;
  }
  for (const ledger::PartitionRecord& record : TRY(env.ledger.partitions().all())) {
    if (record.pool == pool && record.state == ledger::PartitionState::kRemoving &&
        record.owner != self && base::is_running(record.owner)) {
      return Releases::kUnderWay;
    }
  }
  return Releases::kNone;
}

Result<Reconciled> reconcile(Env& env, const Deadline& deadline, const Scope& scope) {
  TRY(env.ledger.host().check());
  Reconciled done;
  Silent silent;
  const bool is_whole = scope.pool.empty() && !scope.due_only;
  // Before its store is believed. What remains to be looked at is for the next time.
  if (is_whole) mark_fleet(env, deadline.capped(kMarkTime), done.obstacles);
  for (Judged& suspect : TRY(find_suspects(env, scope))) {
    switch (suspect.judgement.life) {
      case Life::kUnknown:
        done.unknown.push_back(std::move(suspect));
        break;
      case Life::kRuns:
        adopt(env, suspect, done);
        break;
      case Life::kEnded:
        release_orphan(env, suspect, deadline.capped(partitions::kLongestAttempt), silent, done);
        break;
    }
  }
  done.partitions =
      TRY(partitions::reconcile_partitions(env, deadline, scope, done.obstacles, silent));
  if (!scope.pool.empty()) return done;
  TRY(start_endpoints_again(env, scope, deadline, done));
  if (scope.due_only) return done;
  for (std::string& name :
       TRY(partitions::remove_late_partitions(env, deadline, silent, done.obstacles))) {
    done.partitions.push_back(std::move(name));
  }
  partitions::share_named(env, deadline, done.obstacles);
  partitions::sweep_claims(env, done.obstacles);
  const Result<network::Mended> mended = network::mend_border(env, deadline);
  if (!mended.ok()) done.obstacles.push_back(mended.error());
  Status unmarked = network::sweep_marks(env);
  if (!unmarked.ok()) done.obstacles.push_back(std::move(unmarked).error());
  Status swept = plain::remove_half_made_links(env.run_dir);
  if (!swept.ok()) done.obstacles.push_back(std::move(swept).error());
  return done;
}

Status reconcile_soon(Env& env) {
  Scope scope;
  scope.look = Look::kQuick;
  scope.due_only = true;
  const std::vector<Judged> suspects = TRY(find_suspects(env, scope));
  const bool some = std::any_of(suspects.begin(), suspects.end(), [](const Judged& suspect) {
    return suspect.judgement.life != Life::kUnknown;
  });
  const std::vector<ledger::PartitionRecord> leftovers =
      TRY(partitions::find_leftovers(env, scope));
  const std::vector<ledger::Endpoint> ended = TRY(endpoint::find_ended(env, which(scope)));
  const bool is_due = some || !leftovers.empty() || !ended.empty();
  if (is_due) env.start_reconcile();
  return {};
}

Result<Room> make_room(Env& env, const std::string& pool) {
  Scope scope;
  scope.pool = pool;
  const Reconciled done = TRY(reconcile(env, Deadline::after(kRoomTime), scope));
  TRY(reconcile_soon(env));
  return done.released.empty() && done.partitions.empty() ? Room::kSame : Room::kMore;
}

}  // namespace hook::lifecycle::end
