// SPDX-License-Identifier: Apache-2.0
#include "cmd/ipuctl/tenants.h"

#include <map>

#include "base/clock.h"
#include "base/names.h"
#include "hook/config/paths.h"
#include "hook/lifecycle/shares.h"

namespace ipuctl {

using namespace base::names;
using hook::ledger::Holding;
using hook::ledger::Share;

std::optional<hook::config::PolicyConfig> find_policy() {
  Result<hook::config::Config> config = hook::config::load_config(hook::config::config_file());
  if (!config.ok()) return std::nullopt;
  return std::move(config).take().policy;
}

std::vector<hook::ledger::Waiter> in_served_order(hook::ledger::Ledger& ledger,
                                                  std::vector<hook::ledger::Waiter> waiters) {
  const std::optional<hook::config::PolicyConfig> policy = find_policy();
  if (waiters.empty() || !policy || policy->tenants.empty()) return waiters;
  std::map<std::string, std::vector<hook::ledger::Waiter>> by_resource;
  for (hook::ledger::Waiter& waiter : waiters)
    by_resource[waiter.resource].push_back(std::move(waiter));
  std::vector<hook::ledger::Waiter> sorted;
  for (const auto& [resource, those] : by_resource) {
    const Result<hook::lifecycle::Standing> standing =
        hook::lifecycle::standing_of(ledger, policy->tenants, those);
    if (!standing.ok()) {
      sorted.insert(sorted.end(), those.begin(), those.end());
      continue;
    }
    for (hook::lifecycle::Ranked& ranked : hook::lifecycle::served_order(those, standing.value()))
      sorted.push_back(std::move(ranked.waiter));
  }
  return sorted;
}

std::string share_text(hook::ledger::Ledger& ledger, const std::string& tenant) {
  const std::optional<hook::config::PolicyConfig> policy = find_policy();
  const std::optional<Share> share =
      policy ? hook::lifecycle::share_of(*policy, tenant) : std::nullopt;
  if (!share) return "";
  Result<std::vector<Holding>> holdings = ledger.tenants().holdings();
  const Result<std::vector<hook::ledger::Waiter>> waiters = ledger.queue().list();
  if (!holdings.ok() || !waiters.ok()) return "";
  const std::vector<Holding> held =
      hook::lifecycle::without_waiting(std::move(holdings).take(), waiters.value());
  return str("; ", use_text(*share, use_of(*share, held, base::unix_millis())));
}

std::string fleet_share_text(const std::vector<hook::config::TenantConfig>& tenants,
                             const std::vector<Holding>& held, const std::string& tenant) {
  const hook::config::TenantConfig* const share = hook::config::find_tenant(tenants, tenant);
  if (share == nullptr) return "";
  const Share own = hook::lifecycle::to_share(*share);
  return str("; in the fleet, ", use_text(own, use_of(own, held, base::unix_millis())));
}

}  // namespace ipuctl
