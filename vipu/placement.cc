// SPDX-License-Identifier: Apache-2.0
#include "vipu/placement.h"

#include <algorithm>
#include <bit>

#include "vipu/candidates.h"

namespace vipu {
namespace {

// The free buddy blocks of a pool. Equal neighbouring blocks merge, first in each domain. The
// largest blocks of equally large domains then merge further, domain by domain.
struct FreeBlocks {
  std::vector<uint32_t> sizes;    // by IPU: size of the block around it in its domain; 0: not free
  std::vector<uint32_t> domains;  // by domain: how many domains its largest block, if free, spans
};

// Returns how many LEAVES have merged with each: aligned powers of two of equal, nonzero ones.
std::vector<uint32_t> merge(const std::vector<uint32_t>& leaves) {
  const auto count = static_cast<uint32_t>(leaves.size());
  std::vector<uint32_t> merged(count, 1);
  for (uint32_t width = 1; width <= count / 2; width *= 2) {
    for (uint32_t buddy = width; buddy + width <= count; buddy += 2 * width) {
      const uint32_t first = buddy - width;
      if (leaves[first] == 0 || leaves[first] != leaves[buddy]) continue;
      if (merged[first] != width || merged[buddy] != width) continue;
      std::fill_n(merged.begin() + first, 2 * width, 2 * width);
    }
  }
  return merged;
}

FreeBlocks free_blocks(const Occupancy& occupancy) {
  const Topology& topology = occupancy.topology();
  FreeBlocks blocks;
  std::vector<uint32_t> whole(topology.domains());
  for (uint32_t domain = 0; domain < topology.domains(); ++domain) {
    const uint32_t first = topology.first_of(domain);
    std::vector<uint32_t> leaves(topology.size_of(domain));
    for (uint32_t i = 0; i < leaves.size(); ++i) leaves[i] = occupancy.is_free(first + i) ? 1 : 0;
    const std::vector<uint32_t> merged = merge(leaves);
    for (uint32_t i = 0; i < leaves.size(); ++i) blocks.sizes.push_back(leaves[i] * merged[i]);
    const uint32_t largest = std::bit_floor(topology.size_of(domain));
    if (largest > 0 && blocks.sizes[first] == largest) whole[domain] = largest;
  }
  blocks.domains = merge(whole);
  return blocks;
}

// Returns how many IPUs the free blocks have in all from which SHAPE would be cut here; nothing if
// the place is not free.
std::optional<uint32_t> cut_from(const Topology& topology, const FreeBlocks& blocks,
                                 const Shape& shape, const IpuPlace& place) {
  uint32_t total = 0;
  for (uint32_t segment = 0; segment < shape.segments;) {
    const uint32_t domain = place.domain + segment;
    const uint32_t size = blocks.sizes[topology.first_of(domain) + place.ipu];
    if (size < shape.each) return std::nullopt;
    const bool whole = size == std::bit_floor(topology.size_of(domain));
    const uint32_t extent = whole ? blocks.domains[domain] : 1;
    total += size * extent;
    segment += extent;
  }
  return total;
}

std::optional<std::vector<Block>> place_in(const Topology& topology, const FreeBlocks& blocks,
                                           const Wanted& wanted) {
  const base::Result<Shape> shape = shape_of(topology, wanted);
  if (!shape.ok()) return std::nullopt;
  std::optional<IpuPlace> best;
  uint32_t least = 0;
  for (const IpuPlace& candidate : candidates(topology, shape.value())) {
    const std::optional<uint32_t> total = cut_from(topology, blocks, shape.value(), candidate);
    if (!total.has_value() || (best.has_value() && *total >= least)) continue;
    best = candidate;
    least = *total;
  }
  if (!best.has_value()) return std::nullopt;
  return blocks_at(topology, shape.value(), *best);
}

}  // namespace

std::optional<std::vector<Block>> place(const Occupancy& occupancy, const Wanted& wanted) {
  return place_in(occupancy.topology(), free_blocks(occupancy), wanted);
}

uint32_t largest_free(const Occupancy& occupancy) {
  const Topology& topology = occupancy.topology();
  const FreeBlocks blocks = free_blocks(occupancy);
  for (uint32_t size = std::bit_floor(topology.ipus()); size > 0; size /= 2) {
    if (place_in(topology, blocks, {.size = size, .segments = 0}).has_value()) return size;
  }
  return 0;
}

}  // namespace vipu
