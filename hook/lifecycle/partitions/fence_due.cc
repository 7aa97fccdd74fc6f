// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/partitions/fence_due.h"

#include <utility>

#include "base/clock.h"
#include "base/fs.h"
#include "base/names.h"
#include "base/process.h"
#include "base/text.h"
#include "hook/lifecycle/partitions/fleet_claims.h"
#include "hook/lifecycle/partitions/hosts.h"

namespace hook::lifecycle::partitions {
namespace {

using namespace base::names;
using std::chrono::milliseconds;

constexpr size_t kMaxFailure = 300;  // characters that are kept of what is wrong with a witness
constexpr size_t kMaxWitness = size_t{64} << 20;  // bytes of the program, and of what it prints

bool is_soon(const fleet::Suspicion& suspicion, const Moment& now) {
  const milliseconds since(now.steady_ms - suspicion.asked_ms);
  return suspicion.asked_ms != 0 && since < fleet::kFencePause;
}

// Returns the fleet of this host, whose hosts fence by themselves.
Result<OpenFleet> open_watched(const Env& env) {
  std::optional<OpenFleet> fleet = TRY(open_fleet(env));
  if (fleet) TRY(env.ledger.host().check_in(fleet->config.prefix));
  if (fleet && fleet->config.fences_itself) return *std::move(fleet);
  return Error(Code::kUnsupported,
               "this host fences no other by itself: [fleet] has no fence = \"auto\"");
}

Result<Suspects> look_for_suspects(Env& env, const OpenFleet& fleet, const Moment& now,
                                   std::vector<Error>& obstacles) {
  TRY(env.ledger.host().check());
  const fleet::Fleet at = fleet.at_last();
  std::vector<fleet::HostState> hosts =
      TRY(fleet::list_hosts(at.store, at.prefix, at.deadline, obstacles));
  const int64_t turn = TRY(fleet::find_turn(at.store, at.prefix, at.deadline));
  const std::string before = TRY(env.ledger.fences().observed());
  const std::vector<fleet::FenceFacts> fences =
      TRY(fleet::list_fences(at.store, at.prefix, at.deadline));
  const std::string& me = env.ledger.host().tag();
  Suspects suspects;
  suspects.seen = fleet::observe(fleet::parse_observation(before),
                                 {now.boot, now.steady_ms, turn, hosts, fences});
  suspects.unfinished = fleet::find_unfinished(suspects.seen, hosts, me);
  // A record that cannot be read may be that of a host that is well.
  if (obstacles.empty())
    suspects.due = fleet::find_due(suspects.seen, hosts, me, fleet.config.fence_after);
  return suspects;
}

// Fences the host TAG, and adds a line for each partition that it has removed.
Status carry_out(Env& env, const std::vector<config::PoolConfig>& pools, const std::string& tag,
                 fleet::IfAlive if_alive, std::vector<std::string>& lines,
                 std::vector<Error>& obstacles) {
  std::vector<Error> left;
  const Deadline deadline = Deadline::after(fleet::kFenceTime);
  for (const std::string& name : TRY(fence_host(env, pools, tag, if_alive, deadline, left)))
    lines.push_back(str("removed partition ", name));
  for (const Error& one : left) {
    obstacles.emplace_back(Code::kInternal,
                           str("the fence of host ", tag, " is not finished: ", one.message(),
                               "; a later run goes on, or 'ipuctl host fence ", tag, "'"));
  }
  return {};
}

// Fences HOST, whom the witness has found off.
Result<std::vector<std::string>> fence_one(Env& env, const std::vector<config::PoolConfig>& pools,
                                           const OpenFleet& fleet, const fleet::HostState& host,
                                           const fleet::Observation& seen,
                                           std::vector<Error>& obstacles) {
  const std::string& tag = host.host.tag;
  const fleet::Fleet at = fleet.at_last();
  TRY(fleet::take_turn(at.store, at.prefix, host, seen.turn, env.ledger.host().tag(),
                       base::unix_millis(), at.deadline));
  const int64_t minutes = (seen.at_ms - seen.suspects.at(tag).since_ms) / 60'000;
  const std::string why =
      str("host ", tag, " (", host.host.name, ") was not heard of for ", minutes, " minutes, and ",
          fleet.config.fence_witness, " says that it is off: it is fenced");
  TRY(env.ledger.events().record(why));
  std::vector<std::string> lines = {why};
  TRY(carry_out(env, pools, tag, fleet::IfAlive::kRefuse, lines, obstacles));
  return lines;
}

// Goes on with the fence of the host TAG. The host is dead for the fleet, whether it lives or not.
Result<std::vector<std::string>> finish_one(Env& env, const std::vector<config::PoolConfig>& pools,
                                            const std::string& tag, std::vector<Error>& obstacles) {
  const std::string why = str("the fence of host ", tag, " was cut short: it goes on");
  TRY(env.ledger.events().record(why));
  std::vector<std::string> lines = {why};
  TRY(carry_out(env, pools, tag, fleet::IfAlive::kFence, lines, obstacles));
  return lines;
}

// Notes in SUSPICION of HOST what its witness has said. What begins is an event.
Status note_answer(Env& env, const OpenFleet& fleet, const fleet::HostState& host,
                   const Moment& now, const Result<Power>& power, fleet::Suspicion& suspicion) {
  const std::string who = str("host ", host.host.tag, " (", host.host.name, ") is suspect, and ");
  if (!power.ok()) {
    suspicion.failure = base::one_line(power.error().message(), kMaxFailure);
    if (suspicion.failing_ms != 0) return {};
    suspicion.failing_ms = now.steady_ms;
    return env.ledger.events().record(str(who, "its witness does not answer: ", suspicion.failure));
  }
  suspicion.failing_ms = 0;
  suspicion.failure.clear();
  if (power.value() == Power::kOff) return {};
  suspicion = fleet::Suspicion{suspicion.record, now.steady_ms};
  return env.ledger.events().record(
      str(who, fleet.config.fence_witness, " says that it is on: its time begins anew"));
}

}  // namespace

Result<Power> ask_witness(const std::string& program, const fleet::HostState& host) {
  const std::string what = str("ask ", quote(program), " about host ", host.host.tag);
  if (!TRY_CTX(what, base::read_trusted_file(program, kMaxWitness)))
    return Error(Code::kNotFound, str(what, ": there is no such file; correct 'fence_witness'"));
  base::Command command;
  command.path = program;
  command.args = {program, host.host.tag, host.host.name};
  command.env = {"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C"};
  command.max_output = kMaxWitness;
  const Result<base::Output> output = base::run(command, Deadline::after(kWitnessTime));
  if (!output.ok() && output.error().code() == Code::kTimeout)
    return Error(Code::kTimeout, str(what, ": no answer within ", kWitnessTime.count(), " s"));
  if (!output.ok()) return Error(output.error()).wrap(what);
  const int status = output.value().exit_status;
  if (status == 0) return Power::kOff;
  if (status == 1) return Power::kOn;
  return Error(Code::kInternal, str(what, ": it ended with status ", status,
                                    ", and only 0 (off) and 1 (on) are answers"));
}

Result<Moment> this_moment() {
  const auto time = std::chrono::steady_clock::now().time_since_epoch();
  Moment now;
  now.boot = TRY(base::boot_id());
  now.steady_ms = std::chrono::duration_cast<milliseconds>(time).count();
  return now;
}

Result<Suspects> find_suspects(Env& env, const Moment& now, std::vector<Error>& obstacles) {
  const OpenFleet fleet = TRY(open_watched(env));
  return look_for_suspects(env, fleet, now, obstacles);
}

Result<std::vector<std::string>> fence_due(Env& env, const std::vector<config::PoolConfig>& pools,
                                           const Moment& now, const Witness& witness,
                                           std::vector<Error>& obstacles) {
  const OpenFleet fleet = TRY(open_watched(env));
  Suspects suspects = TRY(look_for_suspects(env, fleet, now, obstacles));
  fleet::Observation& seen = suspects.seen;
  const bool is_calm = seen.suspects.empty() && seen.fences.empty();
  TRY(env.ledger.fences().observe(is_calm ? "" : fleet::to_text(seen)));
  if (!suspects.unfinished.empty())
    return finish_one(env, pools, suspects.unfinished.front(), obstacles);
  for (const fleet::HostState& host : suspects.due.hosts) {
    fleet::Suspicion& suspicion = seen.suspects[host.host.tag];
    if (is_soon(suspicion, now)) continue;
    // Recorded first: a witness that hangs is not asked again at once.
    suspicion.asked_ms = now.steady_ms;
    TRY(env.ledger.fences().observe(fleet::to_text(seen)));
    const Result<Power> power = witness(host);
    TRY(note_answer(env, fleet, host, now, power, suspicion));
    TRY(env.ledger.fences().observe(fleet::to_text(seen)));
    if (!power.ok()) {
      obstacles.emplace_back(Code::kInternal, str("host ", host.host.tag,
                                                  " is not fenced: ", power.error().message()));
    }
    if (power.ok() && power.value() == Power::kOff)
      return fence_one(env, pools, fleet, host, seen, obstacles);
    break;
  }
  return std::vector<std::string>();
}

}  // namespace hook::lifecycle::partitions
