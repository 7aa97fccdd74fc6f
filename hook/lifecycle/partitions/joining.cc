// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/partitions/joining.h"

#include "base/names.h"
#include "hook/config/config.h"
#include "hook/lifecycle/partitions/fleet_claims.h"

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
    Status shared = learn_partition(env, pool, record.name, deadline);
    if (!shared.ok()) obstacles.push_back(std::move(shared).error());
  }
}

}  // namespace hook::lifecycle::partitions
