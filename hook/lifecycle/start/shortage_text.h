// SPDX-License-Identifier: Apache-2.0
// What a user sees when a pool is full.
#pragma once

#include <string_view>

#include "base/result.h"
#include "hook/config/config.h"
#include "hook/lifecycle/env.h"

namespace hook::lifecycle::start {

struct Needed {
  const config::PoolConfig& pool;
  uint32_t ipus = 0;        // 0: unknown
  std::string_view advice;  // the last words: what the user can do
};
inline constexpr std::string_view kAfterWait = "see 'ipuctl ps' for who has them";

// Returns kBusy: the largest free block, who holds IPUs, and what would make room, as far as the
// controller tells within 2 s. Otherwise returns CAUSE, the controller's own refusal.
[[nodiscard]] base::Error no_capacity(Env& env, const Needed& what, const base::Error& cause);

}  // namespace hook::lifecycle::start
