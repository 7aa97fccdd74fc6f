// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/shares.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/text.h"
#include "hook/lifecycle/queue_turn.h"

namespace hook::lifecycle {
namespace {

Rank rank_of(const config::TenantConfig* tenant, uint64_t wanted, bool is_overdue) {
  const bool is_within = tenant != nullptr && wanted <= tenant->guaranteed;
  const bool is_over = tenant != nullptr && (wanted > tenant->limit || (is_overdue && !is_within));
  if (is_over) return Rank::kOverLimit;
  return is_within ? Rank::kGuaranteed : Rank::kBorrows;
}

}  // namespace

ledger::Share to_share(const config::TenantConfig& tenant) {
  return {tenant.name, tenant.guaranteed, tenant.limit, tenant.borrow_time};
}

std::optional<ledger::Share> share_of(const config::PolicyConfig& policy,
                                      const std::string& tenant) {
  if (policy.tenants.empty()) return std::nullopt;
  const config::TenantConfig* const table = config::find_tenant(policy.tenants, tenant);
  return table == nullptr ? ledger::Share{tenant} : to_share(*table);
}

namespace {

bool is_of(const ledger::Waiter& waiter, const ledger::Holding& holding) {
  const bool is_there =
      waiter.resource == holding.pool || waiter.resource.starts_with(base::str(holding.pool, "/"));
  if (!is_there || holding.has_ipus) return false;
  return holding.reservation.empty()
             ? waiter.container == holding.container
             : waiter.container == base::str(kReservationWaiter, holding.reservation);
}

}  // namespace

std::vector<ledger::Holding> without_waiting(std::vector<ledger::Holding> holdings,
                                             const std::vector<ledger::Waiter>& waiters) {
  std::erase_if(holdings, [&](const ledger::Holding& holding) {
    return std::any_of(waiters.begin(), waiters.end(),
                       [&](const ledger::Waiter& waiter) { return is_of(waiter, holding); });
  });
  return holdings;
}

base::Result<Standing> standing_of(ledger::Ledger& ledger,
                                   const std::vector<config::TenantConfig>& tenants,
                                   const std::vector<ledger::Waiter>& waiters) {
  Standing standing{tenants, {}, {}, base::unix_millis()};
  const std::vector<ledger::Holding> holdings =
      without_waiting(TRY(ledger.tenants().holdings()), waiters);
  for (const ledger::Holding& holding : holdings) standing.held[holding.tenant] += holding.ipus;
  for (const config::TenantConfig& tenant : tenants) {
    if (ledger::use_of(to_share(tenant), holdings, standing.now_ms).overdue != 0)
      standing.overdue.insert(tenant.name);
  }
  return standing;
}

bool are_apart(const std::vector<config::TenantConfig>& of_host,
               const std::vector<config::TenantConfig>& of_fleet, const std::string& one,
               const std::string& other) {
  const auto allocation_of = [&](const std::string& name) {
    for (const std::vector<config::TenantConfig>* const tenants : {&of_host, &of_fleet}) {
      const config::TenantConfig* const tenant = config::find_tenant(*tenants, name);
      if (tenant != nullptr && !tenant->allocation.empty()) return tenant->allocation;
    }
    return std::string();
  };
  return one != other && allocation_of(one) != allocation_of(other);
}

std::vector<Ranked> served_order(const std::vector<ledger::Waiter>& waiters,
                                 const Standing& standing) {
  std::map<std::string, uint64_t> wanted(standing.held.begin(), standing.held.end());
  std::vector<Ranked> order;
  for (const ledger::Waiter& waiter : waiters) {
    // With what the tenant's earlier requests will take, so that these are never passed by it.
    uint64_t& sum = wanted[waiter.tenant];
    sum += waiter.ipus;
    const config::TenantConfig* const tenant = config::find_tenant(standing.tenants, waiter.tenant);
    order.push_back({waiter, rank_of(tenant, sum, standing.overdue.contains(waiter.tenant))});
  }
  // One at a time: where many have waited for long, or the clock was set, guarantees hold.
  const auto oldest = std::find_if(order.begin(), order.end(), [](const Ranked& ranked) {
    return ranked.rank == Rank::kBorrows;
  });
  const auto is_old = [&](const Ranked& ranked) {
    return standing.now_ms - ranked.waiter.since_ms >= kLongestPass.count();
  };
  const bool was_passed = oldest != order.end() && is_old(*oldest);
  // Or many old borrowers would pass it, one after the other.
  const bool is_owed = std::any_of(order.begin(), order.end(), [&](const Ranked& ranked) {
    return ranked.rank == Rank::kGuaranteed && is_old(ranked);
  });
  if (was_passed && !is_owed) oldest->rank = Rank::kGuaranteed;
  std::stable_sort(order.begin(), order.end(),
                   [](const Ranked& one, const Ranked& other) { return one.rank < other.rank; });
  return order;
}

std::vector<ledger::Waiter> served_before(const std::vector<Ranked>& order, int64_t ticket) {
  const auto own = std::find_if(order.begin(), order.end(), [&](const Ranked& ranked) {
    return ranked.waiter.ticket == ticket;
  });
  std::vector<ledger::Waiter> before;
  for (auto other = order.begin(); other != own; ++other) {
    const bool blocks = other->rank != Rank::kOverLimit ||
                        (own != order.end() && other->waiter.tenant == own->waiter.tenant);
    if (blocks) before.push_back(other->waiter);
  }
  return before;
}

}  // namespace hook::lifecycle
