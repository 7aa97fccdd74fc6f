// SPDX-License-Identifier: Apache-2.0
#include "vipu/backfill.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "vipu/candidates.h"

namespace vipu {
namespace {

// What must end before a block is free.
struct Load {
  size_t holders = 0;
  uint32_t held = 0;  // IPUs
  bool is_tainted = false;
};

Load load_of(const Occupancy& occupancy, const Block& block) {
  Load load;
  std::set<std::string_view> holders;
  for (uint32_t number = block.first; number < block.first + block.size; ++number) {
    const std::string& holder = occupancy.holder_of(number);
    load.is_tainted = load.is_tainted || !occupancy.taint_of(number).empty();
    if (holder.empty()) continue;
    holders.insert(holder);
    ++load.held;
  }
  load.holders = holders.size();
  return load;
}

// Returns all places for SIZE IPUs, lowest first; none if SIZE is no power of two.
std::vector<Block> blocks_of(const Topology& topology, uint32_t size) {
  std::vector<Block> blocks;
  const base::Result<Shape> shape = shape_of(topology, {.size = size, .segments = 1});
  if (!shape.ok()) return blocks;
  for (const IpuPlace& place : candidates(topology, shape.value())) {
    blocks.push_back({topology.first_of(place.domain) + place.ipu, size});
  }
  return blocks;
}

void keep_block(Occupancy& occupancy, const Block& block) {
  for (uint32_t number = block.first; number < block.first + block.size; ++number) {
    if (occupancy.is_free(number)) occupancy.hold(number, kKeptIpus);
  }
}

}  // namespace

std::optional<Block> pin(const Occupancy& occupancy, uint32_t size,
                         const std::optional<Block>& before) {
  std::optional<Block> best;
  uint32_t least = 0;
  for (const Block& block : blocks_of(occupancy.topology(), size)) {
    const Load load = load_of(occupancy, block);
    if (load.is_tainted) continue;
    if (block == before) return before;
    if (best.has_value() && load.held >= least) continue;
    best = block;
    least = load.held;
  }
  return best;
}

void keep(Occupancy& occupancy, const Block& pinned) {
  const std::vector<Block> blocks = blocks_of(occupancy.topology(), pinned.size);
  if (std::find(blocks.begin(), blocks.end(), pinned) == blocks.end()) {
    return keep_block(occupancy, {0, occupancy.topology().ipus()});
  }
  const size_t enough = load_of(occupancy, pinned).holders + kMoreHolders;
  for (const Block& block : blocks) {
    const Load load = load_of(occupancy, block);
    const bool is_out_of_reach = load.is_tainted || load.holders >= enough;
    if (block == pinned || !is_out_of_reach) keep_block(occupancy, block);
  }
}

bool fits_beside(Occupancy occupancy, const Block& pinned, uint32_t size) {
  keep(occupancy, pinned);
  return place(occupancy, {.size = size, .segments = 1}).has_value();
}

}  // namespace vipu
