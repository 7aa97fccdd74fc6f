// SPDX-License-Identifier: Apache-2.0
// Endpoints that died while their containers run: which they are, and how they come back.
#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "hook/lifecycle/env.h"

namespace hook::lifecycle::endpoint {

// Which endpoints that ended: all, or those whose pause after the last attempt is over.
enum class Which { kAll, kDue };
// Returns the endpoints that ended of leases that are RUNNING.
base::Result<std::vector<ledger::Endpoint>> find_ended(Env& env, Which which);

// Starts ENDED again, if its container runs. Counts the attempt first, so that one that ends again
// and again is started ever less often, at last every five minutes. The owner learns of it by an
// event of the lease. Returns whether it runs now; no also if another process sees to it, or its
// lease is being released.
enum class Revived { kNo, kYes };
base::Result<Revived> revive(Env& env, const ledger::Endpoint& ended,
                             const base::Deadline& deadline);

}  // namespace hook::lifecycle::endpoint
