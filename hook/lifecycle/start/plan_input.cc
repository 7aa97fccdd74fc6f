// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/start/plan_input.h"

#include <algorithm>

#include "base/rlimit.h"
#include "hook/container/device/cgroup.h"
#include "hook/container/device/rdma.h"
#include "hook/container/inject/lease_files.h"
#include "hook/container/inject/mount_points.h"

namespace hook::lifecycle::start {
namespace {

using base::Result;
using base::Status;

// Returns the RDMA device of each of the lease's interfaces. The device of a function that is in
// the container already is found by name.
Result<std::vector<std::optional<device::RdmaDevice>>> rdma_devices(const Env& env,
                                                                    config::RdmaUse mode,
                                                                    const ledger::Lease& lease) {
  std::vector<std::optional<device::RdmaDevice>> devices(lease.rails.size());
  if (mode == config::RdmaUse::kOff) return devices;
  for (size_t i = 0; i < devices.size(); ++i) {
    const ledger::RailLease& rail = lease.rails[i];
    if (rail.kind == netns::LinkKind::kMacvlan) {
      devices[i] = TRY(device::find_rdma_device(env.sysfs, rail.parent));
    } else if (!rail.rdma_device.empty()) {
      devices[i] = TRY(device::open_rdma_device(env.sysfs, rail.rdma_device, 1));
    }
  }
  return devices;
}

// Returns whether the lease's addresses need a probe. The lease that made shared interfaces has
// probed them already, and a function belongs to nobody else.
bool needs_probe(const config::Config& config, const ledger::Lease& lease) {
  const auto is_macvlan = [](const ledger::RailLease& rail) {
    return rail.kind == netns::LinkKind::kMacvlan;
  };
  return config.network.duplicate_probe.count() > 0 && lease.attachment == lease.id &&
         std::any_of(lease.rails.begin(), lease.rails.end(), is_macvlan);
}

}  // namespace

Result<plan::PlanInput> plan_input(const Env& env, const config::Config& config,
                                   const HostLook& host, const vipu::Grant& grant,
                                   const ledger::Lease& lease) {
  const config::NetworkConfig& network = config.network;
  plan::PlanInput input;
  input.lease = lease;
  input.gcds = grant.gcds;
  input.cards = grant.cards;
  input.rdma = TRY(rdma_devices(env, network.rdma, lease));
  input.rdma_off = network.rdma == config::RdmaUse::kOff;
  if (device::has_rdma_cgroup()) input.rdma_limit = {network.rdma_handles, network.rdma_objects};
  input.own_network = host.own_network;
  input.orders.gid_wait = network.gid_wait;
  input.orders.filter = network.filter;
  for (const config::RailConfig& rail : network.rails) {
    if (rail.parent.empty()) continue;  // functions
    input.orders.parents.push_back({rail.parent, rail.others.value_or(netns::Others::kPass)});
  }
  if (needs_probe(config, lease)) input.orders.probe = network.duplicate_probe;
  input.lease_dir = inject::lease_dir(env.run_dir, lease.id);
  input.hook_program = env.hook_program;
  input.poststop_program = env.poststop_program;
  input.shm_size = config.container.shm_size;
  input.is_debugged = env.is_debugged;
  input.memlock = TRY(base::highest_memlock());
  return input;
}

uint32_t gcds_asked(Env& env, const config::PoolConfig& pool, const request::Request& request) {
  if (!request.all_gcds || request.partition.empty()) return 1;
  const auto record = env.ledger.partitions().find(pool.name, request.partition);
  return record.ok() && record.value() ? record.value()->gcds : 1;
}

oci::SpecEdit edit_before(const config::PoolConfig& pool, uint32_t gcds) {
  plan::PlanInput input;
  input.lease.gcds = gcds;
  if (!config::uses_network(pool.provider)) input.cards.emplace_back();
  return plan::make_plan(input).edit;
}

Status check_mount_points(const oci::SpecView& spec, const std::string& bundle,
                          const config::PoolConfig& pool) {
  for (const oci::DirectoryMount& mount : edit_before(pool, 1).mounts) {
    TRY(inject::check_mount_point(spec, bundle, mount.destination));
  }
  return {};
}

}  // namespace hook::lifecycle::start
