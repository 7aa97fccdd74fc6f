// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/partitions/own_fence.h"

#include <algorithm>
#include <csignal>
#include <set>
#include <utility>

#include "base/names.h"
#include "base/signal.h"
#include "base/text.h"
#include "hook/lifecycle/liveness.h"
#include "vipu/made_name.h"

namespace hook::lifecycle::partitions {
namespace {

using namespace base::names;
using ledger::Lease;

// Returns whether the fence of HOST removed the lease's partition at its controller.
bool is_removed(const Lease& lease, const std::string& host) {
  const bool is_local =
      lease.controller.starts_with("ipuof:") || lease.controller.starts_with("pcie:");
  return !is_local && vipu::is_of_host(lease.partition, host);
}

enum class Signals { kWarn, kEnd };

// Returns the processes of LEASE's container that are to get a signal: its first one, as from an
// engine; all, if that is gone or had its warning. Without a pid namespace of their own, others
// outlive the first process. Fails with kNotFound if it has ended.
Result<std::vector<base::ProcessId>> processes_of(const Env& env, const Lease& lease,
                                                  const std::string& boot, Signals signals) {
  const Evidence seen = look_at_lease(env, lease, boot);
  std::vector<base::ProcessId> processes;
  if (seen.owner == Seen::kYes) processes.push_back(lease.owner);
  if (processes.empty() && seen.restored) processes.push_back(*seen.restored);
  if (!processes.empty() && signals == Signals::kWarn) return processes;
  if (processes.empty() && judge(lease, seen).life == Life::kEnded)
    return Error(Code::kNotFound, "it has ended");
  for (const pid_t pid : find_members(env, lease)) {
    const Result<base::ProcessId> member = base::identify_process(pid);
    if (member.ok()) processes.push_back(member.value());
  }
  if (!processes.empty()) return processes;
  return Error(Code::kUnsupported,
               "its processes cannot be seen from here; stop it with its engine");
}

// Sends SIGNAL to all of PROCESSES. One that has ended meanwhile needs none. Fails with the first
// error, and with kNotFound if all have ended.
Status signal_all(const std::vector<base::ProcessId>& processes, int signal) {
  Status done = Error(Code::kNotFound, "it has ended");
  std::optional<Error> failure;
  for (const base::ProcessId& one : processes) {
    Status sent = base::signal_process(one, signal);
    if (sent.ok()) {
      done = Status();
    } else if (sent.error().code() != Code::kNotFound && !failure) {
      failure = std::move(sent).error();
    }
  }
  return failure ? Status(*std::move(failure)) : done;
}

// Notes in the history of LEASE why it gets a signal, once.
Status note_why(Env& env, const Lease& lease, const ledger::OwnFence& fence, const char* signal) {
  const std::string by = fence.by.empty() ? "" : str(" by host ", fence.by);
  const std::string text =
      str("this host was declared dead", by, ", and others may have these IPUs: ", signal);
  for (const ledger::Event& event : TRY(env.ledger.events().of_lease(lease.id)))
    if (event.text == text) return {};
  TRY(env.ledger.events().record(lease, text));
  // What is noted of a lease is not audited, and this is more than a note.
  return env.ledger.events().record(str("container ", base::short_id(lease.container), ": ", text));
}

}  // namespace

std::vector<Lease> cut_off(const std::vector<Lease>& live, const std::string& host,
                           const std::string& prefix) {
  const auto has_lost = [&](const Lease& lease) {
    return (!lease.claim.empty() && lease.fleet == prefix) || is_removed(lease, host);
  };
  std::set<std::pair<std::string, std::string>> lost;  // pool and partition
  for (const Lease& lease : live)
    if (has_lost(lease)) lost.insert({lease.pool, lease.partition});
  std::vector<Lease> found;
  for (const Lease& lease : live) {
    const bool runs = lease.state == ledger::LeaseState::kRunning;
    const bool has_joined =
        lease.origin == ledger::Origin::kJoined && lost.contains({lease.pool, lease.partition});
    if (runs && (has_lost(lease) || has_joined)) found.push_back(lease);
  }
  return found;
}

Result<Ended> end_cut_off(Env& env, const ledger::OwnFence& fence, const std::string& prefix,
                          int64_t now_ms) {
  Ended ended;
  const std::string boot = TRY(base::boot_id());
  const std::chrono::milliseconds time(now_ms - fence.seen_ms);
  // Setting the clock back does not postpone it.
  const bool was_warned = time.count() < 0 || time >= kFencedTime;
  for (const Lease& lease : cut_off(TRY(env.ledger.live()), env.ledger.host().tag(), prefix)) {
    const auto processes =
        processes_of(env, lease, boot, was_warned ? Signals::kEnd : Signals::kWarn);
    Status sent = processes.ok() ? Status() : Status(processes.error());
    if (sent.ok()) {
      // A ledger that cannot record why keeps no IPUs of others.
      Status noted = note_why(env, lease, fence, was_warned ? "SIGKILL" : "SIGTERM");
      if (!noted.ok()) ended.obstacles.push_back(std::move(noted).error());
      sent = signal_all(processes.value(), was_warned ? SIGKILL : SIGTERM);
    }
    if (sent.ok()) {
      ended.containers.push_back(lease.container);
    } else if (sent.error().code() != Code::kNotFound) {
      ended.obstacles.push_back(std::move(sent).error().wrap(
          str("container ", base::short_id(lease.container), " still has IPUs of others")));
    }
  }
  return ended;
}

}  // namespace hook::lifecycle::partitions
