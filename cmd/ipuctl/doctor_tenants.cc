// SPDX-License-Identifier: Apache-2.0
// doctor: whether the shares of tenants fit the pools, what is overdue, and whether walls stand.
#include <unistd.h>

#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "base/clock.h"
#include "base/names.h"
#include "base/text.h"
#include "cmd/ipuctl/doctor_services.h"
#include "hook/config/wall.h"
#include "hook/fleet/grants.h"
#include "hook/lifecycle/open_fleet.h"
#include "hook/lifecycle/shares.h"
#include "vipu/placement.h"

namespace ipuctl {
namespace {

using namespace base::names;
using doctor::Finding;
using doctor::Verdict;

constexpr std::chrono::milliseconds kSurveyTime{2000};

// Returns how many IPUs all pools have; unset if a controller does not tell.
std::optional<uint64_t> size_of(hook::lifecycle::Env& env, const hook::config::Config& config) {
  uint64_t size = 0;
  for (const hook::config::PoolConfig& pool : config.pools) {
    const Result<vipu::Survey> survey = env.controller(pool)->survey(Deadline::after(kSurveyTime));
    if (!survey.ok()) return std::nullopt;
    const std::vector<uint32_t>& domains = survey.value().domains;
    size += std::accumulate(domains.begin(), domains.end(), uint64_t{0});
  }
  return size;
}

// Returns the tenants of the fleet; none without a fleet, for others than root, or if its store
// does not tell.
std::vector<hook::config::TenantConfig> tenants_of_fleet(hook::lifecycle::Env& env) {
  if (::geteuid() != 0) return {};
  const auto fleet = hook::lifecycle::open_fleet(env);
  if (!fleet.ok() || !fleet.value()) return {};
  Result<hook::fleet::Shares> shares =
      hook::fleet::read_shares(fleet.value()->at(Deadline::after(kSurveyTime)));
  return shares.ok() ? std::move(shares).take().tenants : std::vector<hook::config::TenantConfig>();
}

// Returns which allocations of TENANTS no partition of POOL's controller is in. No call of V-IPU
// lists its allocations, so each of them is unused, or is none.
std::set<std::string> unseen(const std::vector<vipu::Partition>& listed,
                             const std::vector<hook::config::TenantConfig>& tenants) {
  std::set<std::string> names;
  for (const hook::config::TenantConfig& tenant : tenants)
    if (!tenant.allocation.empty()) names.insert(tenant.allocation);
  for (const vipu::Partition& one : listed) names.erase(one.allocation);
  return names;
}

// Returns an IPU-Machine's allocations if partitions of two of them are on it: "a and b".
std::string shared_machine(const std::vector<vipu::Partition>& listed) {
  std::map<std::pair<uint32_t, uint32_t>, std::string> machines;
  for (const vipu::Partition& one : listed) {
    if (one.allocation.empty()) continue;  // the controller does not tell it
    for (const vipu::IpuPlace& place : one.ipus) {
      const auto [at, is_new] =
          machines.try_emplace({place.domain, place.ipu / vipu::kIpusPerMachine}, one.allocation);
      if (!is_new && at->second != one.allocation)
        return str(quote(at->second), " and ", quote(one.allocation));
    }
  }
  return "";
}

// Returns what is wrong with the walls of tenants, as far as it can be seen.
std::optional<Finding> examine_walls(hook::lifecycle::Env& env, const hook::config::Config& config,
                                     const std::vector<hook::config::TenantConfig>& of_fleet) {
  std::vector<hook::config::TenantConfig> tenants = config.policy.tenants;
  tenants.insert(tenants.end(), of_fleet.begin(), of_fleet.end());
  if (!hook::config::has_walls(tenants)) return std::nullopt;
  for (const hook::config::PoolConfig& pool : config.pools) {
    if (pool.provider != hook::config::Provider::kVipu) continue;
    const Status kept = hook::config::check_pool(pool, config.policy.tenants, of_fleet);
    if (!kept.ok())
      return Finding{"tenants", Verdict::kFailed, kept.error().message(),
                     "until then, such starts are refused"};
    const auto listed = env.controller(pool)->list(Deadline::after(kSurveyTime));
    if (!listed.ok()) continue;  // the pool's own check says so
    const std::string shared = shared_machine(listed.value());
    if (!shared.empty()) {
      return Finding{"tenants", Verdict::kWarning,
                     str("pool ", quote(pool.name), ": partitions of allocations ", shared,
                         " are on one IPU-Machine, so these are no wall between tenants"),
                     "give each IPU-Machine to one allocation with vipu-admin"};
    }
    const std::set<std::string> names = unseen(listed.value(), tenants);
    if (names.empty()) continue;
    return Finding{"tenants", Verdict::kWarning,
                   str("pool ", quote(pool.name), ": its controller has no partition in ",
                       base::join(std::vector<std::string>(names.begin(), names.end()), ", "),
                       ", so these allocations of tenants are idle, or do not exist"),
                   "compare them with 'vipu list allocations'"};
  }
  return std::nullopt;
}

// Returns "8 IPUs of a, 4 of b" of what is overdue.
std::string overdue_text(hook::lifecycle::Env& env, const hook::config::PolicyConfig& policy) {
  Result<std::vector<hook::ledger::Holding>> all = env.ledger.tenants().holdings();
  const Result<std::vector<hook::ledger::Waiter>> waiters = env.ledger.queue().list();
  if (!all.ok() || !waiters.ok()) return "";
  const std::vector<hook::ledger::Holding> holdings =
      hook::lifecycle::without_waiting(std::move(all).take(), waiters.value());
  std::string text;
  for (const hook::config::TenantConfig& tenant : policy.tenants) {
    const hook::ledger::Share share =
        hook::lifecycle::share_of(policy, tenant.name).value_or(hook::ledger::Share{});
    const uint32_t overdue = use_of(share, holdings, base::unix_millis()).overdue;
    if (overdue == 0) continue;
    text += str(text.empty() ? "" : ", ", overdue, " IPUs of tenant ", quote(tenant.name));
  }
  return text;
}

}  // namespace

std::optional<Finding> examine_tenants(hook::lifecycle::Env& env,
                                       const hook::config::Config& config) {
  const std::vector<hook::config::TenantConfig>& tenants = config.policy.tenants;
  std::optional<Finding> walls = examine_walls(env, config, tenants_of_fleet(env));
  if (walls || tenants.empty()) return walls;
  uint64_t guaranteed = 0;
  for (const hook::config::TenantConfig& tenant : tenants) guaranteed += tenant.guaranteed;
  const std::optional<uint64_t> size = size_of(env, config);
  if (size && guaranteed > *size) {
    return Finding{
        "tenants", Verdict::kWarning,
        str("tenants have ", guaranteed, " guaranteed IPUs together, but the pools have ", *size),
        "lower 'guaranteed' of [[tenant]] in config.toml until their sum fits"};
  }
  const std::string overdue = overdue_text(env, config.policy);
  if (!overdue.empty()) {
    return Finding{"tenants", Verdict::kWarning,
                   str("borrowed for longer than borrow_time: ", overdue),
                   "see 'ipuctl tenant show', and ask who has them to give them back"};
  }
  return Finding{"tenants", Verdict::kOk,
                 str(tenants.size(), " tenants with ", guaranteed, " guaranteed IPUs",
                     size ? str(" of ", *size) : ""),
                 ""};
}

}  // namespace ipuctl
