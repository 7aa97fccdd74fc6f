// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/create.h"

#include <algorithm>

#include "base/rlimit.h"
#include "base/text.h"
#include "hook/inject/lease_files.h"
#include "hook/lifecycle/release.h"
#include "hook/oci/spec.h"
#include "hook/plan/plan.h"
#include "netns/attach.h"

namespace hook {
namespace {

using base::Code;
using base::Deadline;
using base::Error;
using base::Result;
using base::Status;
using base::str;
using std::chrono::milliseconds;

constexpr milliseconds kReleaseTime{5000};   // for orphans, and to undo a start that failed
constexpr milliseconds kCapacityTime{2000};  // to say how much is free
constexpr milliseconds kRetryTime{250};      // between two looks for capacity

// The container must have a network namespace that is not the host's.
Status check_network(const NetworkNamespace& network) {
  const Error refused(Code::kDenied,
                      "a container with IPUs may not use the host's network (--net=host): leave the"
                      " option out, or use --net=none; roce0 is added to either");
  if (network.kind == NetworkNamespace::Kind::kHost) return refused;
  if (network.kind == NetworkNamespace::Kind::kNew) return {};
  const netns::Namespace given = TRY(netns::Namespace::at(network.path));
  const netns::Namespace ours = TRY(netns::Namespace::current());
  if (given.identity() == ours.identity()) return refused;
  // Out of sight where this host is a container itself; then ours is the host's.
  const Result<netns::Namespace> first = netns::Namespace::at("/proc/1/ns/net");
  if (!first.ok()) return first.error().code() == Code::kDenied ? Status() : first.error();
  if (given.identity() == first.value().identity()) return refused;
  return {};
}

// What each rail offers, looked up before anything is taken.
Result<std::vector<std::optional<RdmaDevice>>> inspect_rails(const Env& env,
                                                             const NetworkConfig& network) {
  const netns::Namespace host = TRY(netns::Namespace::current());
  std::vector<std::optional<RdmaDevice>> devices;
  for (const RailConfig& rail : network.rails) {
    TRY_CTX("network.rail", netns::mtu_of(host, rail.parent));
    std::optional<RdmaDevice> device;
    if (network.rdma != RdmaMode::kOff) device = TRY(find_rdma_device(env.sysfs, rail.parent));
    if (!device && network.rdma == RdmaMode::kRequire) {
      return Error(Code::kUnsupported, str("network.rdma is \"require\", but interface '",
                                           rail.parent, "' has no RDMA device; see 'rdma link'"));
    }
    devices.push_back(std::move(device));
  }
  return devices;
}

// The line that a user sees when a POD is full.
Error no_capacity(Env& env, const Config& config, const Request& request, const Error& cause) {
  const auto deadline = Deadline::after(kCapacityTime);
  const Result<vipu::Capacity> capacity =
      env.controller(config.pool.controller)->capacity(deadline);
  const Result<std::vector<Lease>> live = env.ledger.live();
  if (!capacity.ok() || !live.ok()) return cause;
  const auto holders =
      std::count_if(live.value().begin(), live.value().end(), [&](const Lease& lease) {
        return lease.pool == config.pool.name && lease.state != LeaseState::kIntent;
      });
  return Error(Code::kBusy,
               str("pool \"", config.pool.name, "\" has no free block of ", request.ipus,
                   " IPUs (largest free: ", capacity.value().largest_free, ", held by ", holders,
                   holders == 1 ? " container" : " containers",
                   "); wait with IPU_WAIT=60s or see 'ipuctl ps'"));
}

// Creates the partition; while the POD is full, again and again until request.wait is over.
Result<vipu::Grant> create_partition(Env& env, const Config& config, const Request& request,
                                     const Lease& lease) {
  const auto patience = Deadline::after(request.wait);
  const vipu::PartitionRequest partition{lease.partition, request.ipus, request.reconfigurable, ""};
  for (;;) {
    const auto deadline = Deadline::after(config.pool.timeout);
    Result<vipu::Grant> grant = env.controller(lease.controller)->create(partition, deadline);
    if (grant.ok() || grant.error().code() != Code::kBusy) return grant;
    if (patience.passed()) return no_capacity(env, config, request, grant.error());
    base::sleep_for(kRetryTime, patience);
    (void)reconcile(env, Deadline::after(kReleaseTime));  // a holder may have died meanwhile
  }
}

// All that the container must never reach: the fabric but for its own peers, and the controller.
Result<std::vector<netns::Ipv4Prefix>> prohibited(const Config& config, const vipu::Grant& grant) {
  std::vector<netns::Ipv4Prefix> prefixes;
  for (const RailConfig& rail : config.network.rails) prefixes.push_back(rail.subnet);
  const netns::Ipv4 controller =
      TRY_CTX("address of the controller, from which containers are kept away",
              netns::parse_ipv4(grant.controller_address));
  prefixes.push_back({controller, 32});
  return prefixes;
}

Status check_peers(const Config& config, const std::vector<LeasedIpu>& ipus) {
  for (const LeasedIpu& ipu : ipus) {
    const auto serves = [&](const RailConfig& rail) { return rail.subnet.contains(ipu.address); };
    if (std::any_of(config.network.rails.begin(), config.network.rails.end(), serves)) continue;
    return Error(Code::kInvalid,
                 str("IPU-Machine ", netns::to_string(ipu.address),
                     " of the partition is in no"
                     " subnet of a [[network.rail]]; add a rail for it to the configuration"));
  }
  return {};
}

Status fill_lease(Env& env, const Config& config, const vipu::Grant& grant,
                  const std::vector<std::optional<RdmaDevice>>& rdma, Lease& lease,
                  Bundle& bundle) {
  if (grant.gcds.empty()) return Error(Code::kInternal, "the controller granted no GCD");
  std::vector<LeasedIpu> ipus = TRY(leased_ipus(grant.gcds.front(), lease.ipus));
  TRY(check_peers(config, ipus));
  std::vector<netns::Ipv4Prefix> prefixes = TRY(prohibited(config, grant));
  TRY(env.ledger.allocated(lease, std::move(ipus), std::move(prefixes)));
  const uint64_t memlock = TRY(base::highest_memlock());
  const Plan plan = make_plan({lease, grant.gcds.front(), rdma, lease_dir(env.run_dir, lease.id),
                               env.hook_program, memlock});
  TRY(write_lease_files(env.run_dir, lease.id, plan.files));
  const std::string edited = TRY(edit_spec(bundle.config(), plan.edit));
  return bundle.replace_config(edited);
}

// What a failed create leaves. A name that was taken belongs to a partition that is not ours.
PartitionFate fate_after(const Error& error) {
  const bool never_made = error.code() == Code::kUnavailable || error.code() == Code::kExists;
  return never_made ? PartitionFate::kNeverMade : PartitionFate::kMayExist;
}

// Gives back what the lease holds and returns the error that ended it. What cannot be given back
// now is noted in the ledger.
Status abandon(Env& env, Lease lease, const Error& error, PartitionFate partition) {
  (void)release(env, std::move(lease), error.message(), Deadline::after(kReleaseTime), partition);
  return error;
}

}  // namespace

Status prepare_container(Env& env, const Config& config, const Request& request,
                         const std::string& container, Bundle& bundle) {
  const SpecView view = TRY(parse_spec(bundle.config()));
  TRY(check_network(view.network));
  const std::vector<std::optional<RdmaDevice>> rdma = TRY(inspect_rails(env, config.network));
  // What could not be released stays noted in the ledger; it must not keep this container from
  // starting.
  TRY(reconcile(env, Deadline::after(kReleaseTime)));
  const base::ProcessId self = TRY(base::current_process());
  Lease lease = TRY(env.ledger.acquire({container, bundle.path(), request.tenant, config.pool,
                                        config.network.rails, request.ipus, self}));
  const Result<vipu::Grant> grant = create_partition(env, config, request, lease);
  if (!grant.ok()) return abandon(env, std::move(lease), grant.error(), fate_after(grant.error()));
  const Status filled = fill_lease(env, config, grant.value(), rdma, lease, bundle);
  if (filled.ok()) return {};
  return abandon(env, std::move(lease), filled.error(), PartitionFate::kMayExist);
}

}  // namespace hook
