// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/fleet_share.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/names.h"
#include "base/text.h"
#include "hook/lifecycle/queue_turn.h"
#include "hook/lifecycle/shares.h"

namespace hook::lifecycle {
namespace {

using namespace base::names;

struct HeldGcds {
  const fleet::PartitionView* partition;
  const fleet::Claim* claim;
};

// Returns the claims of containers, oldest first.
std::vector<HeldGcds> claims_of(const std::vector<fleet::PartitionView>& partitions) {
  std::vector<HeldGcds> claims;
  for (const fleet::PartitionView& view : partitions)
    for (const fleet::Claim& claim : view.claims)
      if (claim.process.empty()) claims.push_back({&view, &claim});
  std::stable_sort(claims.begin(), claims.end(), [](const HeldGcds& one, const HeldGcds& other) {
    return one.claim->since_ms < other.claim->since_ms;
  });
  return claims;
}

uint32_t ipus_of(const fleet::PartitionView& view, uint32_t gcds) {
  return view.facts.ipus / view.facts.gcds * gcds;
}

// What a request adds to SHARES, by its tenant and the IPUs that it asks for.
struct Wanted {
  const std::string& tenant;
  uint32_t ipus = 0;
};

// Returns what TENANT has, with what may be anybody's: it may be TENANT's.
std::vector<ledger::Holding> with_unowned(const fleet::Shares& shares, const std::string& tenant) {
  std::vector<ledger::Holding> holdings = holdings_of(shares);
  if (shares.unowned == 0) return holdings;
  ledger::Holding unowned{tenant, "", "", "", shares.unowned};
  unowned.has_ipus = false;  // nobody knows since when, so it is never overdue
  holdings.insert(holdings.begin(), std::move(unowned));
  return holdings;
}

Status check(const Wanted& wanted, const fleet::Shares& before, const fleet::Shares& after) {
  const config::TenantConfig* const share = TRY(find_share(after, wanted.tenant));
  if (share == nullptr) return {};
  const Status fits =
      ledger::check_holdings(to_share(*share), wanted.ipus, with_unowned(before, wanted.tenant),
                             with_unowned(after, wanted.tenant), base::unix_millis(),
                             {"in the fleet", "with 'ipuctl tenant set'"});
  if (fits.ok() || after.unowned == 0) return fits;
  return Error(fits.error().code(),
               str(fits.error().message(), "; ", after.unowned,
                   " IPUs of grants that cannot be read count for each tenant: see 'ipuctl fleet"
                   " check'"));
}

}  // namespace

std::vector<ledger::Holding> holdings_of(const fleet::Shares& shares) {
  std::vector<ledger::Holding> holdings;
  for (const fleet::Grant& grant : shares.grants) {
    holdings.push_back(
        {grant.tenant, grant.pool, grant.container, grant.reservation, grant.ipus, grant.since_ms});
    holdings.back().host = grant.host;
  }
  ledger::GcdCount count;
  for (const auto& [view, claim] : claims_of(shares.partitions)) {
    const uint32_t gcds =
        count.add(claim->tenant, view->name.pool, view->name.name, claim->gcd, claim->gcds);
    if (gcds == 0) continue;
    holdings.push_back({claim->tenant, view->name.pool, claim->container, "", ipus_of(*view, gcds),
                        claim->since_ms, 0, claim->uses, claim->host});
  }
  std::stable_sort(holdings.begin(), holdings.end(),
                   [](const ledger::Holding& one, const ledger::Holding& other) {
                     return one.since_ms < other.since_ms;
                   });
  return holdings;
}

std::vector<ledger::Holding> without_waiting(std::vector<ledger::Holding> holdings,
                                             const std::vector<fleet::Waiting>& queue) {
  std::erase_if(holdings, [&](const ledger::Holding& holding) {
    const std::string who = holding.reservation.empty()
                                ? holding.container
                                : std::string(kReservationWaiter) + holding.reservation;
    return std::any_of(queue.begin(), queue.end(), [&](const fleet::Waiting& one) {
      return one.ticket.host == holding.host && one.ticket.container == who &&
             one.resource.pool == holding.pool;
    });
  });
  return holdings;
}

Result<const config::TenantConfig*> find_share(const fleet::Shares& shares,
                                               const std::string& tenant) {
  const config::TenantConfig* none = nullptr;
  const auto broken = tenant.empty() ? shares.unreadable.end() : shares.unreadable.find(tenant);
  if (broken != shares.unreadable.end()) {
    return Error(Code::kInvalid,
                 str("what tenant ", quote(tenant),
                     " may have in the fleet is not known, because the store's record ",
                     quote(broken->second), " cannot be read; see 'ipuctl fleet check'"));
  }
  if (shares.records.empty()) return none;
  const config::TenantConfig* const found = config::find_tenant(shares.tenants, tenant);
  if (found != nullptr) return found;
  const std::string known = config::names_of(shares.tenants);
  if (!tenant.empty()) {
    return Error(Code::kDenied,
                 str("the fleet has no tenant ", quote(tenant), "; its tenants are ", known,
                     "; an administrator can add one with 'ipuctl tenant set'"));
  }
  return Error(Code::kDenied,
               str("the request names no tenant, and the fleet has shares; give one of ", known,
                   ", or let an administrator set policy.default_tenant in config.toml"));
}

Status check_walls(const fleet::Shares& shares, const std::string& tenant) {
  const config::TenantConfig* const share = config::find_tenant(shares.tenants, tenant);
  if (share != nullptr && !share->allocation.empty()) return {};
  if (shares.unknown_walls.empty()) return {};
  return Error(Code::kInvalid,
               str("the share of tenant ", quote(shares.unknown_walls.front()),
                   " in etcd cannot be read, so this start might get IPUs of its allocation; ask an"
                   " administrator to run 'ipuctl fleet check'"));
}

Status check_share(const fleet::Shares& shares, const fleet::Grant& grant) {
  const config::TenantConfig* const tenant = TRY(find_share(shares, grant.tenant));
  if (tenant == nullptr) return {};
  if (!grant.reservation.empty() && !tenant->may_reserve) {
    return Error(Code::kDenied, str("tenant ", quote(grant.tenant),
                                    " may not reserve IPUs of the fleet; start a container with"
                                    " IPU_WAIT=60s instead"));
  }
  fleet::Shares before = shares;
  std::erase_if(before.grants, [&](const fleet::Grant& one) { return one.id == grant.id; });
  fleet::Shares after = before;
  after.grants.push_back(grant);
  after.grants.back().since_ms = base::unix_millis();
  return check({grant.tenant, grant.ipus}, before, after);
}

Status check_share(const fleet::Shares& shares, const fleet::PartitionName& name,
                   const fleet::Claim& claim) {
  fleet::Shares before = shares;
  fleet::Shares after = shares;
  uint32_t ipus = 0;
  for (fleet::PartitionView& view : before.partitions)
    std::erase_if(view.claims, [&](const fleet::Claim& one) { return one.id == claim.id; });
  for (fleet::PartitionView& view : after.partitions) {
    if (view.name != name) continue;
    std::erase_if(view.claims, [&](const fleet::Claim& one) { return one.id == claim.id; });
    view.claims.push_back(claim);
    view.claims.back().since_ms = base::unix_millis();
    ipus = ipus_of(view, claim.gcds);
  }
  return check({claim.tenant, ipus}, before, after);
}

}  // namespace hook::lifecycle
