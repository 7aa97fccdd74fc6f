// SPDX-License-Identifier: Apache-2.0
// The leases that share a network namespace: what its interfaces must be for all of them, and the
// way into it.
#pragma once

#include <optional>
#include <vector>

#include "base/result.h"
#include "hook/lifecycle/env.h"
#include "netns/namespace.h"
#include "netns/types.h"

namespace hook::lifecycle::network {

// Returns what LEASES, which share their interfaces, need on this host now.
base::Result<netns::NetworkPlan> plan_of(Env& env, const std::vector<ledger::Lease>& leases);

// Checks that no other process has changed LEASE. A release that began before this process had the
// namespace's lock will not see what is made now, and will not look again.
base::Status check_unchanged(Env& env, const ledger::Lease& lease);

// Returns the namespace in which LEASE was attached, found through a process of a running container
// of SHARERS; absent if none leads there. Fails with kBusy if one does but cannot be examined.
base::Result<std::optional<netns::Namespace>> find_namespace(
    Env& env, const ledger::Lease& lease, const std::vector<ledger::Lease>& sharers);

}  // namespace hook::lifecycle::network
