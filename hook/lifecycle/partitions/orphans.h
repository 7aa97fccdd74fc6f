// SPDX-License-Identifier: Apache-2.0
// Orphans: partitions that a controller made for a lease after the lease had ended.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "hook/lifecycle/env.h"

namespace hook::lifecycle::partitions {

// Returns partitions of ended leases that their controllers still have. A controller creates one if
// it carries out a request after the sender gave up and the removal found nothing. One that a fleet
// kept warm is such a partition only if the fleet knows nobody who has it. Skips the controllers
// and the fleet in SILENT, and adds to it what does not answer.
base::Result<std::vector<ledger::PartitionRecord>> find_late_partitions(
    Env& env, const base::Deadline& deadline, std::set<std::string>& silent);
// Removes these partitions and returns their names. Adds to OBSTACLES what only an operator can
// remove.
base::Result<std::vector<std::string>> remove_late_partitions(Env& env,
                                                              const base::Deadline& deadline,
                                                              std::set<std::string>& silent,
                                                              std::vector<base::Error>& obstacles);

}  // namespace hook::lifecycle::partitions
