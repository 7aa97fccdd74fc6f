// SPDX-License-Identifier: Apache-2.0
// What the fleet's store says, beside what the controllers have and what this host's ledger holds.
#pragma once

#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "hook/config/config.h"
#include "hook/lifecycle/env.h"

namespace hook::lifecycle::partitions {

// Returns an error for each difference, which says what to do: after a restore of an older etcd, an
// import, or a controller that lost partitions. What cannot be asked is an error, too. Changes
// nothing. Does nothing if this host is in no fleet.
std::vector<base::Error> compare_fleet(Env& env, const std::vector<config::PoolConfig>& pools,
                                       const base::Deadline& deadline);

}  // namespace hook::lifecycle::partitions
