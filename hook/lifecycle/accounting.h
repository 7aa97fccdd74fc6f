// SPDX-License-Identifier: Apache-2.0
// The accounting of this host, and its part of that of its fleet.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "hook/config/pool.h"
#include "hook/fleet/usage.h"
#include "hook/lifecycle/env.h"
#include "hook/lifecycle/open_fleet.h"

namespace hook::lifecycle {

// A fleet is told so often.
inline constexpr std::chrono::milliseconds kTellTime = std::chrono::minutes(5);
// How many days a host tells again once a day, in case the store was restored from an older copy.
inline constexpr int64_t kDaysToldAgain = 7;

// Returns what this host had from day FROM to day UNTIL (since 1970, UTC), which is not part of it.
// Its pools are empty.
base::Result<fleet::UsagePart> usage_part(Env& env, int64_t from, int64_t until);

// What pools were asked, without those that did not tell by the deadline.
struct PoolLooks {
  std::map<std::string, fleet::UsagePool> sizes = {};  // by pool
  std::vector<ledger::RoomLook> rooms = {};
};
[[nodiscard]] PoolLooks look_at_pools(Env& env, const std::vector<config::PoolConfig>& pools,
                                      const base::Deadline& deadline);

// Looks at POOLS and records how much room they have. Returns their sizes.
base::Result<std::map<std::string, fleet::UsagePool>> record_rooms(
    Env& env, const std::vector<config::PoolConfig>& pools, const base::Deadline& deadline);

// Tells FLEET what this host had, if the last time is kTellTime ago: of today, and of each day
// since then, at most a few days at a time. Looks at POOLS for it. Once a day it also removes what
// is older than the store keeps. What was not told is told the next time.
base::Status tell_usage(Env& env, const OpenFleet& fleet,
                        const std::vector<config::PoolConfig>& pools, const std::string& host_name,
                        const base::Deadline& deadline);

}  // namespace hook::lifecycle
