// SPDX-License-Identifier: Apache-2.0
// The places of a topology where a partition may lie, whichever IPUs are free.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "vipu/placement.h"
#include "vipu/types.h"

namespace vipu {

// A partition's shape: SEGMENTS blocks of EACH IPUs. Both are powers of two.
struct Shape {
  uint32_t segments = 1;
  uint32_t each = 1;
};

// Returns the shape of WANTED with its segments decided, or kInvalid if no topology could have it.
// candidates() tells whether TOPOLOGY has room for it.
base::Result<Shape> shape_of(const Topology& topology, const Wanted& wanted);

// Returns all places for SHAPE, lowest first, each as the first IPU of its first segment. The other
// segments follow at the same place in the next domains.
std::vector<IpuPlace> candidates(const Topology& topology, const Shape& shape);

// Returns the segments of SHAPE at one of its candidates.
std::vector<Block> blocks_at(const Topology& topology, const Shape& shape, const IpuPlace& place);

}  // namespace vipu
