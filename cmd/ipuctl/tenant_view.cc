// SPDX-License-Identifier: Apache-2.0
#include "cmd/ipuctl/tenant_view.h"

#include <algorithm>
#include <set>

#include "base/names.h"
#include "cmd/ipuctl/tenants.h"
#include "hook/fleet/grants.h"
#include "hook/fleet/queue.h"
#include "hook/lifecycle/fleet_share.h"
#include "hook/lifecycle/fleet_view.h"
#include "hook/lifecycle/queue_turn.h"
#include "hook/lifecycle/shares.h"

namespace ipuctl {

using namespace base::names;
using base::Json;
using hook::ledger::Holding;
using hook::ledger::Share;
using hook::ledger::Waiter;

namespace {

constexpr const char* kFleet = "fleet";

void add_tenants(TenantScope& scope, const std::vector<hook::config::TenantConfig>& tenants) {
  for (const hook::config::TenantConfig& tenant : tenants) {
    scope.shares.push_back(hook::lifecycle::to_share(tenant));
    if (!tenant.allocation.empty()) scope.allocations[tenant.name] = tenant.allocation;
  }
}

std::string allocation_of(const TenantScope& scope, const std::string& tenant) {
  const auto found = scope.allocations.find(tenant);
  return found == scope.allocations.end() ? "" : found->second;
}

// Adds a share without limits for each tenant that has or wants IPUs and has no share.
void add_others(TenantScope& scope) {
  std::set<std::string> others;
  for (const Holding& holding : scope.holdings) others.insert(holding.tenant);
  for (const Waiter& waiter : scope.waiters) others.insert(waiter.tenant);
  for (const Share& share : scope.shares) others.erase(share.tenant);
  for (const std::string& name : others) scope.shares.push_back(Share{name});
}

std::vector<Waiter> waiters_of(const TenantScope& scope, const std::string& tenant) {
  std::vector<Waiter> own = scope.waiters;
  std::erase_if(own, [&](const Waiter& waiter) { return waiter.tenant != tenant; });
  return own;
}

std::string on_host(const std::string& host) { return host.empty() ? "" : str(" on host ", host); }

// Adds the host to JSON in the scope of a fleet.
Json with_host(Json json, const std::string& host) {
  if (!host.empty()) json["host"] = host;
  return json;
}

Json to_json(const Holding& holding) {
  Json json = {{"pool", holding.pool},
               {"container", holding.container},
               {"reservation", holding.reservation},
               {"ipus", holding.ipus},
               {"since", base::rfc3339(holding.since_ms)},
               {"until", holding.until_ms == 0 ? Json() : Json(base::rfc3339(holding.until_ms))}};
  return with_host(std::move(json), holding.host);
}

Json to_json(const Waiter& waiter) {
  Json json = {{"resource", waiter.resource},
               {"container", waiter.container},
               {"ipus", waiter.ipus},
               {"since", base::rfc3339(waiter.since_ms)},
               {"until", base::rfc3339(waiter.until_ms)}};
  return with_host(std::move(json), waiter.host);
}

}  // namespace

const Share* TenantScope::find(const std::string& tenant) const {
  const auto found = std::find_if(shares.begin(), shares.end(),
                                  [&](const Share& one) { return one.tenant == tenant; });
  return found == shares.end() ? nullptr : &*found;
}

Result<TenantScope> look_at_host(hook::lifecycle::Env& env) {
  TenantScope scope;
  scope.waiters = TRY(hook::lifecycle::living_waiters(env));
  scope.holdings =
      hook::lifecycle::without_waiting(TRY(env.ledger.tenants().holdings()), scope.waiters);
  const hook::config::PolicyConfig policy = find_policy().value_or(hook::config::PolicyConfig());
  add_tenants(scope, policy.tenants);
  add_others(scope);
  return scope;
}

Result<TenantScope> look_at_fleet(const hook::lifecycle::OpenFleet& fleet,
                                  std::vector<Error>& obstacles) {
  TenantScope scope;
  scope.name = kFleet;
  hook::fleet::Shares shares = TRY(hook::fleet::read_shares(fleet.at_last()));
  add_tenants(scope, shares.tenants);
  for (const auto& [tenant, key] : shares.unreadable)
    obstacles.emplace_back(Code::kInvalid, str(base::quote(key),
                                               " in etcd cannot be read, so it is"
                                               " not counted here; see 'ipuctl fleet check'"));
  if (shares.unowned > 0) {
    obstacles.emplace_back(Code::kInvalid,
                           str(shares.unowned, " IPUs of these count for each tenant until then"));
  }
  const auto waiting = TRY(hook::fleet::list_queue(fleet.at_last()));
  for (const hook::fleet::Waiting& one : waiting)
    scope.waiters.push_back(hook::lifecycle::to_waiter(one));
  if (shares.tenants.empty()) {
    shares.grants = TRY(hook::fleet::list_grants(fleet.at_last(), obstacles));
    shares.partitions = TRY(hook::fleet::list_partitions(fleet.at_last(), obstacles));
  }
  scope.holdings = hook::lifecycle::without_waiting(hook::lifecycle::holdings_of(shares), waiting);
  add_others(scope);
  return scope;
}

std::vector<std::string> tenant_heading(bool in_fleet) {
  std::vector<std::string> heading = {"TENANT",   "GUARANTEED", "LIMIT",   "HELD",
                                      "BORROWED", "OVERDUE",    "WAITING", "ALLOCATION"};
  if (in_fleet) heading.insert(heading.begin(), "SCOPE");
  return heading;
}

std::vector<std::string> tenant_row(const TenantScope& scope, const Share& share, bool in_fleet) {
  const hook::ledger::TenantUse use = use_of(share, scope.holdings, scope.now_ms);
  std::vector<std::string> row = {or_dash(share.tenant),
                                  str(share.guaranteed),
                                  share.limit == UINT32_MAX ? "-" : str(share.limit),
                                  str(use.held),
                                  str(use.borrowed),
                                  str(use.overdue),
                                  str(waiters_of(scope, share.tenant).size()),
                                  or_dash(allocation_of(scope, share.tenant))};
  if (in_fleet) row.insert(row.begin(), scope.name);
  return row;
}

std::string holdings_text(const TenantScope& scope, const std::string& tenant) {
  std::string text;
  for (const Holding& holding : scope.holdings) {
    if (holding.tenant != tenant) continue;
    const std::string who = holding.reservation.empty()
                                ? str("container ", base::short_id(holding.container))
                                : str("reservation ", holding.reservation);
    const std::string end =
        holding.until_ms == 0 ? "" : str(", until ", base::rfc3339(holding.until_ms));
    text += str(who, on_host(holding.host), ": ", holding.ipus, " IPUs of ", holding.pool, " for ",
                age(holding.since_ms), end, "\n");
  }
  for (const Waiter& waiter : waiters_of(scope, tenant)) {
    const std::string ipus = waiter.ipus == 0 ? "" : str(waiter.ipus, " IPUs of ");
    text += str(hook::lifecycle::requester_text(waiter.container), on_host(waiter.host),
                ": waits for ", ipus, waiter.resource, ", for ", age(waiter.since_ms), "\n");
  }
  return text;
}

Json tenant_json(const TenantScope& scope, const Share& share) {
  const std::string allocation = allocation_of(scope, share.tenant);
  const hook::ledger::TenantUse use = use_of(share, scope.holdings, scope.now_ms);
  return {{"scope", scope.name},
          {"tenant", share.tenant},
          {"guaranteed", share.guaranteed},
          {"limit", share.limit == UINT32_MAX ? Json() : Json(share.limit)},
          {"borrow_time",
           share.borrow_time.count() == 0 ? Json() : Json(share.borrow_time.count() / 1000)},
          {"held", use.held},
          {"borrowed", use.borrowed},
          {"overdue", use.overdue},
          {"waiting", waiters_of(scope, share.tenant).size()},
          {"allocation", allocation.empty() ? Json() : Json(allocation)}};
}

Json tenant_json_in_full(const TenantScope& scope, const Share& share) {
  Json json = tenant_json(scope, share);
  json["holdings"] = Json::array();
  for (const Holding& holding : scope.holdings)
    if (holding.tenant == share.tenant) json["holdings"].push_back(to_json(holding));
  json["waiters"] = Json::array();
  for (const Waiter& waiter : waiters_of(scope, share.tenant))
    json["waiters"].push_back(to_json(waiter));
  return json;
}

}  // namespace ipuctl
