// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/start/attach.h"

#include "base/names.h"
#include "base/text.h"
#include "base/trace.h"
#include "hook/container/device/cgroup.h"
#include "hook/container/inject/lease_files.h"
#include "hook/lifecycle/end/release.h"
#include "hook/lifecycle/endpoint/endpoint.h"
#include "hook/lifecycle/network/network.h"

namespace hook::lifecycle::start {
namespace {

using namespace base::names;
using base::ProcessId;

constexpr int kMostAttempts = 5;

Result<ProcessId> identify_init(const oci::ContainerState& state) {
  if (state.pid == 0) {
    return Error(Code::kInvalid,
                 "container state on standard input: key 'pid' is missing; this runtime"
                 " calls the hook before the container's namespaces exist");
  }
  Result<ProcessId> init = base::identify_process(state.pid);
  if (init.ok()) return init;
  return Error(Code::kInvalid, str("container state on standard input: key 'pid' is ", state.pid,
                                   "; the process has ended"));
}

// Writes the record first, because a rebuilt ledger must know each container that runs.
Status begin_to_run(Env& env, ledger::Lease& lease, const ProcessId& init,
                    const std::string& cgroup) {
  ledger::Lease running = lease;
  running.state = ledger::LeaseState::kRunning;
  running.owner = init;
  running.cgroup = cgroup;
  TRY(inject::write_lease_record(env.run_dir, running));
  return env.ledger.mark_running(lease, init, cgroup);
}

// Attaches the rails, and retries if they vanish: a container that ends removes the interfaces that
// it shares with one that does not run yet.
Status attach_rails(Env& env, ledger::Lease& lease, const ProcessId& init,
                    const Deadline& deadline) {
  const std::string cgroup = device::find_cgroup(init.pid, str(env.sysfs, "/fs/cgroup"));
  const auto begin = [&] { return begin_to_run(env, lease, init, cgroup); };
  if (lease.rails.empty()) return begin();  // cards: no network
  for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
    TRY(network::connect_lease(env, lease, init, deadline));
    if (attempt == 0) TRY(endpoint::start_endpoint(env, lease, init, deadline));
    // The pid may have been reused since /proc was read, but a start time is not.
    if (!base::is_running(init)) {
      return Error(Code::kNotFound, str("process ", init.pid,
                                        " of the container ended while it was being attached"));
    }
    if (TRY(network::if_connected(env, lease, deadline, begin)) == network::Connected::kYes)
      return {};
  }
  return Error(Code::kBusy, str("containers that share the network of container ",
                                base::short_id(lease.container),
                                " ended while it was being attached; start the container again"));
}

Status attach_from_state(Env& env, ledger::Lease& lease, const Result<oci::ContainerState>& state,
                         const Deadline& deadline) {
  if (!state.ok()) return state.error();
  const ProcessId init = TRY(identify_init(state.value()));
  if (lease.state == ledger::LeaseState::kRunning && lease.owner == init) return {};
  if (lease.state != ledger::LeaseState::kAllocated) {
    return Error(Code::kBusy, str("lease ", lease.id, " is ", name_of(lease.state),
                                  " and cannot be attached; start the container again"));
  }
  return attach_rails(env, lease, init, deadline);
}

}  // namespace

Status attach_container(Env& env, const std::string& lease_id,
                        const Result<oci::ContainerState>& state, const Deadline& deadline) {
  std::optional<ledger::Lease> lease = TRY(env.ledger.find(lease_id));
  if (!lease) {
    return Error(Code::kNotFound, str("the ledger has no lease ", base::quote(lease_id),
                                      "; start the container again"));
  }
  base::trace_to(inject::trace_file(env.run_dir, lease_id));
  Status attached = attach_from_state(env, *lease, state, deadline);
  if (attached.ok() || lease->state != ledger::LeaseState::kAllocated) return attached;
  const std::string reason = attached.error().message();
  env.ledger.note(lease_id, ledger::EventKind::kError, reason);
  (void)end::release(env, std::move(*lease), reason,
                     deadline);  // reconcile() does what it cannot
  return attached;
}

}  // namespace hook::lifecycle::start
