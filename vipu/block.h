// SPDX-License-Identifier: Apache-2.0
// Block: the IPUs of a partition, or of a segment of one, in their pool.
#pragma once

#include <cstdint>

namespace vipu {

// Consecutive IPUs of one domain. Their number is a power of two. Counted from the start of its
// domain, the block starts at a multiple of that number.
struct Block {
  uint32_t first = 0;  // number in the pool, see Topology
  uint32_t size = 0;
  bool operator==(const Block&) const = default;
};

}  // namespace vipu
