// SPDX-License-Identifier: Apache-2.0
// tenant list, tenant show.
#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include "base/clock.h"
#include "base/json.h"
#include "base/names.h"
#include "base/text.h"
#include "cmd/ipuctl/command.h"
#include "cmd/ipuctl/queue_commands.h"
#include "cmd/ipuctl/tenants.h"
#include "hook/config/paths.h"
#include "hook/lifecycle/env.h"
#include "hook/lifecycle/queue_turn.h"
#include "hook/lifecycle/shares.h"

namespace ipuctl {
namespace {

using namespace base::names;
using base::Json;
using hook::ledger::Holding;
using hook::ledger::Share;

struct TenantOptions {
  Output output = Output::kTable;
  std::string name;
};

// What the host knows of its tenants.
struct TenantsNow {
  std::vector<Share> shares;  // of each that is configured, has something, or waits
  std::vector<Holding> holdings;
  std::vector<hook::ledger::Waiter> waiters;
  int64_t now_ms = base::unix_millis();
};

// Returns the policy of the configuration; unset if it cannot be read.
std::optional<hook::config::PolicyConfig> find_policy() {
  Result<hook::config::Config> config = hook::config::load_config(hook::config::config_file());
  if (!config.ok()) return std::nullopt;
  return std::move(config).take().policy;
}

Result<TenantsNow> look(hook::ledger::Ledger& ledger) {
  hook::lifecycle::Env env = hook::lifecycle::product_env(ledger);
  const hook::config::PolicyConfig policy = find_policy().value_or(hook::config::PolicyConfig());
  TenantsNow now;
  now.waiters = TRY(hook::lifecycle::living_waiters(env));
  now.holdings = hook::lifecycle::without_waiting(TRY(ledger.tenants().holdings()), now.waiters);
  std::vector<std::string> names;
  for (const hook::config::TenantConfig& tenant : policy.tenants) names.push_back(tenant.name);
  std::set<std::string> others;
  for (const Holding& holding : now.holdings) others.insert(holding.tenant);
  for (const hook::ledger::Waiter& waiter : now.waiters) others.insert(waiter.tenant);
  for (const std::string& name : names) others.erase(name);
  names.insert(names.end(), others.begin(), others.end());
  for (const std::string& name : names)
    now.shares.push_back(hook::lifecycle::share_of(policy, name).value_or(Share{name}));
  return now;
}

std::vector<hook::ledger::Waiter> waiters_of(const TenantsNow& now, const std::string& tenant) {
  std::vector<hook::ledger::Waiter> own = now.waiters;
  std::erase_if(own, [&](const hook::ledger::Waiter& waiter) { return waiter.tenant != tenant; });
  return own;
}

std::string limit_text(const Share& share) {
  return share.limit == UINT32_MAX ? "-" : str(share.limit);
}

Json to_json(const TenantsNow& now, const Share& share) {
  const hook::ledger::TenantUse use = use_of(share, now.holdings, now.now_ms);
  return {{"tenant", share.tenant},
          {"guaranteed", share.guaranteed},
          {"limit", share.limit == UINT32_MAX ? Json() : Json(share.limit)},
          {"borrow_time",
           share.borrow_time.count() == 0 ? Json() : Json(share.borrow_time.count() / 1000)},
          {"held", use.held},
          {"borrowed", use.borrowed},
          {"overdue", use.overdue},
          {"waiting", waiters_of(now, share.tenant).size()}};
}

Json to_json(const Holding& holding) {
  return {{"pool", holding.pool},
          {"container", holding.container},
          {"reservation", holding.reservation},
          {"ipus", holding.ipus},
          {"since", base::rfc3339(holding.since_ms)},
          {"until", holding.until_ms == 0 ? Json() : Json(base::rfc3339(holding.until_ms))}};
}

Json to_json(const hook::ledger::Waiter& waiter) {
  return {{"resource", waiter.resource},
          {"container", waiter.container},
          {"ipus", waiter.ipus},
          {"since", base::rfc3339(waiter.since_ms)},
          {"until", base::rfc3339(waiter.until_ms)}};
}

std::vector<std::string> row_of(const TenantsNow& now, const Share& share) {
  const hook::ledger::TenantUse use = use_of(share, now.holdings, now.now_ms);
  return {or_dash(share.tenant),
          str(share.guaranteed),
          limit_text(share),
          str(use.held),
          str(use.borrowed),
          str(use.overdue),
          str(waiters_of(now, share.tenant).size())};
}

Rows heading() {
  return {{"TENANT", "GUARANTEED", "LIMIT", "HELD", "BORROWED", "OVERDUE", "WAITING"}};
}

Result<Outcome> run_list(const TenantOptions& options) {
  hook::ledger::Ledger ledger = TRY(read_ledger());
  const TenantsNow now = TRY(look(ledger));
  Json list = Json::array();
  Rows rows = heading();
  for (const Share& share : now.shares) {
    list.push_back(to_json(now, share));
    rows.push_back(row_of(now, share));
  }
  return Outcome{options.output == Output::kJson ? base::to_pretty_text(list) : table(rows)};
}

std::string holdings_text(const TenantsNow& now, const Share& share) {
  std::string text;
  for (const Holding& holding : now.holdings) {
    if (holding.tenant != share.tenant) continue;
    const std::string who = holding.reservation.empty()
                                ? str("container ", base::short_id(holding.container))
                                : str("reservation ", holding.reservation);
    const std::string end =
        holding.until_ms == 0 ? "" : str(", until ", base::rfc3339(holding.until_ms));
    text += str(who, ": ", holding.ipus, " IPUs of ", holding.pool, " for ", age(holding.since_ms),
                end, "\n");
  }
  for (const hook::ledger::Waiter& waiter : waiters_of(now, share.tenant)) {
    const std::string ipus = waiter.ipus == 0 ? "" : str(waiter.ipus, " IPUs of ");
    text += str(hook::lifecycle::requester_text(waiter.container), ": waits for ", ipus,
                waiter.resource, ", for ", age(waiter.since_ms), "\n");
  }
  return text;
}

Result<Outcome> run_show(const TenantOptions& options) {
  hook::ledger::Ledger ledger = TRY(read_ledger());
  const TenantsNow now = TRY(look(ledger));
  const auto share = std::find_if(now.shares.begin(), now.shares.end(),
                                  [&](const Share& one) { return one.tenant == options.name; });
  if (share == now.shares.end()) {
    return Error(Code::kNotFound, str("there is no tenant ", quote(options.name),
                                      " in config.toml, and none has IPUs or waits; see 'ipuctl"
                                      " tenant list'"));
  }
  if (options.output == Output::kTable) {
    Rows rows = heading();
    rows.push_back(row_of(now, *share));
    return Outcome{table(rows) + holdings_text(now, *share)};
  }
  Json json = to_json(now, *share);
  json["holdings"] = Json::array();
  for (const Holding& holding : now.holdings) {
    if (holding.tenant == share->tenant) json["holdings"].push_back(to_json(holding));
  }
  json["waiters"] = Json::array();
  for (const hook::ledger::Waiter& waiter : waiters_of(now, share->tenant))
    json["waiters"].push_back(to_json(waiter));
  return Outcome{base::to_pretty_text(json)};
}

}  // namespace

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

void add_tenant_commands(CLI::App& app, Command& chosen) {
  CLI::App& group = add_group(
      app, {"tenant", "The tenants of this host, and what they have", "ipuctl tenant list"});
  const auto options = std::make_shared<TenantOptions>();
  add_command(group,
              {"list", "List the tenants: their shares, what they have, and who waits",
               "ipuctl tenant list --output json"},
              chosen, [options] { return run_list(*options); })
      .output(options->output);
  Options show = add_command(group,
                             {"show", "Show what one tenant has, and which of its requests wait",
                              "ipuctl tenant show vision"},
                             chosen, [options] { return run_show(*options); });
  show.argument("TENANT", options->name, "The tenant, as 'ipuctl tenant list' has it");
  show.output(options->output);
}

}  // namespace ipuctl
