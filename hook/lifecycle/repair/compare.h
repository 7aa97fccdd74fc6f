// SPDX-License-Identifier: Apache-2.0
// Compares the ledger with the world that it describes: kernel, controllers, files.
#pragma once

#include <vector>

#include "base/clock.h"
#include "hook/ledger/check.h"
#include "hook/lifecycle/env.h"

namespace hook::lifecycle::repair {

// Returns where the world and the ledger disagree; changes nothing. Does not judge a lease that
// changes meanwhile. What cannot be examined is a note. Asks the controllers of POOLS.
base::Result<std::vector<ledger::Flaw>> compare_outside(
    Env& env, const std::vector<config::PoolConfig>& pools, const base::Deadline& deadline);

}  // namespace hook::lifecycle::repair
