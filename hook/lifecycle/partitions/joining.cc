// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/partitions/joining.h"

#include <optional>

#include "base/names.h"
#include "base/text.h"
#include "hook/config/config.h"
#include "hook/lifecycle/open_fleet.h"
#include "hook/lifecycle/partitions/fleet_claims.h"
#include "hook/lifecycle/partitions/fleet_grants.h"
#include "hook/lifecycle/partitions/fleet_warm.h"
#include "hook/lifecycle/partitions/partitions.h"

namespace hook::lifecycle::partitions {

using namespace base::names;

void share_named(Env& env, const Deadline& deadline, std::vector<Error>& obstacles) {
  const auto records = env.ledger.partitions().all();
  if (!records.ok()) return obstacles.push_back(records.error());
  for (const ledger::PartitionRecord& record : records.value()) {
    const bool is_named = record.kind != ledger::PartitionKind::kWarm && record.reservation.empty();
    if (!is_named || !record.fleet.empty() || !config::is_controller(record.source)) continue;
    config::PoolConfig pool;
    pool.name = record.pool;
    pool.provider = config::Provider::kVipu;
    pool.controller = record.source;
    Status shared = learn_partition(env, pool, record.name, deadline);
    if (shared.ok()) continue;
    const bool is_silent = is_silence(shared.error());
    obstacles.push_back(std::move(shared).error());
    if (is_silent) return;  // the others would wait as long
  }
}

Result<std::vector<std::string>> leave_fleet(Env& env) {
  std::vector<std::string> names;
  for (const ledger::PartitionRecord& record : TRY(env.ledger.partitions().all())) {
    if (record.fleet.empty()) continue;
    if (is_fleets(record) && TRY(open_fleet(env)))
      return Error(Code::kBusy,
                   str("partition ", quote(record.name), " of pool ", quote(record.pool),
                       " is half made or half removed; run"
                       " 'ipuctl gc' first"));
    TRY(env.ledger.partitions().unlearn(record));
    names.push_back(record.name);
  }
  const std::optional<OpenFleet> fleet = TRY(open_fleet(env));
  if (fleet) TRY(leave_grants(env, *fleet));
  TRY(env.ledger.partitions().disclaim_own());
  TRY(env.ledger.host().leave_fleet());
  return names;
}

}  // namespace hook::lifecycle::partitions
