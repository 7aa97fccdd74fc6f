// SPDX-License-Identifier: Apache-2.0
// What the commands that show leases also need of the queue.
#pragma once

#include <string>
#include <vector>

#include "cmd/ipuctl/print_lease.h"
#include "hook/ledger/ledger.h"

namespace ipuctl {

// Returns the queue for POOL; "" for all pools. Omits requests whose processes have ended.
base::Result<std::vector<Place>> queue_of(hook::ledger::Ledger& ledger, const std::string& pool);

// Returns the reservations of POOL; "" for all pools.
base::Result<std::vector<hook::ledger::PartitionRecord>> reservations_of(
    hook::ledger::Ledger& ledger, const std::string& pool);
// Returns its state: INTENT, RESERVED, ENDED or REMOVING.
[[nodiscard]] std::string reservation_state(const hook::ledger::PartitionRecord& record);

// Checks the name of a pool of which nothing is listed; "" stands for all pools. A pool that has
// gone from the configuration may still have leases.
base::Status check_pool(const std::string& pool);

}  // namespace ipuctl
