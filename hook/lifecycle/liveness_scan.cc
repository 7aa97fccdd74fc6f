// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/liveness_scan.h"

#include <algorithm>
#include <cerrno>
#include <csignal>

#include "base/clock.h"

namespace hook::lifecycle {
namespace {

using base::ProcessId;
using base::Result;

constexpr size_t kSlice = 16;  // leases that a quick look examines in full

// The few of COUNT leases that a quick look examines in full; the clock chooses the first.
class Slice {
 public:
  Slice(Look look, size_t count)
      : size_(look == Look::kFull ? count : std::min(count, kSlice)),
        count_(count),
        first_(count == 0 ? 0 : static_cast<size_t>(base::unix_millis()) % count) {}
  [[nodiscard]] bool has(size_t index) const { return (index + count_ - first_) % count_ < size_; }

 private:
  size_t size_;
  size_t count_;
  size_t first_;
};

// The process that looks, and the boot in which it does.
struct Looker {
  ProcessId self;
  std::string boot_id;
};

bool is_of_boot(const Looker& looker, const ledger::LeaseHold& hold) {
  return hold.boot_id == looker.boot_id;
}

// Returns whether an earlier release failed. Then nobody holds the lease, or this process does, and
// it may wait for long.
bool is_remainder(const Looker& looker, const ledger::LeaseState state, const ProcessId& owner) {
  return state == ledger::LeaseState::kReleasing && (owner == ProcessId() || owner == looker.self);
}

bool plainly_runs(const Looker& looker, const ledger::LeaseHold& hold, bool in_full) {
  if (!is_of_boot(looker, hold) || is_remainder(looker, hold.state, hold.owner)) return false;
  const bool is_here = hold.owner.pid_namespace == looker.self.pid_namespace;
  if (in_full) return is_here && base::is_running(hold.owner);
  if (hold.owner.pid <= 0) return false;  // to kill(2), this is no single process
  return !is_here || ::kill(hold.owner.pid, 0) == 0 || errno != ESRCH;
}

Result<Looker> looker() {
  Looker looker;
  looker.self = TRY(base::current_process());
  looker.boot_id = TRY(base::boot_id());
  return looker;
}

// Returns whether the container was started again since, so that its processes belong to another
// lease.
bool was_started_again(Env& env, const Looker& looker, const ledger::Lease& lease) {
  const Result<std::vector<ledger::Lease>> all = env.ledger.leases_of(lease.container);
  return all.ok() &&
         std::any_of(all.value().begin(), all.value().end(), [&](const ledger::Lease& other) {
           return other.id != lease.id && ledger::is_live(other.state) &&
                  other.boot_id == looker.boot_id && other.state_dir == lease.state_dir &&
                  other.created_ms > lease.created_ms;
         });
}

Judged judged(Env& env, const Looker& looker, ledger::Lease lease) {
  if (is_remainder(looker, lease.state, lease.owner)) {
    return {std::move(lease), {Life::kEnded, "an earlier release did not finish", {}}};
  }
  const Evidence evidence = look_at_lease(env, lease, looker.boot_id);
  Judgement judgement = judge(lease, evidence);
  if (evidence.owner == Seen::kNo && judgement.life != Life::kEnded &&
      was_started_again(env, looker, lease)) {
    judgement = {Life::kEnded, "the container was started again with another lease", {}};
  }
  return {std::move(lease), std::move(judgement)};
}

}  // namespace

Result<std::vector<Judged>> find_suspects(Env& env, const Scope& scope) {
  const Looker who = TRY(looker());
  std::vector<ledger::LeaseHold> holds = TRY(env.ledger.holds());
  const Slice slice(scope.look, holds.size());
  const int64_t now = base::unix_millis();
  std::vector<Judged> suspects;
  for (size_t i = 0; i < holds.size(); ++i) {
    if (plainly_runs(who, holds[i], slice.has(i))) continue;
    if (scope.due_only && !ledger::is_due(holds[i].retry_ms, now)) continue;
    std::optional<ledger::Lease> lease = TRY(env.ledger.find(holds[i].id));
    if (!lease || !ledger::is_live(lease->state)) continue;
    if (!scope.pool.empty() && lease->pool != scope.pool) continue;
    Judged found = judged(env, who, std::move(*lease));
    if (found.judgement.life == Life::kRuns && !found.judgement.successor) continue;
    suspects.push_back(std::move(found));
  }
  std::stable_sort(suspects.begin(), suspects.end(), [](const Judged& a, const Judged& b) {
    return a.lease.attempts < b.lease.attempts;
  });
  return suspects;
}

Result<Judged> judge_lease(Env& env, ledger::Lease lease) {
  return judged(env, TRY(looker()), std::move(lease));
}

Result<std::vector<Judged>> judge_all(Env& env) {
  const Looker who = TRY(looker());
  std::vector<Judged> all;
  for (ledger::Lease& lease : TRY(env.ledger.live())) {
    all.push_back(judged(env, who, std::move(lease)));
  }
  return all;
}

}  // namespace hook::lifecycle
