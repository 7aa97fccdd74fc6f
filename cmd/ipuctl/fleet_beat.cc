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

// What became of a beat.
struct Beat {
  FleetConfig fleet;
  std::string me;  // the host's tag
  Outcome outcome;
  bool is_fenced = false;
  bool ends_containers = false;  // which got a signal
};

// Ends what others may have by now, and adds BEAT's error with what became of it.
Status obey(hook::ledger::Ledger& ledger, Beat& beat, const hook::fleet::FenceFacts& told,
            const Error& error) {
  const hook::ledger::OwnFence fence = TRY(ledger.fences().see_own(told.revision, told.by));
  hook::lifecycle::Env env = hook::lifecycle::product_env(ledger);
  hook::lifecycle::partitions::Ended ended = TRY(
      hook::lifecycle::partitions::end_cut_off(env, fence, beat.fleet.prefix, base::unix_millis()));
  std::string names;
  for (const std::string& container : ended.containers)
    names += str(names.empty() ? "" : ", ", base::short_id(container));
  beat.is_fenced = true;
  beat.ends_containers = !names.empty();
  beat.outcome.obstacles.emplace_back(
      error.code(), str(error.message(), names.empty() ? "" : str("; now ending: ", names)));
  for (Error& one : ended.obstacles) beat.outcome.obstacles.push_back(std::move(one));
  return {};
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

Result<Beat> beat_once() {
  Beat done;
  done.fleet = TRY(load_fleet());
  const FleetConfig& fleet = done.fleet;
  hook::ledger::Ledger ledger = TRY(open_ledger());
  const HostFacts me = TRY(this_host_of(ledger));
  done.me = me.tag;
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
    done.outcome = TRY(serve_fleet(ledger, me, deadline));
    for (Error& one : obstacles) done.outcome.obstacles.push_back(std::move(one));
    return done;
  }
  // Also where the beat failed for another reason: others may have its IPUs.
  const auto fence = hook::fleet::find_fence(*store, fleet.prefix, me.tag, deadline);
  if (!fence.ok() || !fence.value()) return beat.error();
  TRY(obey(ledger, done, *fence.value(), beat.error()));
  return done;
}

Result<Outcome> run_beat() { return TRY(beat_once()).outcome; }

// Beats again, and adds what became of it to BEAT.
void beat_again(Beat& beat) {
  Result<Beat> next = beat_once();
  std::vector<Error>& all = beat.outcome.obstacles;
  if (!next.ok()) return all.push_back(next.error());
  for (Error& one : next.value().outcome.obstacles) all.push_back(std::move(one));
  beat.ends_containers = next.value().ends_containers;
}

// Beats, then waits for a fence of this host until TIME has passed since it began. Does both steps
// of a fence: see own_fence.h.
Result<Outcome> beat_and_wait(milliseconds time) {
  const Deadline end = Deadline::after(time);
  if (time > hook::fleet::kBeatTime) {
    return Error(Code::kInvalid,
                 str("--wait is longer than ", base::format_duration(hook::fleet::kBeatTime),
                     ", after which the next beat is due"));
  }
  Beat beat = TRY(beat_once());
  if (!beat.is_fenced) {
    const Result<bool> is_fenced =
        hook::fleet::wait_for_fence(*open_store(beat.fleet), beat.fleet.prefix, beat.me, end);
    // A wait without a change may end in silence.
    if (!is_fenced.ok() && is_fenced.error().code() != Code::kTimeout)
      beat.outcome.obstacles.push_back(is_fenced.error());
    if (is_fenced.ok() && is_fenced.value()) beat_again(beat);
  }
  if (beat.ends_containers) {
    const milliseconds left = hook::lifecycle::partitions::kFencedTime;
    base::sleep_for(left, Deadline::after(left));
    beat_again(beat);
  }
  return std::move(beat.outcome);
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
  beat.duration(
      {"--wait", "TIME", "Go on for this time, at most 10s, and obey a fence of this host at once"},
      *wait);
  add_command(group,
              {"join", "Take this host back into the fleet that it left", "ipuctl fleet join"},
              chosen, [] { return run_join(); });
}

}  // namespace ipuctl
