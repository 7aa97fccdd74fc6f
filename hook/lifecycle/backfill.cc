// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/backfill.h"

#include <algorithm>
#include <vector>

#include "base/names.h"
#include "vipu/backfill.h"

namespace hook::lifecycle {
namespace {

using namespace base::names;

constexpr std::chrono::milliseconds kSurveyTime{2000};

vipu::Survey without_warm(vipu::Survey survey, const std::vector<ledger::PartitionRecord>& records,
                          const std::string& pool) {
  std::erase_if(survey.partitions, [&](const vipu::Partition& partition) {
    return std::any_of(records.begin(), records.end(), [&](const ledger::PartitionRecord& record) {
      return record.kind == ledger::PartitionKind::kWarm && record.pool == pool &&
             record.name == partition.id;
    });
  });
  return survey;
}

}  // namespace

bool may_backfill(const config::PoolConfig& pool) {
  return pool.backfill && pool.provider != config::Provider::kVipu;
}

std::optional<vipu::Block> block_to_pin(Env& env, const config::PoolConfig& pool, uint32_t ipus,
                                        const std::optional<vipu::Block>& before) {
  Result<vipu::Survey> survey = env.controller(pool)->survey(Deadline::after(kSurveyTime));
  const auto records = env.ledger.partitions().all();
  if (!survey.ok() || !records.ok()) return before;
  const vipu::Survey seen = without_warm(std::move(survey).take(), records.value(), pool.name);
  return vipu::pin(vipu::Occupancy::of(seen), ipus, before);
}

bool has_room_beside(Env& env, const config::PoolConfig& pool, const vipu::Block& pinned,
                     uint32_t ipus) {
  const Result<vipu::Survey> survey = env.controller(pool)->survey(Deadline::after(kSurveyTime));
  return survey.ok() && vipu::fits_beside(vipu::Occupancy::of(survey.value()), pinned, ipus);
}

}  // namespace hook::lifecycle
