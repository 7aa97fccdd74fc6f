// SPDX-License-Identifier: Apache-2.0
// The shares of tenants, for the commands that show who waits.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hook/config/config.h"
#include "hook/ledger/ledger.h"

namespace ipuctl {

// Returns the policy of the configuration; unset if it cannot be read.
[[nodiscard]] std::optional<hook::config::PolicyConfig> find_policy();

// Returns WAITERS, which are in order of arrival, in the order in which they are served; see
// hook/lifecycle/shares.h. Unchanged if the configuration has no tenants, or cannot be read.
[[nodiscard]] std::vector<hook::ledger::Waiter> in_served_order(
    hook::ledger::Ledger& ledger, std::vector<hook::ledger::Waiter> waiters);

// Returns "; tenant 'a' has 12 of at most 16 IPUs (8 are guaranteed)" for a request of TENANT;
// empty if the configuration has no tenants, or cannot be read.
[[nodiscard]] std::string share_text(hook::ledger::Ledger& ledger, const std::string& tenant);
// Returns "; in the fleet, tenant 'a' has 12 of at most 16 IPUs (8 are guaranteed)", by the fleet's
// TENANTS and what they have (HELD); empty if it has no share for TENANT.
[[nodiscard]] std::string fleet_share_text(const std::vector<hook::config::TenantConfig>& tenants,
                                           const std::vector<hook::ledger::Holding>& held,
                                           const std::string& tenant);

}  // namespace ipuctl
