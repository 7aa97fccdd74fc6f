// SPDX-License-Identifier: Apache-2.0
// What the commands that show leases also need of the queue.
#pragma once

#include <string>
#include <vector>

#include "cmd/ipuctl/print_lease.h"
#include "hook/config/tenant.h"
#include "hook/ledger/ledger.h"

namespace ipuctl {

// Returns the queue of this host for POOL; "" for all pools. Omits requests whose processes have
// ended.
base::Result<std::vector<Place>> queue_of(hook::ledger::Ledger& ledger, const std::string& pool);

// The queue of this host and of its fleet, if it is in one.
struct WholeQueue {
  std::vector<Place> places;  // the host of a waiter is empty if it is this one
  std::string tag = {};       // of this host; empty: it is in no fleet, or that does not answer
  std::vector<hook::config::TenantConfig> tenants = {};  // of the fleet, with their shares
  std::vector<hook::ledger::Holding> held = {};          // by those, without what waits
};
// Returns it for POOL; "" for all pools. LEDGER is not a copy. If the fleet does not answer, the
// queue is that of this host, and why is in OBSTACLES.
base::Result<WholeQueue> whole_queue(hook::ledger::Ledger& ledger, const std::string& pool,
                                     std::vector<base::Error>& obstacles);

// Returns "container 0123456789ab on host 1f2e3d4c"; without the host if it is this one.
[[nodiscard]] std::string requester_of(const hook::ledger::Waiter& waiter);
// Returns "; the first is container 0123456789ab, for 16 IPUs"; empty if PLACE is the first one.
[[nodiscard]] std::string ahead_text(const WholeQueue& queue, const Place& place);

// Returns the reservations of POOL; "" for all pools.
base::Result<std::vector<hook::ledger::PartitionRecord>> reservations_of(
    hook::ledger::Ledger& ledger, const std::string& pool);
// Returns its state: INTENT, RESERVED, ENDED or REMOVING.
[[nodiscard]] std::string reservation_state(const hook::ledger::PartitionRecord& record);

// Checks the name of a pool of which nothing is listed; "" stands for all pools. A pool that has
// gone from the configuration may still have leases.
base::Status check_pool(const std::string& pool);

}  // namespace ipuctl
