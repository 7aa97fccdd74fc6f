// SPDX-License-Identifier: Apache-2.0
// Whether a pool has room for a new partition now, and where. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "vipu/placement.h"
#include "vipu/types.h"

namespace vipu::plan {

// A pool at one moment.
struct PoolNow {
  Survey survey = {};
  // Ids of the partitions that wait for a container: a start takes one of its size as it is, and
  // the others are given back if it needs their IPUs.
  std::set<std::string> warm = {};
  size_t ahead = 0;  // requests that wait in its queue
  // The IPUs that are kept for the first of these, if smaller requests may pass it.
  std::optional<Block> pinned = {};
};

struct Outlook {
  bool now = false;                        // it could start now
  std::vector<Block> blocks = {};          // where, if the rest of the pool is as it is; in order
  std::string warm = {};                   // the warm partition that it would get; empty: a new one
  std::string shortage = {};               // why there is no room, as one clause; empty: there is
  std::vector<std::string> blockers = {};  // whose end would make room; see Shortage
};

// Returns the outlook of a request for SIZE IPUs, which the pool could hold.
[[nodiscard]] Outlook look(const PoolNow& pool, uint32_t size);

// Returns the IPUs of the largest partition that a pool of these domains could ever hold; 0 if it
// has none.
[[nodiscard]] uint32_t largest_partition(const std::vector<uint32_t>& domains);

}  // namespace vipu::plan
