// SPDX-License-Identifier: Apache-2.0
// ipuctl fleet beat: this host says that it is alive, and obeys a fence.
#include <unistd.h>

#include <climits>
#include <memory>

#include "base/clock.h"
#include "base/names.h"
#include "base/text.h"
#include "base/version.h"
#include "cmd/ipuctl/fleet.h"
#include "hook/config/paths.h"
#include "hook/fleet/restored.h"
#include "hook/lifecycle/accounting.h"
#include "hook/lifecycle/env.h"
#include "hook/lifecycle/fleet_mark.h"
#include "hook/lifecycle/fleet_pin.h"
#include "hook/lifecycle/open_fleet.h"
#include "hook/lifecycle/partitions/fleet_claims.h"
#include "hook/lifecycle/partitions/joining.h"
#include "hook/lifecycle/partitions/own_fence.h"
#include "hook/lifecycle/partitions/warm.h"

namespace ipuctl {
namespace {

using namespace base::names;
using hook::config::FleetConfig;
using hook::fleet::HostFacts;
using hook::fleet::Store;

using std::chrono::milliseconds;

constexpr milliseconds kBeatLimit{8'000};

std::string host_name() {
  char name[HOST_NAME_MAX + 1] = "";
  if (::gethostname(name, sizeof name - 1) != 0) return "unknown";
  return base::one_line(name, HOST_NAME_MAX);
}

std::map<std::string, std::string> pools_of(const hook::config::Config& config) {
  std::map<std::string, std::string> pools;
  for (const hook::config::PoolConfig& pool : config.pools)
    if (pool.provider == hook::config::Provider::kVipu)
      pools[pool.name] = hook::config::source_of(pool);
  return pools;
}

// Ends what others may have by now, and returns BEAT's error with what became of it.
Result<Outcome> obey(hook::ledger::Ledger& ledger, const FleetConfig& fleet,
                     const hook::fleet::FenceFacts& told, const Error& beat) {
  const hook::ledger::OwnFence fence = TRY(ledger.fences().see_own(told.revision, told.by));
  hook::lifecycle::Env env = hook::lifecycle::product_env(ledger);
  hook::lifecycle::partitions::Ended ended =
      TRY(hook::lifecycle::partitions::end_cut_off(env, fence, fleet.prefix, base::unix_millis()));
  std::string names;
  for (const std::string& container : ended.containers)
    names += str(names.empty() ? "" : ", ", base::short_id(container));
  Outcome outcome;
  outcome.obstacles.emplace_back(
      beat.code(), str(beat.message(), names.empty() ? "" : str("; now ending: ", names)));
  for (Error& one : ended.obstacles) outcome.obstacles.push_back(std::move(one));
  return outcome;
}

// After an import, others start nothing with named partitions until this host has told what it has.
Status tell_after_import(hook::lifecycle::Env& env, const hook::lifecycle::OpenFleet& fleet,
                         const std::string& me, const Deadline& deadline,
                         std::vector<Error>& obstacles) {
  if (TRY(hook::fleet::asked_to_tell(fleet.at(deadline), me)) != 0)
    hook::lifecycle::partitions::sweep_claims(env, obstacles);
  return {};
}

// Gives warm partitions of this host back for which a request of another host waits, and tells the
// fleet what this host had.
Result<Outcome> serve_fleet(hook::ledger::Ledger& ledger, const HostFacts& me,
                            const Deadline& deadline) {
  Outcome outcome;
  const Result<hook::config::Config> config =
      hook::config::load_config(hook::config::config_file());
  if (!config.ok()) return outcome;  // other commands say what is wrong with it
  hook::lifecycle::Env env = hook::lifecycle::product_env(ledger);
  const Status given =
      hook::lifecycle::partitions::give_back_to_fleet(env, config.value().pools, deadline);
  if (!given.ok()) outcome.obstacles.push_back(given.error());
  const std::optional<hook::lifecycle::OpenFleet> fleet = TRY(hook::lifecycle::open_fleet(env));
  if (fleet) TRY(tell_after_import(env, *fleet, me.tag, deadline, outcome.obstacles));
  const Status told =
      fleet ? hook::lifecycle::tell_usage(env, *fleet, config.value().pools, me.name, deadline)
            : Status();
  if (!told.ok()) outcome.obstacles.push_back(told.error());
  return outcome;
}

// Before anything of the store is believed: it may have gone back.
void mark(hook::ledger::Ledger& ledger, const Deadline& deadline, std::vector<Error>& obstacles) {
  hook::lifecycle::Env env = hook::lifecycle::product_env(ledger);
  hook::lifecycle::mark_fleet(env, deadline, obstacles);
}

// Before this host is first known as one of the fleet. A name that is another host's is for gc and
// for the next start with it to tell, not for each beat.
void bring_partitions(hook::ledger::Ledger& ledger, const Deadline& deadline,
                      std::vector<Error>& obstacles) {
  hook::lifecycle::Env env = hook::lifecycle::product_env(ledger);
  hook::lifecycle::partitions::share_named(env, deadline, obstacles);
  std::erase_if(obstacles, [](const Error& one) { return one.code() == Code::kExists; });
}

Result<Outcome> run_beat() {
  const FleetConfig fleet = TRY(load_fleet());
  hook::ledger::Ledger ledger = TRY(open_ledger());
  const HostFacts me = TRY(this_host_of(ledger));
  const std::unique_ptr<Store> store = open_store(fleet);
  const Deadline deadline = Deadline::after(kBeatLimit);
  // A host that is leaving is in the fleet until it has left: a fence must reach it.
  const std::string known = TRY(ledger.host().fleet_id(fleet.prefix));
  if (known.empty() || ledger.host().check_in(fleet.prefix).ok())
    TRY(hook::lifecycle::join_known_fleet(ledger, *store, fleet.prefix, deadline));
  std::vector<Error> obstacles;
  mark(ledger, deadline, obstacles);
  bring_partitions(ledger, deadline, obstacles);
  const Status beat = hook::fleet::beat(*store, fleet.prefix, me, base::unix_millis(), deadline);
  if (beat.ok()) {
    const std::string now = TRY(ledger.host().fleet_id(fleet.prefix));
    if (!known.empty() && now.empty())  // 'fleet leave' has ended meanwhile
      TRY(hook::fleet::end_beats(*store, fleet.prefix, me.tag, deadline));
    TRY(ledger.fences().end_own());
    Outcome served = TRY(serve_fleet(ledger, me, deadline));
    for (Error& one : obstacles) served.obstacles.push_back(std::move(one));
    return served;
  }
  // Also where the beat failed for another reason: others may have its IPUs.
  const auto fence = hook::fleet::find_fence(*store, fleet.prefix, me.tag, deadline);
  if (!fence.ok() || !fence.value()) return beat.error();
  return obey(ledger, fleet, *fence.value(), beat.error());
}

// Beats, then waits for a fence of this host, until TIME after it began, and obeys it. The next
// beat tells what is in the way of the wait.
Result<Outcome> beat_and_wait(milliseconds time) {
  const Deadline end = Deadline::after(time);
  Outcome outcome = TRY(run_beat());
  const FleetConfig fleet = TRY(load_fleet());
  const std::string me = TRY(open_ledger()).host().tag();
  const Status waited = hook::fleet::wait_for_fence(*open_store(fleet), fleet.prefix, me, end);
  if (waited.ok() && !end.passed()) return run_beat();
  return outcome;
}

Result<Outcome> run_join() {
  const FleetConfig fleet = TRY(load_fleet());
  hook::ledger::Ledger ledger = TRY(open_ledger());
  TRY(ledger.host().check());
  TRY(ledger.host().come_back());
  Outcome outcome = TRY(run_beat());
  if (!outcome.obstacles.empty()) return outcome;
  outcome.text +=
      str("this host, ", ledger.host().tag(), ", is in the fleet below ", fleet.prefix, "\n");
  return outcome;
}

}  // namespace

Result<FleetConfig> load_fleet() {
  const hook::config::Config config = TRY(hook::config::load_config(hook::config::config_file()));
  if (config.fleet) return *config.fleet;
  return Error(Code::kInvalid, str(hook::config::config_file(),
                                   ": this host is in no fleet: set 'endpoints' in [fleet]"));
}

Result<HostFacts> this_host_of(hook::ledger::Ledger& ledger) {
  TRY(ledger.host().check());
  const hook::ledger::HostWitnesses now =
      hook::lifecycle::this_host(hook::config::load_host_id(hook::config::config_file()));
  HostFacts me;
  me.tag = ledger.host().tag();
  me.name = host_name();
  me.identity = str(now.id.empty() ? now.machine : now.id, '-', now.board, '-', now.rnic);
  me.version = base::product_version();
  me.boot = TRY(base::boot_id());
  // A host whose configuration cannot be read whole is alive nevertheless.
  const Result<hook::config::Config> config =
      hook::config::load_config(hook::config::config_file());
  if (config.ok()) me.pools = pools_of(config.value());
  return me;
}

void add_fleet_beat(CLI::App& group, Command& chosen) {
  const auto wait = std::make_shared<std::optional<milliseconds>>();
  Options beat = add_command(
      group,
      {"beat", "Say that this host is alive; ipu-agent does so every 10 s", "ipuctl fleet beat"},
      chosen, [wait] { return *wait ? beat_and_wait(**wait) : run_beat(); });
  beat.duration({"--wait", "TIME", "Go on for this time, and obey a fence of this host at once"},
                *wait);
  add_command(group,
              {"join", "Take this host back into the fleet that it left", "ipuctl fleet join"},
              chosen, [] { return run_join(); });
}

}  // namespace ipuctl
