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
// it carries out a request after the sender gave up and the removal found nothing. Skips the
// controllers in SILENT, and adds to it each one that does not answer.
base::Result<std::vector<ledger::PartitionRecord>> find_late_partitions(
    Env& env, const base::Deadline& deadline, std::set<std::string>& silent);
// Removes these partitions and returns their names.
base::Result<std::vector<std::string>> remove_late_partitions(Env& env,
                                                              const base::Deadline& deadline,
                                                              std::set<std::string>& silent);

}  // namespace hook::lifecycle::partitions
