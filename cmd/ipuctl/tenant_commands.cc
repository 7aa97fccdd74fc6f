// SPDX-License-Identifier: Apache-2.0
// tenant list, tenant show.
#include <memory>

#include "base/json.h"
#include "base/names.h"
#include "cmd/ipuctl/command.h"
#include "cmd/ipuctl/list_text.h"
#include "cmd/ipuctl/tenant_view.h"

namespace ipuctl {
namespace {

using namespace base::names;
using base::Json;
using hook::ledger::Share;
using hook::lifecycle::OpenFleet;

struct TenantOptions {
  Output output = Output::kTable;
  std::string name;
};

// What this host and its fleet know of the tenants.
struct TenantsNow {
  TenantScope host;
  bool in_fleet = false;             // this host is in a fleet, whether or not it answers
  std::optional<TenantScope> fleet;  // absent: there is none, or it does not answer
};

Result<std::optional<TenantScope>> find_fleet(const hook::lifecycle::Env& env, TenantsNow& now,
                                              std::vector<Error>& obstacles) {
  now.in_fleet = true;
  const std::optional<OpenFleet> fleet = TRY(hook::lifecycle::open_fleet(env));
  now.in_fleet = fleet.has_value();
  if (!fleet) return std::optional<TenantScope>();
  return std::optional(TRY(look_at_fleet(*fleet, obstacles)));
}

// What the fleet does not tell is an obstacle: the host's part is there without it.
Result<TenantsNow> look(std::vector<Error>& obstacles) {
  hook::ledger::Ledger ledger = TRY(read_ledger());
  hook::lifecycle::Env env = hook::lifecycle::product_env(ledger);
  TenantsNow now;
  now.host = TRY(look_at_host(env));
  Result<std::optional<TenantScope>> fleet = find_fleet(env, now, obstacles);
  if (!fleet.ok()) obstacles.push_back(fleet.error());
  if (fleet.ok()) now.fleet = std::move(fleet).take();
  return now;
}

Result<Outcome> run_list(const TenantOptions& options) {
  Outcome outcome;
  const TenantsNow now = TRY(look(outcome.obstacles));
  Json list = Json::array();
  Rows rows = {tenant_heading(now.in_fleet)};
  const auto add = [&](const TenantScope& scope) {
    for (const Share& share : scope.shares) {
      list.push_back(tenant_json(scope, share));
      rows.push_back(tenant_row(scope, share, now.in_fleet));
    }
  };
  add(now.host);
  if (now.fleet) add(*now.fleet);
  outcome.text = list_text(list, rows, options.output);
  return outcome;
}

// A tenant that only one of the two knows has no share in the other.
std::string shown_text(const TenantsNow& now, const Share* in_host, const Share* in_fleet) {
  Rows rows = {tenant_heading(now.in_fleet)};
  if (in_host != nullptr) rows.push_back(tenant_row(now.host, *in_host, now.in_fleet));
  if (in_fleet != nullptr) rows.push_back(tenant_row(*now.fleet, *in_fleet, now.in_fleet));
  std::string text = table(rows);
  const std::string here = in_host == nullptr ? "" : holdings_text(now.host, in_host->tenant);
  const std::string there = in_fleet == nullptr ? "" : holdings_text(*now.fleet, in_fleet->tenant);
  if (!now.in_fleet) return text + here;
  if (!here.empty()) text += "\non this host:\n" + here;
  if (!there.empty()) text += "\nin the fleet:\n" + there;
  return text;
}

Result<Outcome> run_show(const TenantOptions& options) {
  Outcome outcome;
  const TenantsNow now = TRY(look(outcome.obstacles));
  const Share* const in_host = now.host.find(options.name);
  const Share* const in_fleet = now.fleet ? now.fleet->find(options.name) : nullptr;
  if (in_host == nullptr && in_fleet == nullptr) {
    if (!outcome.obstacles.empty()) return outcome;
    return Error(Code::kNotFound, str("there is no tenant ", quote(options.name), " in config.toml",
                                      now.in_fleet ? " or in the fleet" : "",
                                      ", and none has IPUs or waits; see 'ipuctl tenant list'"));
  }
  if (options.output == Output::kTable) {
    outcome.text = shown_text(now, in_host, in_fleet);
    return outcome;
  }
  const Share none{options.name};
  Json json = tenant_json_in_full(now.host, in_host == nullptr ? none : *in_host);
  if (now.fleet)
    json["fleet"] = tenant_json_in_full(*now.fleet, in_fleet == nullptr ? none : *in_fleet);
  outcome.text = base::to_pretty_text(json);
  return outcome;
}

}  // namespace

void add_tenant_commands(CLI::App& app, Command& chosen) {
  CLI::App& group =
      add_group(app, {"tenant", "The tenants of this host and its fleet", "ipuctl tenant list"});
  const auto options = std::make_shared<TenantOptions>();
  add_command(group,
              {"list", "List the tenants: their shares, what they have, and who waits",
               "ipuctl tenant list --output json"},
              chosen, [options] { return run_list(*options); })
      .list_output(options->output);
  Options show = add_command(group,
                             {"show", "Show what one tenant has, and which of its requests wait",
                              "ipuctl tenant show vision"},
                             chosen, [options] { return run_show(*options); });
  show.argument("TENANT", options->name, "The tenant, as 'ipuctl tenant list' has it");
  show.output(options->output);
  add_tenant_changes(group, chosen);
}

}  // namespace ipuctl
