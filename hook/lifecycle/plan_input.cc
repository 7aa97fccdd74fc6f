// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/plan_input.h"

#include <algorithm>

#include "base/rlimit.h"
#include "hook/device/cgroup.h"
#include "hook/device/rdma.h"
#include "hook/inject/lease_files.h"

namespace hook {
namespace {

using base::Result;

// The RDMA device of each of the lease's interfaces. A function that is in the container already is
// found by the device's name.
Result<std::vector<std::optional<RdmaDevice>>> rdma_devices(const Env& env, RdmaMode mode,
                                                            const Lease& lease) {
  std::vector<std::optional<RdmaDevice>> devices(lease.rails.size());
  if (mode == RdmaMode::kOff) return devices;
  for (size_t i = 0; i < devices.size(); ++i) {
    const RailLease& rail = lease.rails[i];
    if (rail.kind == netns::LinkKind::kMacvlan) {
      devices[i] = TRY(find_rdma_device(env.sysfs, rail.parent));
    } else if (!rail.rdma_device.empty()) {
      devices[i] = TRY(open_rdma_device(env.sysfs, rail.rdma_device, 1));
    }
  }
  return devices;
}

// Interfaces that the lease shares were asked for by who made them; a function is nobody else's.
bool needs_probe(const Config& config, const Lease& lease) {
  const auto is_macvlan = [](const RailLease& rail) {
    return rail.kind == netns::LinkKind::kMacvlan;
  };
  return config.network.duplicate_probe.count() > 0 && lease.attachment == lease.id &&
         std::any_of(lease.rails.begin(), lease.rails.end(), is_macvlan);
}

}  // namespace

Result<PlanInput> plan_input(const Env& env, const Config& config, const HostLook& host,
                             const vipu::Grant& grant, const Lease& lease) {
  const NetworkConfig& network = config.network;
  PlanInput input;
  input.lease = lease;
  if (!grant.gcds.empty()) input.ipuof = grant.gcds.front();
  input.cards = grant.cards;
  input.rdma = TRY(rdma_devices(env, network.rdma, lease));
  if (has_rdma_cgroup()) input.rdma_limit = {network.rdma_handles, network.rdma_objects};
  input.own_network = host.own_network;
  input.orders.gid_wait = network.gid_wait;
  if (needs_probe(config, lease)) input.orders.probe = network.duplicate_probe;
  input.lease_dir = lease_dir(env.run_dir, lease.id);
  input.hook_program = env.hook_program;
  input.memlock = TRY(base::highest_memlock());
  return input;
}

}  // namespace hook
