// SPDX-License-Identifier: Apache-2.0
// What a user sees when a pool is full.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "hook/config/config.h"
#include "hook/lifecycle/env.h"

namespace hook::lifecycle::start {

struct Needed {
  const config::PoolConfig& pool;
  uint32_t ipus = 0;        // 0: unknown
  std::string_view advice;  // the last words: what the user can do
  std::string within = {};  // of which IPUs alone, as wall_text(); empty: of all of the pool
};
inline constexpr std::string_view kAfterWait = "see 'ipuctl ps' for who has them";

// Returns kBusy: the largest free block, who holds IPUs, and what would make room, as far as the
// controller tells within 2 s. Otherwise returns CAUSE, the controller's own refusal.
[[nodiscard]] base::Error no_capacity(Env& env, const Needed& what, const base::Error& cause);

// Returns what would make room for IPUS of POOL, to be shown while a request waits: "largest free:
// 4, held by 2 containers; there would be a block without container 0123456789ab". Names no others
// to who may not see them. Empty if there is room, or if the controller does not tell within 2 s.
[[nodiscard]] std::string what_is_missing(Env& env, const config::PoolConfig& pool, uint32_t ipus);

}  // namespace hook::lifecycle::start
