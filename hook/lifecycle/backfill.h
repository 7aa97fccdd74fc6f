// SPDX-License-Identifier: Apache-2.0
// Backfill in a pool: the decisions of vipu/backfill.h on the pool as it is now.
#pragma once

#include <optional>

#include "hook/lifecycle/env.h"
#include "vipu/types.h"

namespace hook::lifecycle {

// Returns the block to pin for a request of IPUS that waits, for which BEFORE is pinned. Warm
// partitions of this host count as free, because they are given back for it. Returns BEFORE if the
// pool cannot be looked at now, or has no such block. With a controller, returns nothing, so that
// nobody passes, if there is none, or if it is free: nobody knows then for what the request waits.
[[nodiscard]] std::optional<vipu::Block> block_to_pin(Env& env, const config::PoolConfig& pool,
                                                      uint32_t ipus,
                                                      const std::optional<vipu::Block>& before);

// Returns whether there is a place for IPUS beside what is kept for the request of PINNED. False if
// the pool cannot be looked at.
[[nodiscard]] bool has_room_beside(Env& env, const config::PoolConfig& pool,
                                   const vipu::Block& pinned, uint32_t ipus);

}  // namespace hook::lifecycle
