// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/accounting.h"

#include <algorithm>

#include "base/names.h"
#include "base/process.h"
#include "base/text.h"
#include "base/users.h"
#include "hook/lifecycle/fleet_place.h"
#include "vipu/placement.h"

namespace hook::lifecycle {
namespace {

using namespace base::names;
using ledger::kDayMs;

// A host that was away for long catches up in several steps.
constexpr int64_t kDaysAtOnce = 8;
constexpr size_t kEpochBytes = 4;
constexpr std::chrono::milliseconds kLookTime{2'000};  // at all pools

std::string user_text(int64_t user) {
  if (user < 0) return "";
  const std::string name = base::name_of_user(static_cast<uid_t>(user));
  return name.empty() ? str("uid ", user) : name;
}

bool is_empty(const fleet::UsagePart& part) {
  return part.lines.empty() && part.refusals.empty() && part.rooms.empty();
}

// Returns what was told before, by this ledger to this fleet; of a new one: nothing.
Result<ledger::Told> told_before(Env& env, const OpenFleet& fleet, int64_t today) {
  const std::string id = TRY(env.ledger.host().fleet_id(fleet.config.prefix));
  std::optional<ledger::Told> told = TRY(env.ledger.usage().told());
  if (told && told->fleet == id) return *told;
  ledger::Told fresh;
  fresh.fleet = id;
  fresh.epoch = told ? told->epoch : TRY(base::random_hex(kEpochBytes));
  fresh.day = today - fleet::kFleetUsageDays + 1;
  return fresh;
}

// Removes the days that the store keeps no more. TOLD_DAY: until when this host has done so.
Status forget_old(const fleet::Fleet& fleet, int64_t told_day, int64_t today) {
  const int64_t oldest = today - fleet::kFleetUsageDays + 1;
  const int64_t done = std::clamp(told_day, oldest - 1, today - kDaysToldAgain);
  for (int64_t day = done - fleet::kFleetUsageDays; day < oldest; ++day)
    TRY(fleet::forget_usage(fleet, day));
  return {};
}

}  // namespace

Result<fleet::UsagePart> usage_part(Env& env, int64_t from, int64_t until) {
  fleet::UsagePart part;
  part.day = from;
  part.host = env.ledger.host().tag();
  part.at_ms = base::unix_millis();
  ledger::Usage usage = env.ledger.usage();
  for (ledger::UsageRow& row : TRY(usage.between(from, until))) {
    part.lines.push_back({row.tenant, user_text(row.user), row.pool, row.held, row.reserved,
                          row.starts, std::move(row.waits), row.measured, row.busy});
  }
  for (const ledger::RefusedRow& row : TRY(usage.refused(from, until)))
    part.refusals.push_back({row.tenant, user_text(row.user), row.pool, row.cause, row.count});
  for (const ledger::RoomRow& row : TRY(env.ledger.usage().rooms().between(from, until))) {
    part.rooms.push_back({row.pool, row.measured_ms, row.free, row.largest, row.worst_ms,
                          row.worst_free, row.worst_largest});
  }
  return part;
}

PoolLooks look_at_pools(Env& env, const std::vector<config::PoolConfig>& pools,
                        const Deadline& deadline) {
  PoolLooks looks;
  for (const config::PoolConfig& pool : pools) {
    const Result<vipu::Survey> survey = env.controller(pool)->survey(deadline);
    if (!survey.ok()) continue;
    const vipu::Occupancy occupancy = vipu::Occupancy::of(survey.value());
    looks.sizes[pool.name] = {int64_t{occupancy.topology().ipus()}, is_shared(pool)};
    looks.rooms.push_back(
        {pool.name, int64_t{occupancy.free_ipus()}, int64_t{vipu::largest_free(occupancy)}});
  }
  return looks;
}

Result<std::map<std::string, fleet::UsagePool>> record_rooms(
    Env& env, const std::vector<config::PoolConfig>& pools, const Deadline& deadline) {
  PoolLooks looks = look_at_pools(env, pools, deadline);
  TRY(env.ledger.usage().rooms().record(looks.rooms));
  return std::move(looks.sizes);
}

Status tell_usage(Env& env, const OpenFleet& fleet, const std::vector<config::PoolConfig>& pools,
                  const std::string& host_name, const Deadline& deadline) {
  const int64_t now_ms = base::unix_millis();
  const int64_t today = now_ms / kDayMs;
  ledger::Told told = TRY(told_before(env, fleet, today));
  const bool is_new_day = told.at_ms / kDayMs != today;
  const bool is_late = told.day < today && !is_new_day;  // a few days are left to tell
  const bool was_just_told = now_ms >= told.at_ms && now_ms - told.at_ms < kTellTime.count();
  if (was_just_told && !is_late && !is_new_day) return {};
  if (is_new_day) {
    TRY(forget_old(fleet.at(deadline), told.at_ms == 0 ? today : told.day, today));
    told.day = std::min(told.day, today - kDaysToldAgain);
  }
  told.day = std::clamp(told.day, today - fleet::kFleetUsageDays + 1, today);
  const auto sizes = TRY(record_rooms(env, pools, deadline.capped(kLookTime)));
  const auto tell = [&](int64_t day) -> Status {
    fleet::UsagePart part = TRY(usage_part(env, day, day + 1));
    if (day < today && is_empty(part)) return {};
    part.name = host_name;
    part.epoch = told.epoch;
    if (day == today) part.pools = sizes;
    return fleet::write_usage(fleet.at(deadline), part);
  };
  TRY(tell(today));
  const int64_t until = std::min(told.day + kDaysAtOnce, today);
  for (int64_t day = told.day; day < until; ++day) TRY(tell(day));
  told.day = until;
  told.at_ms = now_ms;
  return env.ledger.usage().tell(told);
}

}  // namespace hook::lifecycle
