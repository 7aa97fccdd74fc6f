// SPDX-License-Identifier: Apache-2.0
// The shares of tenants, for the commands that show who waits.
#pragma once

#include <string>
#include <vector>

#include "cmd/ipuctl/print_lease.h"
#include "hook/ledger/ledger.h"

namespace ipuctl {

// Returns WAITERS, which are in order of arrival, in the order in which they are served; see
// hook/lifecycle/shares.h. Unchanged if the configuration has no tenants, or cannot be read.
[[nodiscard]] std::vector<hook::ledger::Waiter> in_served_order(
    hook::ledger::Ledger& ledger, std::vector<hook::ledger::Waiter> waiters);

// Returns "; tenant 'a' has 12 of at most 16 IPUs (8 are guaranteed)" for a request of TENANT;
// empty if the configuration has no tenants, or cannot be read.
[[nodiscard]] std::string share_text(hook::ledger::Ledger& ledger, const std::string& tenant);

}  // namespace ipuctl
