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

// Returns the process whose end ends the container of LEASE.
Result<base::ProcessId> process_of(const Env& env, const Lease& lease, const std::string& boot) {
  const Evidence seen = look_at_lease(env, lease, boot);
  if (seen.owner == Seen::kYes) return lease.owner;
  if (seen.restored) return *seen.restored;
  if (judge(lease, seen).life == Life::kEnded) return Error(Code::kNotFound, "it has ended");
  // Without a pid namespace of their own, others outlive the first process: one after the other.
  const std::optional<pid_t> member = find_member(env, lease);
  if (member) return base::identify_process(*member);
  return Error(Code::kUnsupported,
               "its processes cannot be seen from here; stop it with its engine");
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
    const Result<base::ProcessId> process = process_of(env, lease, boot);
    Status sent = process.ok() ? Status() : Status(process.error());
    if (sent.ok()) {
      // A ledger that cannot record why keeps no IPUs of others.
      Status noted = note_why(env, lease, fence, was_warned ? "SIGKILL" : "SIGTERM");
      if (!noted.ok()) ended.obstacles.push_back(std::move(noted).error());
      sent = base::signal_process(process.value(), was_warned ? SIGKILL : SIGTERM);
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
