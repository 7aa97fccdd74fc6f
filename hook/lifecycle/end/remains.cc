// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/end/remains.h"

#include <set>

#include "base/names.h"
#include "hook/lifecycle/end/effects.h"
#include "hook/lifecycle/endpoint/revive.h"
#include "hook/lifecycle/partitions/orphans.h"
#include "hook/lifecycle/partitions/partitions.h"

namespace hook::lifecycle::end {

using namespace base::names;

namespace {

constexpr std::chrono::milliseconds kQueryTime{5000};  // for one question to a controller

RemainingLease look_for_effects(Env& env, Judged judged, const Deadline& deadline,
                                std::set<std::string>& silent) {
  RemainingLease remaining{std::move(judged), {}};
  const ledger::Lease& lease = remaining.judged.lease;
  if (remaining.judged.judgement.life != Life::kEnded) return remaining;
  for (const Effect& effect : effects()) {
    if (!effect.may_have(lease)) continue;
    const bool asks = effect.name == kPartition;
    Result<Presence> seen =
        asks && silent.contains(lease.controller)
            ? base::Error(base::Code::kUnavailable, "the controller does not answer")
            : effect.probe(env, lease, deadline.capped(kQueryTime));
    if (asks && !seen.ok() && partitions::is_silence(seen.error())) silent.insert(lease.controller);
    remaining.effects.emplace_back(effect.name, std::move(seen));
  }
  return remaining;
}

}  // namespace

Result<Remains> find_remains(Env& env, const Deadline& deadline) {
  Remains remains;
  std::set<std::string> silent;
  for (Judged& judged : TRY(judge_all(env))) {
    remains.leases.push_back(look_for_effects(env, std::move(judged), deadline, silent));
  }
  remains.partitions = TRY(partitions::find_leftovers(env));
  for (ledger::PartitionRecord& late :
       TRY(partitions::find_late_partitions(env, deadline, silent))) {
    remains.partitions.push_back(std::move(late));
  }
  remains.waiters = TRY(find_dead_waiters(env.ledger));
  remains.endpoints = TRY(endpoint::find_ended(env, endpoint::Which::kAll));
  return remains;
}

Result<std::vector<ledger::Waiter>> find_dead_waiters(ledger::Ledger& ledger) {
  const std::string boot = TRY(base::boot_id());
  std::vector<ledger::Waiter> waiters = TRY(ledger.queue().list());
  std::erase_if(waiters, [&](const ledger::Waiter& waiter) {
    return waiter.boot_id == boot && base::is_running(waiter.owner);
  });
  return waiters;
}

}  // namespace hook::lifecycle::end
