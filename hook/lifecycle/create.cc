// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/create.h"

#include <algorithm>

#include "base/rlimit.h"
#include "base/text.h"
#include "hook/inject/lease_files.h"
#include "hook/lifecycle/grant.h"
#include "hook/lifecycle/release.h"
#include "hook/lifecycle/turn.h"
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

constexpr milliseconds kReleaseTime{5000};  // for orphans, and to undo a start that failed
constexpr milliseconds kRetryTime{1000};    // between two looks at what a lease needs

// One start: what is asked of whom, and what was seen of the host.
struct Start {
  const Config& config;
  const PoolConfig& pool;
  const Request& request;
  std::string container;
  std::string bundle;
  std::vector<RailConfig> rails;
  std::vector<std::optional<RdmaDevice>> rdma;  // one a rail
};

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

// All that the container must never reach: the fabric but for its own peers, and the controller.
Result<std::vector<netns::Ipv4Prefix>> prohibited(const Config& config, const vipu::Grant& grant) {
  std::vector<netns::Ipv4Prefix> prefixes;
  for (const RailConfig& rail : config.network.rails) prefixes.push_back(rail.subnet);
  if (grant.controller_address.empty()) return prefixes;  // an IPUoF file has no controller
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

// The IPUs of a grant, checked, and what the container is kept away from.
struct Granted {
  std::vector<LeasedIpu> ipus;
  std::vector<netns::Ipv4Prefix> prohibited;
};

Result<Granted> check_grant(const Start& start, const vipu::Grant& grant, const Lease& lease) {
  Granted granted;
  const size_t size = grant.cards.empty() ? lease.ipus : grant.cards.size();
  if (size > start.config.policy.max_ipus) {
    return Error(Code::kDenied, str("it is ", size,
                                    " IPUs for one container, and policy.max_ipus"
                                    " allows ",
                                    start.config.policy.max_ipus));
  }
  if (!uses_network(start.pool.provider)) {
    granted.ipus = leased_cards(grant.cards);
    return granted;
  }
  if (start.pool.provider == Provider::kVipu && grant.controller_address.empty()) {
    return Error(Code::kInvalid,
                 "the controller's IPv4 address, from which containers are kept away, is unknown");
  }
  if (grant.gcds.size() != 1) {
    return Error(Code::kInternal, str("the controller granted ", grant.gcds.size(), " GCDs"));
  }
  granted.ipus = TRY(leased_ipus(grant.gcds.front(), lease.ipus));
  TRY(check_peers(start.config, granted.ipus));
  granted.prohibited = TRY(prohibited(start.config, grant));
  return granted;
}

Status fill_lease(Env& env, const Start& start, const vipu::Grant& grant, Lease& lease,
                  Bundle& bundle) {
  Granted granted = TRY(check_grant(start, grant, lease));
  TRY(env.ledger.allocated(lease, std::move(granted.ipus), std::move(granted.prohibited)));
  PlanInput input;
  input.lease = lease;
  if (!grant.gcds.empty()) input.ipuof = grant.gcds.front();
  input.cards = grant.cards;
  input.rdma = start.rdma;
  input.lease_dir = lease_dir(env.run_dir, lease.id);
  input.hook_program = env.hook_program;
  input.memlock = TRY(base::highest_memlock());
  const Plan plan = make_plan(input);
  TRY(write_lease_files(env.run_dir, lease.id, plan.files));
  const std::string edited = TRY(edit_spec(bundle.config(), plan.edit));
  return bundle.replace_config(edited);
}

// What a failed create leaves. A name that was taken belongs to a partition that is not ours; a
// warm partition was there before.
PartitionFate fate_after(const Lease& lease, const Error& error) {
  return vipu::made_nothing(error) && lease.partition == partition_name(lease.id)
             ? PartitionFate::kNeverMade
             : PartitionFate::kMayExist;
}

// Gives back what the lease holds and returns the error that ended it. What cannot be given back
// now is noted in the ledger.
Status abandon(Env& env, Lease lease, const Error& error, PartitionFate partition) {
  (void)release(env, std::move(lease), error.message(), Deadline::after(kReleaseTime), partition);
  return error;
}

// What a pool cannot give, whatever it has left.
Status check_request(const PoolConfig& pool, const Request& request) {
  const auto refused = [&](std::string_view what) {
    return Error(Code::kInvalid, str("pool '", pool.name, "' is of provider \"",
                                     name_of(pool.provider), "\": ", what));
  };
  if (pool.provider == Provider::kPcie) return {};
  if (!request.cards.empty() || request.all_cards) {
    return refused("its IPUs are not asked for with IPU_VISIBLE_DEVICES; ask with IPU_COUNT=N");
  }
  if (!request.network) {
    return refused("its IPUs are reached over the network; leave IPU_NETWORK=none out");
  }
  return {};
}

// What the container needs of the host beside IPUs, looked at before anything is taken.
Status look_at_host(const Env& env, const SpecView& view, Start& start) {
  if (!uses_network(start.pool.provider)) return {};
  TRY(check_network(view.network));
  start.rails = start.config.network.rails;
  start.rdma = TRY(inspect_rails(env, start.config.network));
  return {};
}

Intent intent_of(const Start& start, const base::ProcessId& owner) {
  Intent intent{
      start.container, start.bundle, start.request.tenant, start.pool, start.rails, 0, owner};
  intent.ipus = ipus_of(start.request);
  if (!start.request.partition.empty()) {
    intent.named = NamedPartition{start.request.partition, start.request.gcd};
  }
  return intent;
}

// A lease; while its partition or all addresses are taken, again until PATIENCE.
Result<Lease> acquire(Env& env, const Start& start, Turn& turn, const Deadline& patience) {
  const base::ProcessId self = TRY(base::current_process());
  const Intent intent = intent_of(start, self);
  LedgerWatch watch = TRY(LedgerWatch::start(env.ledger));
  for (;;) {
    Result<Lease> lease = env.ledger.acquire(intent);
    const bool may_come = !lease.ok() && lease.error().code() == Code::kBusy && !patience.passed();
    if (!may_come) return lease;
    TRY(turn.join(patience));
    TRY(watch.wait(kRetryTime, patience));
    TRY(reconcile(env, Deadline::after(kReleaseTime)));
  }
}

WaitFor wait_for(const Start& start) {
  const Request& request = start.request;
  const std::string& partition = request.partition;
  return {partition.empty() ? start.pool.name : str(start.pool.name, "/", partition),
          start.container, ipus_of(request), request.wait};
}

}  // namespace

Status prepare_container(Env& env, const Config& config, const Request& request,
                         const std::string& container, Bundle& bundle) {
  const PoolConfig pool = TRY(find_pool(config, request.pool));
  TRY(check_request(pool, request));
  const SpecView view = TRY(parse_spec(bundle.config()));
  Start start{config, pool, request, container, bundle.path(), {}, {}};
  TRY(look_at_host(env, view, start));
  // What could not be released stays noted in the ledger; it must not keep this container from
  // starting.
  TRY(reconcile(env, Deadline::after(kReleaseTime)));
  const auto patience = Deadline::after(request.wait);
  Turn turn = TRY(Turn::await(env, wait_for(start), patience));
  Lease lease = TRY(acquire(env, start, turn, patience));
  const Result<vipu::Grant> grant =
      obtain_grant(env, {config, pool, request, turn}, lease, patience);
  turn.end();
  if (!grant.ok()) {
    const PartitionFate fate = fate_after(lease, grant.error());
    return abandon(env, std::move(lease), grant.error(), fate);
  }
  const Status filled = fill_lease(env, start, grant.value(), lease, bundle);
  if (filled.ok()) return {};
  return abandon(env, std::move(lease), filled.error(), PartitionFate::kMayExist);
}

}  // namespace hook
