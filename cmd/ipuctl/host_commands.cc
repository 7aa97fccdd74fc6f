// SPDX-License-Identifier: Apache-2.0
// The group `host`: the hosts that share the controllers, and those that are dead.
#include <map>
#include <memory>

#include "base/clock.h"
#include "base/json.h"
#include "base/names.h"
#include "base/text.h"
#include "cmd/ipuctl/command.h"
#include "cmd/ipuctl/fleet.h"
#include "cmd/ipuctl/list_text.h"
#include "hook/config/paths.h"
#include "hook/lifecycle/env.h"
#include "hook/lifecycle/partitions/fleet_claims.h"
#include "hook/lifecycle/partitions/hosts.h"
#include "hook/lifecycle/partitions/joining.h"

namespace ipuctl {
namespace {

using namespace base::names;
using hook::lifecycle::partitions::Fenced;
using hook::lifecycle::partitions::MadePartition;
using hook::lifecycle::partitions::Unreached;

constexpr std::chrono::milliseconds kListTime{10'000};
constexpr std::chrono::milliseconds kFleetListTime{8'000};
constexpr std::chrono::milliseconds kFenceTime{120'000};

// What is known of one host.
struct HostLine {
  std::string state;  // "this host", "fenced since TIME", or empty
  size_t partitions = 0;
  size_t ipus = 0;
  std::string fleet;  // "LIVE", "SUSPECT", "FENCED", or empty
};

// Names of a release before 0.1 do not say whose they are.
constexpr const char* kUnknown = "unknown";

struct HostOptions {
  Output output = Output::kTable;
  std::string host;
  bool dry_run = false;
  bool alive = false;
  bool incomplete = false;  // a fence leaves what this host cannot reach
};

// Adds what the fleet says of its hosts, if this host is in one.
Status add_fleet(const hook::config::Config& config, const std::vector<hook::ledger::Fence>& fences,
                 std::map<std::string, HostLine>& hosts, std::vector<Error>& obstacles) {
  if (!config.fleet) return {};
  const std::unique_ptr<hook::fleet::Store> store = open_store(*config.fleet);
  const std::vector<hook::fleet::HostState> known = TRY(hook::fleet::list_hosts(
      *store, config.fleet->prefix, Deadline::after(kFleetListTime), obstacles));
  for (const hook::fleet::HostState& one : known) {
    hosts[one.host.tag].fleet = state_of(one, fences);
  }
  return {};
}

// What the list of hosts is about.
struct Whole {
  bool in_fleet = false;    // this host is in a fleet
  bool is_complete = true;  // each controller answered
};

std::string text_of(const std::map<std::string, HostLine>& hosts, Whole whole, Output output) {
  const bool is_table = output == Output::kTable || output == Output::kWide;
  if (!is_table) {
    base::Json list = base::Json::array();
    for (const auto& [host, line] : hosts) {
      base::Json one = {{"host", host},
                        {"state", line.state},
                        {"partitions", line.partitions},
                        {"ipus", line.ipus},
                        {"complete", whole.is_complete}};
      if (whole.in_fleet) one["fleet"] = line.fleet;
      list.push_back(std::move(one));
    }
    return list_text(list, {}, output);
  }
  const char* const more = whole.is_complete ? "" : "+?";
  Rows rows = {{"HOST", "PARTITIONS", "IPUS", "STATE"}};
  if (whole.in_fleet) rows[0].insert(rows[0].end() - 1, "FLEET");
  for (const auto& [host, line] : hosts) {
    rows.push_back({host, str(line.partitions, more), str(line.ipus, more), line.state});
    if (whole.in_fleet) rows.back().insert(rows.back().end() - 1, line.fleet);
  }
  return table(rows);
}

Result<Outcome> run_list(const HostOptions& options) {
  const hook::config::Config config = TRY(hook::config::load_config(hook::config::config_file()));
  hook::ledger::Ledger ledger = TRY(open_ledger());
  hook::lifecycle::Env env = hook::lifecycle::product_env(ledger);
  Outcome outcome;
  std::map<std::string, HostLine> hosts;
  const std::vector<hook::ledger::Fence> fences = TRY(ledger.fences().all());
  for (const hook::ledger::Fence& fence : fences)
    hosts[fence.host].state = str("fenced at ", base::rfc3339(fence.since_ms));
  TRY(ledger.host().check());
  hosts[ledger.host().tag()].state = "this host";
  for (const MadePartition& one : hook::lifecycle::partitions::made_partitions(
           env, config.pools, Deadline::after(kListTime), outcome.obstacles)) {
    HostLine& line = hosts[one.made.host.empty() ? kUnknown : one.made.host];
    ++line.partitions;
    line.ipus += one.partition.ipus.size();
  }
  const Whole whole{config.fleet.has_value(), outcome.obstacles.empty()};
  const Status asked = add_fleet(config, fences, hosts, outcome.obstacles);
  if (!asked.ok()) outcome.obstacles.push_back(asked.error());
  outcome.text = text_of(hosts, whole, options.output);
  return outcome;
}

// Fails if HOST, which has nothing at the controllers, is not known at all: its digits may be
// mistyped. Without etcd nobody knows whether the fleet has it.
Status check_known(const hook::lifecycle::Env& env, const std::string& host) {
  for (const hook::ledger::Fence& fence : TRY(env.ledger.fences().all()))
    if (fence.host == host) return {};
  const auto fleet = TRY(hook::lifecycle::open_fleet(env));
  if (fleet) {
    const Result<bool> known = hook::fleet::knows_host(*fleet->store, fleet->config.prefix, host,
                                                       Deadline::after(kFleetListTime));
    if (!known.ok() || known.value()) return {};
  }
  return Error(Code::kNotFound, str("no partition at the controllers is of host ", quote(host),
                                    ", so nothing was changed; see 'ipuctl host list'"));
}

// Fails if the fleet hears of HOST, or cannot be asked.
Status check_dead(const hook::config::Config& config, const std::string& host) {
  if (!config.fleet) return {};
  const std::unique_ptr<hook::fleet::Store> store = open_store(*config.fleet);
  const Result<bool> alive =
      hook::fleet::is_alive(*store, config.fleet->prefix, host, Deadline::after(kFleetListTime));
  if (!alive.ok()) return alive.error();
  if (!alive.value()) return {};
  return Error(Code::kBusy, str("host ", host,
                                " is alive in the fleet, so nothing was changed; shut it down"
                                " first, or give --alive if it is cut off from all but etcd"));
}

// Returns a line for each claim of HOST at the fleet.
std::vector<std::string> claims_of(const hook::lifecycle::Env& env, const std::string& host,
                                   std::vector<Error>& obstacles) {
  const auto fleet = hook::lifecycle::open_fleet(env);
  if (!fleet.ok()) obstacles.push_back(fleet.error());
  if (!fleet.ok() || !fleet.value()) return {};
  const auto claims =
      hook::fleet::list_claims(fleet.value()->at(Deadline::after(kFleetListTime)), obstacles);
  if (!claims.ok()) obstacles.push_back(claims.error());
  std::vector<std::string> lines;
  for (const auto& one : claims.ok() ? claims.value() : std::vector<hook::fleet::PartitionClaim>())
    if (one.claim.host == host)
      lines.push_back(str("the claim of partition ", one.partition.name, " of pool ",
                          one.partition.pool, " by ", hook::fleet::holder_text(one.claim)));
  return lines;
}

Result<Outcome> run_fence(const HostOptions& options) {
  if (options.host == kUnknown) {
    return Error(Code::kInvalid,
                 "names of a release before 0.1 do not say whose partitions they are, so no host is"
                 " fenced for them; remove each with 'vipu remove partition' if nobody uses it");
  }
  const hook::config::Config config = TRY(hook::config::load_config(hook::config::config_file()));
  hook::ledger::Ledger ledger = TRY(open_ledger());
  hook::lifecycle::Env env = hook::lifecycle::product_env(ledger);
  const Deadline deadline = Deadline::after(kFenceTime);
  Outcome outcome;
  if (!options.alive) TRY(check_dead(config, options.host));
  const Fenced fenced = TRY(hook::lifecycle::partitions::find_fenced(
      env, config.pools, options.host, deadline, outcome.obstacles));
  if (fenced.partitions.empty() && outcome.obstacles.empty()) TRY(check_known(env, options.host));
  const std::vector<std::string> claims = claims_of(env, options.host, outcome.obstacles);
  if (options.dry_run) {
    for (const std::string& claim : claims) outcome.text += str("would remove ", claim, "\n");
    for (const MadePartition& one : fenced.partitions) {
      const bool is_own = TRY(ledger.partitions().knows(one.partition.id));
      outcome.text += str(is_own ? "would leave" : "would remove", " partition ", one.partition.id,
                          " of pool ", one.pool, " with ", one.partition.ipus.size(), " IPUs",
                          is_own ? ", which this host's own ledger has\n" : "\n");
    }
    return outcome;
  }
  outcome.obstacles.clear();  // the fence asks again
  using hook::fleet::IfAlive;
  const IfAlive if_alive = options.alive ? IfAlive::kFence : IfAlive::kRefuse;
  const std::vector<std::string> removed = TRY(hook::lifecycle::partitions::fence_host(
      env, config.pools, options.host, if_alive, deadline, outcome.obstacles,
      options.incomplete ? Unreached::kLeave : Unreached::kObstacle));
  for (const std::string& name : removed) outcome.text += str("removed partition ", name, "\n");
  if (!outcome.obstacles.empty()) return outcome;
  for (const std::string& claim : claims) outcome.text += str("removed ", claim, "\n");
  outcome.text += str("host ", options.host, " is fenced; partitions that operators named stay\n");
  return outcome;
}

// Checks that HOST has no partitions any more. A controller that does not answer is an obstacle.
Status check_nothing_is_left(hook::lifecycle::Env& env, const hook::config::Config& config,
                             const std::string& host,
                             const std::optional<hook::lifecycle::OpenFleet>& fleet,
                             const Deadline& deadline, std::vector<base::Error>& obstacles) {
  for (const MadePartition& one : hook::lifecycle::partitions::made_partitions(
           env, config.pools, Deadline::after(kListTime), obstacles)) {
    if (one.made.host == host)
      return Error(Code::kBusy,
                   str("host ", host, " still has partition ", one.partition.id,
                       "; if the host is dead, run 'ipuctl host fence ", host,
                       "' first; if it lives, and the fence came back with an older etcd, run"
                       " 'ipuctl host forget --alive ",
                       host, "'"));
  }
  if (!obstacles.empty() || !fleet) return {};
  const auto fence =
      TRY(hook::fleet::find_fence(*fleet->store, fleet->config.prefix, host, deadline));
  if (fence && fence->is_finished) return {};
  return hook::lifecycle::partitions::check_controllers(env, config.pools, host, deadline,
                                                        obstacles);
}

Result<Outcome> run_forget(const HostOptions& options) {
  const hook::config::Config config = TRY(hook::config::load_config(hook::config::config_file()));
  hook::ledger::Ledger ledger = TRY(open_ledger());
  hook::lifecycle::Env env = hook::lifecycle::product_env(ledger);
  Outcome outcome;
  if (TRY(hook::lifecycle::partitions::forget_left(env, config.pools, options.host,
                                                   Deadline::after(kListTime))))
    return Outcome{str("what host ", options.host, " left with is forgotten\n")};
  const auto fleet = TRY(hook::lifecycle::open_fleet(env));
  const Deadline deadline = Deadline::after(kFleetListTime);
  // A host that lives keeps its own partitions, whatever a controller says or does not say.
  if (!options.alive)
    TRY(check_nothing_is_left(env, config, options.host, fleet, deadline, outcome.obstacles));
  if (!outcome.obstacles.empty()) return outcome;
  bool was_fenced = TRY(ledger.fences().remove(options.host));
  if (fleet) {
    was_fenced = TRY(hook::fleet::forget_fence(fleet->at(deadline), options.host)) || was_fenced;
    if (was_fenced)
      TRY(hook::fleet::forget_host(*fleet->store, fleet->config.prefix, options.host, deadline));
  }
  if (!was_fenced)
    return Error(Code::kNotFound,
                 str("host ", quote(options.host), " is not fenced; see 'ipuctl host list'"));
  outcome.text = str("host ", options.host, " is forgotten\n");
  return outcome;
}

}  // namespace

void add_host_commands(CLI::App& app, Command& chosen) {
  CLI::App& group =
      add_group(app, {"host", "The hosts that share the controllers", "ipuctl host list"});
  const auto options = std::make_shared<HostOptions>();
  add_command(group,
              {"list", "List the hosts that have partitions, by the 8 digits in the names",
               "ipuctl host list --output json"},
              chosen, [options] { return run_list(*options); })
      .list_output(options->output);
  Options fence =
      add_command(group,
                  {"fence", "Declare a host dead, and remove the partitions that it has",
                   "ipuctl host fence 1f2e3d4c --dry-run"},
                  chosen, [options] { return run_fence(*options); });
  fence.argument("HOST", options->host, "The host, as 'ipuctl host list' has it");
  fence.flag("--alive", options->alive, "Also if the fleet hears of the host");
  fence.flag("--incomplete", options->incomplete,
             "Also if the host may have partitions of pools that this host does not have");
  fence.flag("--dry-run", options->dry_run, "Print what would be removed; change nothing");
  Options forget =
      add_command(group,
                  {"forget", "Forget a fence, or the partitions with which a host left the fleet",
                   "ipuctl host forget 1f2e3d4c"},
                  chosen, [options] { return run_forget(*options); });
  forget.argument("HOST", options->host, "The host, as 'ipuctl host list' has it");
  forget.flag("--alive", options->alive, "Also if the host has partitions, because it lives");
}

}  // namespace ipuctl
