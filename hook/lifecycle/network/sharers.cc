// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/network/sharers.h"

#include <algorithm>

#include "base/names.h"
#include "base/text.h"
#include "hook/config/paths.h"
#include "hook/container/plan/plan.h"
#include "hook/lifecycle/liveness.h"

namespace hook::lifecycle::network {

using namespace base::names;

namespace {

// A job of Slurm belongs to a user of the host, so it may reach the host; its steps talk to slurmd
// there. Root alone has chosen the bundle.
bool is_job(const ledger::Lease& lease) {
  const std::string folder = config::jobs_dir() + "/";
  return lease.bundle.starts_with(folder) && lease.bundle.size() > folder.size() &&
         lease.bundle.find_first_not_of("0123456789", folder.size()) == std::string::npos;
}

}  // namespace

Result<netns::NetworkPlan> plan_of(Env& env, const std::vector<ledger::Lease>& leases) {
  std::vector<netns::Address> guarded = TRY(env.host.addresses());
  if (std::all_of(leases.begin(), leases.end(), is_job)) guarded.clear();
  netns::NetworkPlan plan = plan::network_plan(leases, guarded);
  plan.broadcasts = TRY(env.host.broadcasts());
  return plan;
}

Status check_unchanged(Env& env, const ledger::Lease& lease) {
  const std::optional<ledger::Lease> stored = TRY(env.ledger.find(lease.id));
  if (stored && stored->generation == lease.generation) return {};
  return Error(Code::kBusy, str("lease ", lease.id, " was changed by another process"));
}

Result<std::optional<netns::Namespace>> find_namespace(Env& env, const ledger::Lease& lease,
                                                       const std::vector<ledger::Lease>& sharers) {
  const std::string boot = TRY(base::boot_id());
  for (const ledger::Lease& sharer : sharers) {
    if (sharer.state != ledger::LeaseState::kRunning) continue;
    const std::optional<pid_t> member = find_member(env, sharer);
    if (member) {
      Result<netns::Namespace> found = netns::Namespace::of_process(*member);
      if (found.ok() && found.value().identity() == lease.netns) {
        return std::optional<netns::Namespace>(std::move(found).take());
      }
    }
    if (judge(sharer, look_at_lease(env, sharer, boot)).life == Life::kEnded) continue;
    return Error(Code::kBusy, str("container ", base::short_id(sharer.container),
                                  " shares the interfaces, but its network namespace cannot be"
                                  " reached from here; run 'ipuctl gc' in the host's namespaces"));
  }
  return std::optional<netns::Namespace>();
}

}  // namespace hook::lifecycle::network
