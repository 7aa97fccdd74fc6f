// SPDX-License-Identifier: Apache-2.0
// The fleet's warm pool and the reservations of its hosts: what fleet_warm.cc, warm.cc, reserve.cc
// and change.cc of the product do, in their order, whose ledger this model has not.
#include <algorithm>

#include "base/names.h"
#include "hook/fleet/warm.h"
#include "tests/unit/hook/model/fences_desk.h"
#include "vipu/made_name.h"

namespace model::fences {
namespace {

using namespace base::names;
using hook::fleet::Grant;
using hook::fleet::Warm;
using hook::fleet::WarmFate;
using hook::fleet::WarmPhase;
using What = Call::What;

Result<std::vector<Warm>> warm_now(Desk& desk) {
  std::vector<Error> obstacles;
  return hook::fleet::list_warm(desk.fleet, kPool, obstacles);
}

// Removes a partition whose record is REMOVING, and this actor's; see finish_in_fleet().
void finish_removal(Desk& desk, const std::string& name) {
  const std::string me = tag_of(desk.role.host);
  if (!vipu::is_of_fleet(name)) {
    if (!desk.is(What::kRemove, name) || !desk.is(What::kDropRecord)) return;
    (void)hook::fleet::ungrant(desk.fleet, kPool, name);
    return;
  }
  if (!desk.scene.rules.tells_before_removal && !desk.is(What::kRemove, name)) return;
  const auto fate = hook::fleet::begin_warm_removal(desk.fleet, kPool, name, me);
  if (!fate.ok()) return;
  if (fate.value() == WarmFate::kOthers) {
    desk.is(What::kDropRecord);
    return;
  }
  if (fate.value() == WarmFate::kNobody) {
    const Answer& answer = desk.replay.ask({What::kListPartitions});
    const bool is_there = std::any_of(answer.partitions.begin(), answer.partitions.end(),
                                      [&](const vipu::Partition& one) { return one.id == name; });
    if (!answer.error && !is_there) desk.is(What::kDropRecord);
    return;
  }
  if (!desk.is(What::kRemove, name)) return;
  if (hook::fleet::forget_warm(desk.fleet, kPool, name).ok()) desk.is(What::kDropRecord);
}

Grant grant_of_reservation(uint8_t host) {
  Grant grant = grant_of(host);
  grant.id = reserved_of(host);
  grant.container.clear();
  grant.reservation = "night";
  return grant;
}

}  // namespace

Warm warm_record(const Scene& scene, uint8_t host) {
  Warm warm;
  warm.kind = hook::fleet::warm_kind(scene.pools.front(), 4);
  warm.kind.pool = kPool;
  warm.name = warm_of(host);
  warm.maker = warm.changer = tag_of(host);
  warm.since_ms = kNow;
  return warm;
}

Status remove_grant(Desk& desk, const std::string& known) {
  const std::string lease = lease_of(desk.role.host);
  const auto grant = TRY(hook::fleet::find_grant(desk.fleet, kPool, lease));
  if (!grant) return {};
  const bool is_unknown = !grant->partition.empty() && grant->partition != known;
  if (is_unknown && desk.scene.rules.reads_grants && !desk.is(What::kRemove, grant->partition))
    return Error(Code::kUnavailable, "the controller does not answer");
  TRY(hook::fleet::ungrant(desk.fleet, kPool, lease));
  return {};
}

void start_warm(Desk& desk) {
  const bool is_first = desk.scene.rules.records_first;
  if (is_first && !desk.is(What::kIntend)) return;
  const auto all = warm_now(desk);
  if (!all.ok()) return release(desk);
  Grant grant = grant_of(desk.role.host);
  const Warm* taken = nullptr;
  for (const Warm& one : all.value())
    if (taken == nullptr && one.phase == WarmPhase::kIdle) taken = &one;
  if (taken != nullptr) {
    grant.partition = taken->name;
    grant.source = taken->kind.source;
  }
  const Result<bool> granted = hook::fleet::grant_at_once(desk.fleet, {kPool}, grant, taken);
  if (!is_first && !desk.is(What::kIntend)) return;
  if (!granted.ok() || !granted.value()) return release(desk);
  const bool is_made = taken != nullptr ? desk.is(What::kTakeWarm, taken->name)
                                        : desk.is(What::kCreate, partition_of(desk.role.host));
  if (!is_made) return release(desk);
  live(desk);
}

void refill(Desk& desk) {
  collect_record(desk);
  const Warm warm = warm_record(desk.scene, desk.role.host);
  if (!desk.is(What::kMakeRecord, warm.name)) return;
  const Result<bool> begun = hook::fleet::begin_warm(desk.fleet, warm, 1);
  if (!begun.ok()) return;
  if (!begun.value()) {
    desk.is(What::kDropRecord);
    return;
  }
  if (!desk.is(What::kCreate, warm.name)) {
    if (!desk.is(What::kRemove, warm.name)) return;
    if (hook::fleet::forget_warm(desk.fleet, kPool, warm.name).ok()) desk.is(What::kDropRecord);
    return;
  }
  if (hook::fleet::finish_warm(desk.fleet, warm).ok()) desk.is(What::kDropRecord);
}

void give_back(Desk& desk) {
  const auto all = warm_now(desk);
  if (!all.ok()) return;
  for (const Warm& one : all.value())
    if (one.phase != WarmPhase::kMaking && desk.is(What::kRemoveRecord, one.name))
      finish_removal(desk, one.name);
}

void reserve(Desk& desk) {
  const std::string name = reserved_of(desk.role.host);
  const bool is_first = desk.scene.rules.records_first;
  if (is_first && !desk.is(What::kMakeRecord, name)) return;
  const Result<bool> granted =
      hook::fleet::grant_at_once(desk.fleet, {kPool}, grant_of_reservation(desk.role.host));
  if (!granted.ok() || !granted.value()) {
    desk.is(What::kDropRecord);
    // Turn::unclaim(): the answer may be lost.
    if (!granted.ok()) (void)hook::fleet::ungrant(desk.fleet, kPool, name);
    return;
  }
  if (desk.is(What::kCreate, name)) {
    if (!is_first && !desk.is(What::kMakeRecord, name)) return;
    desk.is(What::kReadyRecord);
    return;
  }
  // undo_creation(), and the turn's claim, unless gc has to go on with it.
  const bool is_gone = desk.is(What::kRemove, name) && desk.is(What::kDropRecord);
  if (is_gone || !desk.scene.rules.keeps_grant_of_reservation)
    (void)hook::fleet::ungrant(desk.fleet, kPool, name);
}

void start_reserved(Desk& desk) {
  const Answer& record = desk.replay.ask({What::kReadRecord});
  if (record.record != RecordState::kReady || !desk.is(What::kIntendOnRecord)) return;
  live(desk);
}

void end_reserved(Desk& desk) {
  const std::string name = reserved_of(desk.role.host);
  if (desk.is(What::kSeizeRecord, name)) finish_removal(desk, name);
}

void collect_record(Desk& desk) {
  const Answer& seized = desk.replay.ask({What::kSeizeRecord});
  if (seized.error || desk.replay.is_over()) return;
  finish_removal(desk, seized.partitions.front().id);
}

void sweep_warm(Desk& desk) {
  const auto all = warm_now(desk);
  if (!all.ok()) return;
  const std::string me = tag_of(desk.role.host);
  for (const Warm& one : all.value()) {
    if (one.changer != me) continue;
    const Answer& row = desk.replay.ask({What::kReadRecord});
    if (desk.replay.is_over()) return;
    if (row.record != RecordState::kNone && row.partitions.front().id == one.name) continue;
    const auto begun = hook::fleet::begin_warm_removal_as_seen(desk.fleet, one, me);
    if (!begun.ok() || !begun.value() || !desk.is(What::kRemove, one.name)) continue;
    (void)hook::fleet::forget_warm(desk.fleet, kPool, one.name);
  }
}

void sweep_reservation(Desk& desk, const std::vector<Grant>& grants) {
  const Answer& row = desk.replay.ask({What::kReadRecord});
  if (desk.replay.is_over()) return;
  const std::string name = reserved_of(desk.role.host);
  const bool is_known =
      std::any_of(grants.begin(), grants.end(), [&](const Grant& one) { return one.id == name; });
  if (is_known && row.record == RecordState::kNone)
    (void)hook::fleet::ungrant(desk.fleet, kPool, name);
  if (!is_known && row.record == RecordState::kReady)
    (void)hook::fleet::grant_again(desk.fleet, grant_of_reservation(desk.role.host));
}

}  // namespace model::fences
