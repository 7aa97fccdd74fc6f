// SPDX-License-Identifier: Apache-2.0
#include "vipu/placement.h"

#include <algorithm>
#include <bit>

namespace vipu {
namespace {

// Whether the block exists, as a whole, and nothing of it is taken.
bool is_free(const Occupied& occupied, size_t first, size_t size) {
  if (first + size > occupied.size()) return false;
  const auto begin = occupied.begin() + static_cast<Occupied::difference_type>(first);
  return std::none_of(begin, begin + static_cast<Occupied::difference_type>(size),
                      [](bool taken) { return taken; });
}

// The size of the largest free aligned block around the free one at FIRST.
size_t buddy_size(const Occupied& occupied, size_t first, size_t size) {
  while (is_free(occupied, first / (2 * size) * (2 * size), 2 * size)) size *= 2;
  return size;
}

}  // namespace

std::optional<uint32_t> find_block(const Occupied& occupied, uint32_t size) {
  if (!std::has_single_bit(size)) return std::nullopt;
  std::optional<uint32_t> best;
  size_t best_buddy = 0;
  for (size_t first = 0; first + size <= occupied.size(); first += size) {
    if (!is_free(occupied, first, size)) continue;
    const size_t buddy = buddy_size(occupied, first, size);
    if (best.has_value() && buddy >= best_buddy) continue;
    best = static_cast<uint32_t>(first);
    best_buddy = buddy;
  }
  return best;
}

uint32_t largest_free_block(const Occupied& occupied) {
  for (size_t size = std::bit_floor(occupied.size()); size > 0; size /= 2) {
    for (size_t first = 0; first + size <= occupied.size(); first += size) {
      if (is_free(occupied, first, size)) return static_cast<uint32_t>(size);
    }
  }
  return 0;
}

Capacity capacity_of(uint32_t total, const std::vector<Partition>& partitions) {
  Capacity capacity{total, 0, 0};
  Occupied pod(total);
  for (const Partition& partition : partitions) {
    capacity.used += static_cast<uint32_t>(partition.ipus.size());
    for (const IpuPlace& place : partition.ipus) {
      const uint64_t index = uint64_t{place.domain} * kIpusPerDomain + place.ipu;
      if (place.ipu < kIpusPerDomain && index < total) pod[index] = true;
    }
  }
  capacity.used = std::min(capacity.used, total);
  for (uint32_t first = 0; first < total; first += kIpusPerDomain) {
    const uint32_t end = std::min(total, first + kIpusPerDomain);
    const Occupied domain(pod.begin() + first, pod.begin() + end);
    capacity.largest_free = std::max(capacity.largest_free, largest_free_block(domain));
  }
  const uint32_t free = capacity.total - capacity.used;
  capacity.largest_free = std::min(capacity.largest_free, std::bit_floor(free));
  return capacity;
}

}  // namespace vipu
