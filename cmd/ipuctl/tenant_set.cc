// SPDX-License-Identifier: Apache-2.0
// tenant set, tenant remove: the shares of tenants in the fleet's store.
#include <functional>
#include <memory>
#include <optional>
#include <type_traits>

#include "base/names.h"
#include "cmd/ipuctl/command.h"
#include "hook/config/paths.h"
#include "hook/config/tenant_fault.h"
#include "hook/config/wall.h"
#include "hook/fleet/grants.h"
#include "hook/fleet/hosts.h"
#include "hook/lifecycle/env.h"
#include "hook/lifecycle/open_fleet.h"

namespace ipuctl {
namespace {

using namespace base::names;
using hook::config::TenantConfig;
using hook::lifecycle::OpenFleet;
using std::chrono::milliseconds;

constexpr int kMostTries = 10;  // each fails only if somebody else has changed the same share

struct SetOptions {
  std::string name;
  std::vector<std::function<void(TenantConfig&)>> changes;  // what was given
};

std::string number_text(uint32_t number) { return number == UINT32_MAX ? "none" : str(number); }

std::string share_words(const TenantConfig& share) {
  const milliseconds borrow = share.borrow_time;
  return str("guaranteed ", share.guaranteed, ", limit ", number_text(share.limit),
             ", borrow-time ", borrow.count() == 0 ? "none" : base::format_duration(borrow),
             ", max-wait ", share.max_wait ? base::format_duration(*share.max_wait) : "none",
             ", max-waiters ", number_text(share.max_waiters), ", may-reserve ",
             share.may_reserve ? "yes" : "no", ", allocation ",
             share.allocation.empty() ? "none" : share.allocation);
}

Result<OpenFleet> open_own_fleet(const hook::lifecycle::Env& env) {
  std::optional<OpenFleet> fleet = TRY(hook::lifecycle::open_fleet(env));
  if (fleet) return *std::move(fleet);
  return Error(Code::kInvalid, str(hook::config::config_file(),
                                   ": this host is in no fleet, so its tenants are the tables"
                                   " [[tenant]] of this file; change them there"));
}

Status check_share(const TenantConfig& share) {
  const auto fault = hook::config::find_fault(share);
  if (!fault) return {};
  const std::string what = fault->key == "name" ? "TENANT" : str("--", fault->key);
  return Error(Code::kInvalid, str("tenant set ", quote(share.name), ": ", what, " must be ",
                                   fault->accepted, "; nothing was changed"));
}

// Returns the share as it is now.
Result<TenantConfig> change_share(const OpenFleet& fleet, const SetOptions& options) {
  for (int i = 0; i < kMostTries; ++i) {
    auto [share, revision] = TRY(hook::fleet::find_tenant(fleet.at_last(), options.name));
    for (const auto& change : options.changes) change(share);
    TRY(check_share(share));
    if (TRY(hook::fleet::set_tenant(fleet.at_last(), share, revision))) return share;
  }
  return Error(Code::kBusy, str("tenant set ", quote(options.name),
                                ": others change its share all the time; try again"));
}

// Returns a line for each pool of this host in which starts of a tenant are refused now, because
// they could get IPUs of another one's allocation.
std::string wall_faults(const std::vector<TenantConfig>& tenants) {
  const auto config = hook::config::load_config(hook::config::config_file());
  if (!config.ok()) return "";
  std::string text;
  for (const hook::config::PoolConfig& pool : config.value().pools) {
    const Status kept = hook::config::check_pool(pool, config.value().policy.tenants, tenants);
    if (!kept.ok()) text += str("on this host, starts are refused: ", kept.error().message(), "\n");
  }
  return text;
}

Result<Outcome> run_set(const SetOptions& options) {
  TRY(check_share({options.name}));
  hook::ledger::Ledger ledger = TRY(open_ledger());
  const hook::lifecycle::Env env = hook::lifecycle::product_env(ledger);
  const OpenFleet fleet = TRY(open_own_fleet(env));
  const TenantConfig share = TRY(change_share(fleet, options));
  const std::string line =
      str("the share of tenant ", quote(share.name), " in the fleet: ", share_words(share));
  Outcome outcome{line + "\n"};
  const Status recorded = ledger.events().record(str("tenant set: ", line));
  if (!recorded.ok()) outcome.obstacles.push_back(recorded.error());
  const hook::fleet::Shares shares = TRY(hook::fleet::read_shares(fleet.at_last()));
  outcome.text += wall_faults(shares.tenants);
  if (shares.tenants.size() == 1)
    outcome.text +=
        "the fleet has no other tenant: a start of another one, or of none, is refused\n";
  return outcome;
}

Result<Outcome> run_remove(const std::string& name) {
  hook::ledger::Ledger ledger = TRY(open_ledger());
  const hook::lifecycle::Env env = hook::lifecycle::product_env(ledger);
  const OpenFleet fleet = TRY(open_own_fleet(env));
  TRY(hook::fleet::read_fleet_id(*fleet.store, fleet.config.prefix, fleet.at_last().deadline));
  if (!TRY(hook::fleet::remove_tenant(fleet.at_last(), name))) {
    return Error(Code::kNotFound,
                 str("the fleet has no tenant ", quote(name), "; see 'ipuctl tenant list'"));
  }
  Outcome outcome{str("tenant ", quote(name), " has no share in the fleet; what it has stays\n")};
  const Status recorded =
      ledger.events().record(str("tenant remove: ", quote(name), " has no share in the fleet"));
  if (!recorded.ok()) outcome.obstacles.push_back(recorded.error());
  const hook::fleet::Shares left = TRY(hook::fleet::read_shares(fleet.at_last()));
  outcome.text += left.tenants.empty()
                      ? "the fleet has no tenants now: any start may have all IPUs\n"
                      : str("its starts are refused: the tenants of the fleet are ",
                            hook::config::names_of(left.tenants), "\n");
  return outcome;
}

Result<uint32_t> parse_number(const std::string& text) {
  return base::parse_int<uint32_t>(text, 0, hook::config::kMostTenantNumber);
}

Result<std::optional<milliseconds>> parse_wait(const std::string& text) {
  return std::optional(TRY(base::parse_duration(text, hook::config::kLongestTenantWait)));
}

Result<milliseconds> parse_borrow_time(const std::string& text) {
  return base::parse_duration(text, hook::config::kLongestBorrowTime);
}

Result<std::string> parse_allocation(const std::string& text) {
  if (!text.empty()) return text;
  return Error(Code::kInvalid, "give the name of a V-IPU allocation");
}

Result<bool> parse_yes(const std::string& text) {
  if (text == "yes" || text == "no") return text == "yes";
  return Error(Code::kInvalid, str(quote(text), " is neither 'yes' nor 'no'"));
}

// Declares an option that changes MEMBER: to what PARSE returns, or to NONE if that is set and the
// word is "none".
template <typename Value, typename Parse>
void add_change(Options& declared, const std::shared_ptr<SetOptions>& options, const Option& option,
                Value TenantConfig::*member, Parse parse,
                std::optional<std::type_identity_t<Value>> none = std::nullopt) {
  declared.parsed(option, [options, member, parse, none](const std::string& text) -> Status {
    Result<Value> parsed = none && text == "none" ? Result<Value>(*none) : parse(text);
    if (!parsed.ok() && none)
      return Error(Code::kInvalid, parsed.error().message() + "; 'none' is accepted, too");
    const Value value = TRY(std::move(parsed));
    options->changes.push_back([member, value](TenantConfig& share) { share.*member = value; });
    return {};
  });
}

void declare(Options& declared, const std::shared_ptr<SetOptions>& options) {
  declared.argument("TENANT", options->name, "The tenant: 1 to 63 of A-Z, a-z, 0-9, '.', '-', '_'");
  add_change(declared, options,
             {"--guaranteed", "N", "IPUs for which it is served before those who borrow"},
             &TenantConfig::guaranteed, parse_number);
  add_change(declared, options, {"--limit", "N|none", "The most IPUs that it has in the fleet"},
             &TenantConfig::limit, parse_number, UINT32_MAX);
  add_change(declared, options,
             {"--borrow-time", "TIME|none",
              "How long it may borrow IPUs; unit ms, s, m, h or d, at most 365d"},
             &TenantConfig::borrow_time, parse_borrow_time, milliseconds(0));
  add_change(declared, options,
             {"--max-wait", "TIME|none",
              "The longest wait of its requests; unit ms, s, m, h or d, at most 24h"},
             &TenantConfig::max_wait, parse_wait,
             std::make_optional(std::optional<milliseconds>()));
  add_change(declared, options,
             {"--max-waiters", "N|none", "How many of its requests wait in the fleet at a time"},
             &TenantConfig::max_waiters, parse_number, UINT32_MAX);
  add_change(declared, options,
             {"--may-reserve", "yes|no", "Whether 'ipuctl reserve' works for it"},
             &TenantConfig::may_reserve, parse_yes);
  add_change(declared, options,
             {"--allocation", "NAME|none", "The V-IPU allocation that has all of its partitions"},
             &TenantConfig::allocation, parse_allocation, std::string());
}

}  // namespace

void add_tenant_changes(CLI::App& group, Command& chosen) {
  const auto options = std::make_shared<SetOptions>();
  Options set =
      add_command(group,
                  {"set", "Set what a tenant may have in the fleet; what is not given stays",
                   "ipuctl tenant set vision --guaranteed 32 --limit 48"},
                  chosen, [options] { return run_set(*options); });
  declare(set, options);
  const auto name = std::make_shared<std::string>();
  add_command(group,
              {"remove", "Remove a tenant from the fleet; what it has stays",
               "ipuctl tenant remove vision"},
              chosen, [name] { return run_remove(*name); })
      .argument("TENANT", *name, "The tenant, as 'ipuctl tenant list' has it");
}

}  // namespace ipuctl
