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

Result<Presence> probe(Env& env, const Effect& effect, const ledger::Lease& lease,
                       const Deadline& deadline, Silent& silent) {
  const auto looks = partitions::Asks::kLooks;
  if (effect.name == kPartition && TRY(is_anothers(env, lease, looks, deadline, silent)))
    return Presence::kGone;
  Presence seen = Presence::kGone;
  TRY(ask(counterpart(effect, lease), silent, [&]() -> Status {
    seen = TRY(effect.probe(env, lease, deadline));
    return {};
  }));
  return seen;
}

RemainingLease look_for_effects(Env& env, Judged judged, const Deadline& deadline, Silent& silent) {
  RemainingLease remaining{std::move(judged), {}};
  const ledger::Lease& lease = remaining.judged.lease;
  if (remaining.judged.judgement.life != Life::kEnded) return remaining;
  for (const Effect& effect : effects()) {
    if (effect.may_have(lease))
      remaining.effects.emplace_back(
          effect.name, probe(env, effect, lease, deadline.capped(kQueryTime), silent));
  }
  return remaining;
}

}  // namespace

Result<Remains> find_remains(Env& env, const Deadline& deadline) {
  Remains remains;
  Silent silent;
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
