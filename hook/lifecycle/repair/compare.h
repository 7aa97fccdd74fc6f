// SPDX-License-Identifier: Apache-2.0
// The ledger against the world that it speaks of: kernel, controllers, files.
#pragma once

#include <vector>

#include "base/clock.h"
#include "hook/ledger/check.h"
#include "hook/lifecycle/env.h"

namespace hook::lifecycle::repair {

// What of the world and the ledger does not agree; nothing is changed. A lease that changes
// meanwhile is not judged, what cannot be looked at is a note. The controllers of POOLS are asked.
base::Result<std::vector<ledger::Flaw>> compare_outside(
    Env& env, const std::vector<config::PoolConfig>& pools, const base::Deadline& deadline);

}  // namespace hook::lifecycle::repair
