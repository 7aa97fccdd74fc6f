// SPDX-License-Identifier: Apache-2.0
// Where in a topology a partition may lie, whoever has the IPUs now.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "vipu/placement.h"
#include "vipu/types.h"

namespace vipu {

// SEGMENTS blocks of EACH IPUs; both are powers of two.
struct Shape {
  uint32_t segments = 1;
  uint32_t each = 1;
};

// The shape of WANTED with its segments decided; kInvalid if no topology could have it. Whether
// this one has room for it is for candidates() to say.
base::Result<Shape> shape_of(const Topology& topology, const Wanted& wanted);

// All places for SHAPE, lowest first, each by the first IPU of its first segment. The others follow
// at the same place in the next domains.
std::vector<IpuPlace> candidates(const Topology& topology, const Shape& shape);

// The segments of SHAPE at one of its candidates.
std::vector<Block> blocks_at(const Topology& topology, const Shape& shape, const IpuPlace& place);

}  // namespace vipu
