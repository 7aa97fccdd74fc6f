// SPDX-License-Identifier: Apache-2.0
// The shares of tenants in the queue: who is served first.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "hook/config/policy.h"
#include "hook/ledger/ledger.h"

namespace hook::lifecycle {

// The oldest request of a resource that borrows is passed for no longer than this by later ones
// that are within their guaranteed share, unless one of these has waited for as long itself: one
// old borrower after the other does not keep it waiting.
inline constexpr std::chrono::milliseconds kLongestPass = std::chrono::minutes(5);

[[nodiscard]] ledger::Share to_share(const config::TenantConfig& tenant);
// Returns the share of TENANT by its table; unset if the configuration has no tenants.
[[nodiscard]] std::optional<ledger::Share> share_of(const config::PolicyConfig& policy,
                                                    const std::string& tenant);

// How a request is served, by what its tenant has and by its requests that came before.
enum class Rank {
  kGuaranteed,  // it is within what is guaranteed, or is the oldest that borrows, for kLongestPass
  kBorrows,     // it is within the limit
  kOverLimit,   // it, or a loan that is overdue: nothing before its tenant has given something back
};

struct Ranked {
  ledger::Waiter waiter;
  Rank rank = Rank::kGuaranteed;
};

// What decides the ranks: the tenants of the configuration, what they have, and the unix time.
struct Standing {
  const std::vector<config::TenantConfig>& tenants;
  std::map<std::string, uint32_t> held;  // IPUs by tenant
  std::set<std::string> overdue = {};    // tenants that may borrow no more
  int64_t now_ms = 0;
};

// Returns HOLDINGS without those that WAITERS ask for: while the controller is asked in vain, a
// request that waits has a lease or a reservation without IPUs in the pool for which it waits.
[[nodiscard]] std::vector<ledger::Holding> without_waiting(
    std::vector<ledger::Holding> holdings, const std::vector<ledger::Waiter>& waiters);

// Returns what LEDGER says of TENANTS now, for an order of WAITERS, all that wait for one resource.
// What waits for others counts as the ledger's check counts it.
base::Result<Standing> standing_of(ledger::Ledger& ledger,
                                   const std::vector<config::TenantConfig>& tenants,
                                   const std::vector<ledger::Waiter>& waiters);

// Returns whether tenants ONE and OTHER have different allocations, or only one has one: what the
// one gives back in a pool of provider vipu never serves the other, so neither waits for the other.
// The tenants of the configuration, OF_HOST, or those of the fleet may say it.
[[nodiscard]] bool are_apart(const std::vector<config::TenantConfig>& of_host,
                             const std::vector<config::TenantConfig>& of_fleet,
                             const std::string& one, const std::string& other);

// Returns WAITERS of one resource, which are in order of arrival, in the order in which they are
// served: those within their guaranteed share, with the oldest who borrows if it has waited for
// kLongestPass and none of them has; the others who borrow; those over a limit; each in order of
// arrival. Requests of one tenant are never served in another order than that of arrival.
[[nodiscard]] std::vector<Ranked> served_order(const std::vector<ledger::Waiter>& waiters,
                                               const Standing& standing);

// Returns those of ORDER that are served before the request with TICKET. Who is over a limit keeps
// only requests of the same tenant waiting.
[[nodiscard]] std::vector<ledger::Waiter> served_before(const std::vector<Ranked>& order,
                                                        int64_t ticket);

}  // namespace hook::lifecycle
