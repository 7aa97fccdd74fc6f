// SPDX-License-Identifier: Apache-2.0
// Backfill in a pool: the decisions of vipu/backfill.h on the pool as it is now.
#pragma once

#include <optional>

#include "hook/lifecycle/env.h"
#include "vipu/types.h"

namespace hook::lifecycle {

// Returns whether smaller requests may pass one that waits for POOL. A V-IPU controller places
// partitions by itself, so nothing keeps them from the IPUs for which another request waits.
[[nodiscard]] bool may_backfill(const config::PoolConfig& pool);

// Returns the block to pin for a request of IPUS that waits, for which BEFORE is pinned. Warm
// partitions count as free, because they are given back for it. Returns nothing if there is none,
// and BEFORE if the pool cannot be looked at now.
[[nodiscard]] std::optional<vipu::Block> block_to_pin(Env& env, const config::PoolConfig& pool,
                                                      uint32_t ipus,
                                                      const std::optional<vipu::Block>& before);

// Returns whether there is a place for IPUS beside what is kept for the request of PINNED. False if
// the pool cannot be looked at.
[[nodiscard]] bool has_room_beside(Env& env, const config::PoolConfig& pool,
                                   const vipu::Block& pinned, uint32_t ipus);

}  // namespace hook::lifecycle
