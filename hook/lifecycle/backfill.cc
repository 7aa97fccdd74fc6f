// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/backfill.h"

#include <algorithm>
#include <vector>

#include "base/names.h"
#include "vipu/backfill.h"
#include "vipu/beside.h"

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

bool is_free(const vipu::Occupancy& occupancy, const vipu::Block& block) {
  uint32_t number = block.first;
  while (number < block.first + block.size && occupancy.is_free(number)) ++number;
  return number == block.first + block.size;
}

}  // namespace

std::optional<vipu::Block> block_to_pin(Env& env, const config::PoolConfig& pool, uint32_t ipus,
                                        const std::optional<vipu::Block>& before) {
  Result<vipu::Survey> survey = env.controller(pool)->survey(Deadline::after(kSurveyTime));
  const auto records = env.ledger.partitions().all();
  if (!survey.ok() || !records.ok()) return before;
  const vipu::Survey seen = vipu::of_cluster(std::move(survey).take(), pool.cluster);
  const std::optional<vipu::Block> block =
      vipu::pin(vipu::Occupancy::of(without_warm(seen, records.value(), pool.name)), ipus, before);
  if (pool.provider != config::Provider::kVipu) return block ? block : before;
  // A controller tells no taints. It may have refused the IPUs, and nobody could ever get them.
  const bool is_suspicious = block && is_free(vipu::Occupancy::of(seen), *block);
  return is_suspicious ? std::nullopt : block;
}

bool has_room_beside(Env& env, const config::PoolConfig& pool, const vipu::Block& pinned,
                     uint32_t ipus) {
  Result<vipu::Survey> survey = env.controller(pool)->survey(Deadline::after(kSurveyTime));
  if (!survey.ok()) return false;
  const vipu::Survey seen = vipu::of_cluster(std::move(survey).take(), pool.cluster);
  return vipu::fits_beside(vipu::Occupancy::of(seen), pinned, ipus);
}

}  // namespace hook::lifecycle
