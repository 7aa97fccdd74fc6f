// SPDX-License-Identifier: Apache-2.0
#include "vipu/plan/outlook.h"

#include <algorithm>
#include <bit>

#include "vipu/backfill.h"

namespace vipu::plan {
namespace {

// Returns the blocks of consecutive IPUs that PARTITION has.
std::vector<Block> blocks_of(const Topology& topology, const Partition& partition) {
  std::vector<uint32_t> numbers;
  for (const IpuPlace& place : partition.ipus) {
    const std::optional<uint32_t> number = topology.number_of(place);
    if (number) numbers.push_back(*number);
  }
  std::sort(numbers.begin(), numbers.end());
  std::vector<Block> blocks;
  for (const uint32_t number : numbers) {
    const bool goes_on = !blocks.empty() && blocks.back().first + blocks.back().size == number &&
                         topology.place_of(number).ipu != 0;
    if (goes_on) {
      ++blocks.back().size;
    } else {
      blocks.push_back({number, 1});
    }
  }
  return blocks;
}

const Partition* warm_of(const PoolNow& pool, uint32_t size) {
  const auto found = std::find_if(
      pool.survey.partitions.begin(), pool.survey.partitions.end(),
      [&](const Partition& one) { return one.ipus.size() == size && pool.warm.contains(one.id); });
  return found == pool.survey.partitions.end() ? nullptr : &*found;
}

}  // namespace

Outlook look(const PoolNow& pool, uint32_t size) {
  Outlook outlook;
  const Wanted wanted{size, 0};
  // Whoever passes another gets none of its IPUs, and no warm partition stands on them for certain.
  const bool may_pass = pool.pinned && size < pool.pinned->size;
  const Partition* const warm = pool.ahead == 0 ? warm_of(pool, size) : nullptr;
  if (warm != nullptr) {
    outlook.now = true;
    outlook.warm = warm->id;
    outlook.blocks = blocks_of(Topology(pool.survey.domains), *warm);
    return outlook;
  }
  Survey without_warm = pool.survey;
  std::erase_if(without_warm.partitions,
                [&](const Partition& one) { return pool.warm.contains(one.id); });
  Occupancy occupancy = Occupancy::of(without_warm);
  if (!place(occupancy, wanted)) {
    const Shortage shortage = why_not(occupancy, wanted);
    outlook.shortage = to_text(shortage, wanted);
    outlook.blockers = shortage.blockers;
    return outlook;
  }
  if (pool.ahead > 0 && may_pass) keep(occupancy, *pool.pinned);
  outlook.blocks = place(occupancy, wanted).value_or(std::vector<Block>());
  outlook.now = !outlook.blocks.empty() && (pool.ahead == 0 || may_pass);
  if (!outlook.now) outlook.blocks.clear();
  return outlook;
}

uint32_t largest_partition(const std::vector<uint32_t>& domains) {
  const Topology topology(domains);
  for (uint32_t size = std::bit_floor(topology.ipus()); size > 0; size /= 2)
    if (check_wanted(topology, {size, 0}).ok()) return size;
  return 0;
}

}  // namespace vipu::plan
