// SPDX-License-Identifier: Apache-2.0
// The group `fleet`: the etcd that hosts share, and how the hosts are.
#include <algorithm>
#include <memory>

#include "base/clock.h"
#include "base/json.h"
#include "base/names.h"
#include "cmd/ipuctl/command.h"
#include "cmd/ipuctl/fleet.h"
#include "hook/config/paths.h"
#include "hook/fleet/restored.h"
#include "hook/lifecycle/client_user.h"
#include "hook/lifecycle/env.h"
#include "hook/lifecycle/partitions/fleet_claims.h"

namespace ipuctl {
namespace {

using namespace base::names;
using hook::config::FleetConfig;
using hook::fleet::HostFacts;
using hook::fleet::HostState;
using hook::fleet::Member;
using hook::fleet::Store;

constexpr std::chrono::milliseconds kFleetTime{8'000};
constexpr std::chrono::milliseconds kAliveMs = hook::fleet::kAliveTime;

struct FleetView {
  std::string id;  // empty: not known
  std::vector<Member> members;
  std::vector<HostState> hosts;
  std::vector<hook::ledger::Fence> fences;
  std::vector<std::string> half_fenced;       // tags of hosts whose fences are not finished
  std::vector<std::string> untold;            // tags of hosts that have not told since an import
  std::vector<std::string> witness_troubles;  // lines
};

// Returns since when HOST is as it is. A suspect host was alive until its key ended.
int64_t since_of(const HostState& host, const std::vector<hook::ledger::Fence>& fences) {
  for (const hook::ledger::Fence& fence : fences) {
    if (fence.host == host.host.tag) return fence.since_ms;
  }
  return host.is_alive ? host.since_ms : host.seen_ms + kAliveMs.count();
}

std::string members_table(const FleetView& view) {
  Rows rows = {{"ETCD", "VERSION", "ROLE", "STATE"}};
  for (const Member& one : view.members) {
    const char* const role = one.version.empty() ? "" : one.leads ? "leader" : "follower";
    rows.push_back({one.address, one.version, role, one.trouble.empty() ? "ok" : one.trouble});
  }
  return table(rows);
}

std::string status_text(const FleetView& view, const std::string& prefix) {
  Rows rows = {{"HOST", "NAME", "STATE", "SINCE", "VERSION"}};
  for (const HostState& one : view.hosts) {
    rows.push_back({one.host.tag, one.host.name, state_of(one, view.fences),
                    base::rfc3339(since_of(one, view.fences)), one.host.version});
  }
  std::string text = str("fleet ", or_dash(view.id), " below ", prefix, "\n\n", members_table(view),
                         '\n', table(rows));
  for (const std::string& line : view.witness_troubles) text += str("\n", line, "\n");
  return text;
}

std::string status_json(const FleetView& view, const std::string& prefix) {
  base::Json members = base::Json::array();
  for (const Member& one : view.members) {
    members.push_back({{"address", one.address},
                       {"version", one.version},
                       {"leader", one.leads},
                       {"trouble", one.trouble}});
  }
  base::Json hosts = base::Json::array();
  for (const HostState& one : view.hosts) {
    hosts.push_back({{"host", one.host.tag},
                     {"name", one.host.name},
                     {"state", state_of(one, view.fences)},
                     {"since", base::rfc3339(since_of(one, view.fences))},
                     {"seen", base::rfc3339(one.seen_ms)},
                     {"version", one.host.version},
                     {"boot", one.host.boot}});
  }
  return base::to_pretty_text(base::Json{{"fleet", view.id},
                                         {"prefix", prefix},
                                         {"members", std::move(members)},
                                         {"hosts", std::move(hosts)},
                                         {"witness_troubles", view.witness_troubles}});
}

// Reads all that can be read; what cannot is an obstacle.
FleetView read_view(const FleetConfig& fleet, std::vector<Error>& obstacles) {
  const std::unique_ptr<Store> store = open_store(fleet);
  const Deadline deadline = Deadline::after(kFleetTime);
  FleetView view;
  Result<std::vector<Member>> members = store->members(deadline.capped(kFleetTime / 2));
  if (!members.ok()) obstacles.push_back(members.error());
  if (members.ok()) view.members = std::move(members).take();
  Result<std::string> id = hook::fleet::read_fleet_id(*store, fleet.prefix, deadline);
  if (!id.ok()) {
    obstacles.push_back(id.error());
    return view;
  }
  view.id = id.value();
  Result<std::vector<HostState>> hosts =
      hook::fleet::list_hosts(*store, fleet.prefix, deadline, obstacles);
  if (!hosts.ok()) obstacles.push_back(hosts.error());
  if (hosts.ok()) view.hosts = std::move(hosts).take();
  const auto fences = hook::fleet::list_fences(*store, fleet.prefix, deadline);
  if (!fences.ok()) obstacles.push_back(fences.error());
  for (const auto& one : fences.ok() ? fences.value() : std::vector<hook::fleet::FenceFacts>())
    if (!one.is_finished) view.half_fenced.push_back(one.host);
  Result<std::vector<std::string>> untold =
      hook::fleet::untold_hosts({*store, fleet.prefix, deadline});
  if (untold.ok()) view.untold = std::move(untold).take();
  return view;
}

Result<Outcome> run_status(const Output& output) {
  const FleetConfig fleet = TRY(load_fleet());
  Outcome outcome;
  FleetView view = read_view(fleet, outcome.obstacles);
  hook::ledger::Ledger ledger = TRY(view_ledger());
  view.fences = TRY(ledger.fences().all());
  view.witness_troubles = witness_troubles(ledger, fleet);
  outcome.text =
      output == Output::kJson ? status_json(view, fleet.prefix) : status_text(view, fleet.prefix);
  return outcome;
}

std::string check_json(const FleetView& view, const std::vector<Error>& obstacles) {
  base::Json troubles = base::Json::array();
  for (const Error& one : obstacles) troubles.push_back(one.message());
  return base::to_pretty_text(base::Json{{"fleet", view.id},
                                         {"members", view.members.size()},
                                         {"hosts", view.hosts.size()},
                                         {"troubles", std::move(troubles)}});
}

Result<Outcome> run_check(const Output& output) {
  const FleetConfig fleet = TRY(load_fleet());
  hook::ledger::Ledger ledger = TRY(open_ledger());
  const HostFacts me = TRY(this_host_of(ledger));
  Outcome outcome;
  const FleetView view = read_view(fleet, outcome.obstacles);
  for (const Member& one : view.members) {
    if (one.trouble.empty()) continue;
    outcome.obstacles.emplace_back(Code::kUnavailable,
                                   str("fleet: member ", one.address, " of etcd: ", one.trouble));
  }
  for (const std::string& line : hook::fleet::clock_troubles(view.hosts, base::unix_millis())) {
    outcome.obstacles.emplace_back(Code::kInternal, line);
  }
  for (const HostState& one : view.hosts) {
    if (!one.is_fenced || !one.is_alive) continue;
    outcome.obstacles.emplace_back(
        Code::kBusy, str("fleet: host ", one.host.tag, " (", one.host.name,
                         ") is fenced and alive:"
                         " end its containers with IPUs, then run 'ipuctl host forget ",
                         one.host.tag, "'"));
  }
  for (const std::string& line : witness_troubles(ledger, fleet))
    outcome.obstacles.emplace_back(Code::kInternal, line);
  for (const std::string& tag : view.half_fenced) {
    outcome.obstacles.emplace_back(
        Code::kBusy, str("fleet: the fence of host ", tag,
                         " is not finished: run 'ipuctl host fence ", tag, "' again"));
  }
  const auto same = std::find_if(view.hosts.begin(), view.hosts.end(),
                                 [&](const HostState& one) { return one.host.tag == me.tag; });
  const bool known = same != view.hosts.end();
  if (known && same->host.identity != me.identity) {
    outcome.obstacles.emplace_back(
        Code::kExists, str("fleet: two hosts have the tag ", me.tag, ", this one and ",
                           quote(same->host.name), ": give one of them its own [host] id"));
  }
  const bool alive = known && same->is_alive;
  if (!view.id.empty() && !alive) {
    outcome.obstacles.emplace_back(
        Code::kUnavailable,
        "fleet: this host is not alive in it: start ipu-agent, which runs 'ipuctl fleet beat'");
  }
  if (!view.id.empty()) add_differences(ledger, me, view.hosts, outcome.obstacles);
  for (const std::string& tag : view.untold)
    outcome.obstacles.emplace_back(Code::kInternal, "fleet: " + hook::fleet::untold_text(tag));
  if (output == Output::kJson) {
    outcome.text = check_json(view, outcome.obstacles);
  } else if (outcome.obstacles.empty()) {
    outcome.text = str("fleet ", view.id, ": ", view.members.size(), " members of etcd, ",
                       view.hosts.size(), " hosts, no trouble\n");
  }
  return outcome;
}

}  // namespace

std::unique_ptr<Store> open_store(const FleetConfig& fleet) {
  const hook::lifecycle::ClientUser user = hook::lifecycle::client_user();
  return hook::fleet::make_process_store(
      {hook::config::fleet_program(), fleet, user.credentials, user.is_its_own});
}

bool may_be_in_fleet() {
  const auto fleet = hook::config::load_fleet(hook::config::config_file());
  return !fleet.ok() || fleet.value().has_value();
}

const char* state_of(const HostState& host, const std::vector<hook::ledger::Fence>& fences) {
  const bool fenced = host.is_fenced || std::any_of(fences.begin(), fences.end(),
                                                    [&](const hook::ledger::Fence& fence) {
                                                      return fence.host == host.host.tag;
                                                    });
  if (fenced) return host.is_alive ? "FENCED, LIVE" : "FENCED";
  return host.is_alive ? "LIVE" : "SUSPECT";
}

void add_fleet_commands(CLI::App& app, Command& chosen) {
  CLI::App& group =
      add_group(app, {"fleet", "The hosts that share an etcd, by [fleet]", "ipuctl fleet status"});
  const auto output = std::make_shared<Output>(Output::kTable);
  const auto check_output = std::make_shared<Output>(Output::kTable);
  Options status = add_command(group,
                               {"status", "Show the members of etcd, and which hosts are alive",
                                "ipuctl fleet status --output json"},
                               chosen, [output] { return run_status(*output); });
  status.output(*output);
  status.watch();
  add_command(group,
              {"check", "Look for what is wrong with etcd, the clocks and this host's tag",
               "ipuctl fleet check"},
              chosen, [check_output] { return run_check(*check_output); })
      .output(*check_output);
  add_fleet_beat(group, chosen);
  add_fleet_fence_due(group, chosen);
  add_fleet_leave(group, chosen);
  add_fleet_copies(group, chosen);
}

}  // namespace ipuctl
