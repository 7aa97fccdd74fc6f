// SPDX-License-Identifier: Apache-2.0
// The queue of a fleet as its hosts' requests go by it (fleet_place.h), for those who only look.
#pragma once

#include <string>
#include <vector>

#include "hook/config/tenant.h"
#include "hook/fleet/queue.h"
#include "hook/ledger/queue.h"
#include "hook/ledger/tenants.h"

namespace hook::lifecycle {

// Returns a request in the fleet's queue as a waiter of its host.
[[nodiscard]] ledger::Waiter to_waiter(const fleet::Waiting& waiting);

// One request that waits.
struct Queued {
  ledger::Waiter waiter;    // its host is empty if it is this one
  std::string ticket = {};  // its id in the fleet; empty: the fleet does not have it
};

// Returns all requests of the fleet and of this host, TAG, by resource, and for one resource in the
// order in which they are served, by the fleet's TENANTS and what they have (HELD, as
// holdings_of(), without what waits). FLEET is in the order of places. A request of this host is as
// LOCAL, the waiters in its ledger, has it; what only LOCAL has comes last. Omits requests that
// were cancelled, and those of this host that LOCAL does not have: their processes have ended.
[[nodiscard]] std::vector<Queued> fleet_order(const std::string& tag,
                                              std::vector<ledger::Waiter> local,
                                              const std::vector<fleet::Waiting>& fleet,
                                              const std::vector<config::TenantConfig>& tenants,
                                              const std::vector<ledger::Holding>& held);

}  // namespace hook::lifecycle
