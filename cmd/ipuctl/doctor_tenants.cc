// SPDX-License-Identifier: Apache-2.0
// doctor: whether the shares of tenants fit the pools, and what is overdue.
#include <numeric>

#include "base/clock.h"
#include "base/names.h"
#include "base/text.h"
#include "cmd/ipuctl/doctor_services.h"
#include "hook/lifecycle/shares.h"

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
  if (tenants.empty()) return std::nullopt;
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
