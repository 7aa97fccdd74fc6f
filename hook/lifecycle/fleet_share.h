// SPDX-License-Identifier: Apache-2.0
// What tenants have of a fleet, counted as one host counts it (ledger/tenants.h), and whether they
// may have more.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "hook/fleet/grants.h"
#include "hook/fleet/queue.h"
#include "hook/ledger/tenants.h"

namespace hook::lifecycle {

// Returns what tenants have by the grants and claims in SHARES, oldest first. Of claims that share
// a GCD, only the oldest of the tenant counts it.
[[nodiscard]] std::vector<ledger::Holding> holdings_of(const fleet::Shares& shares);

// Returns HOLDINGS of the fleet without those of requests in QUEUE: such a request asks its
// controller in vain, and gives its IPUs back.
[[nodiscard]] std::vector<ledger::Holding> without_waiting(
    std::vector<ledger::Holding> holdings, const std::vector<fleet::Waiting>& queue);

// Returns the share of TENANT; null if the fleet has no shares. Fails with kDenied, naming the
// known ones, if it has none of that name.
base::Result<const config::TenantConfig*> find_share(const fleet::Shares& shares,
                                                     const std::string& tenant);

// Returns whether it is known which allocations TENANT must not use. Fails with kInvalid if a
// record that cannot be read may name one, and TENANT has none of its own, which would keep it
// apart.
base::Status check_walls(const fleet::Shares& shares, const std::string& tenant);

// Return whether the tenant of GRANT, or of CLAIM of a partition in SHARES, may have it, too. Fail
// as ledger::check_holdings(), or as find_share(). What may be anybody's (Shares::unowned) counts
// for the tenant, too.
base::Status check_share(const fleet::Shares& shares, const fleet::Grant& grant);
base::Status check_share(const fleet::Shares& shares, const fleet::PartitionName& name,
                         const fleet::Claim& claim);

}  // namespace hook::lifecycle
