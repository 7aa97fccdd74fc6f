// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/start/create.h"

#include <algorithm>

#include "base/log.h"
#include "base/names.h"
#include "base/text.h"
#include "base/trace.h"
#include "hook/container/inject/lease_files.h"
#include "hook/container/oci/pod.h"
#include "hook/container/oci/spec.h"
#include "hook/container/plan/plan.h"
#include "hook/lifecycle/end/release.h"
#include "hook/lifecycle/endpoint/endpoint.h"
#include "hook/lifecycle/network/bridges.h"
#include "hook/lifecycle/network/controllers.h"
#include "hook/lifecycle/network/duplicate_probe.h"
#include "hook/lifecycle/network/guard.h"
#include "hook/lifecycle/network/prohibitions.h"
#include "hook/lifecycle/partitions/fleet_claims.h"
#include "hook/lifecycle/queue_turn.h"
#include "hook/lifecycle/recording.h"
#include "hook/lifecycle/shares.h"
#include "hook/lifecycle/start/abandon.h"
#include "hook/lifecycle/start/check_grant.h"
#include "hook/lifecycle/start/grant.h"
#include "hook/lifecycle/start/inspect_host.h"
#include "hook/lifecycle/start/neighbours.h"
#include "hook/lifecycle/start/patience.h"
#include "hook/lifecycle/start/plan_input.h"
#include "hook/lifecycle/start/reserve.h"

namespace hook::lifecycle::start {
namespace {

using namespace base::names;
using base::LogLevel;
using std::chrono::milliseconds;

constexpr milliseconds kGuardTime{5000};     // to wait for others that make the guard
constexpr milliseconds kProbeTime{10'000};   // more than the probes of all rails may take
constexpr milliseconds kCreationTime{2000};  // of another container in the same namespace

// One start: the request, and what was found on the host.
struct Start {
  const config::Config& config;
  const config::PoolConfig& pool;
  const request::Request& request;
  const Newcomer& newcomer;
  Deadline until;            // the end of its wait; passed if it does not wait
  std::string sandbox = {};  // the container whose lease it joins; empty: none
  HostLook host = {};        // empty for cards
  int64_t since_ms = base::unix_millis();
};

// Allocates LEASE, and waits for IPUs that the ledger still holds. A controller gives IPUs away as
// soon as their partition is removed, a moment before the ledger records the release. That release
// began before this grant was made, but its process may have been killed in that moment, or may not
// have had the controller's answer.
Status allocate(Env& env, const Start& start, const Granted& granted, ledger::Lease& lease) {
  Patience patience = TRY(Patience::for_ipus(env, start.pool.name, granted.ipus, start.until));
  for (;;) {
    Status done = env.ledger.mark_allocated(lease, granted.ipus, granted.prohibited, granted.rails,
                                            start.host.shared);
    if (done.ok() || done.error().code() != Code::kExists) return done;
    if (TRY(patience.wait()) == Next::kGiveUp) return done;
  }
}

// Returns the controllers that the container of GRANT is kept from; none for cards.
Result<network::Controllers> controllers_for(Env& env, const Start& start, const vipu::Grant& grant,
                                             const ledger::Lease& lease) {
  if (!config::uses_network(start.pool.provider)) return network::Controllers();
  std::vector<std::string> addresses = grant.controller_addresses;
  // The partition may be one of a controller that the pool had before.
  const bool is_former = lease.controller != config::source_of(start.pool);
  if (is_former && config::has_named_controller(start.pool)) {
    const std::unique_ptr<vipu::Controller> controller = env.controller(start.pool);
    addresses = TRY(outlast(env, lease, start.until, [&] {
      return controller->addresses(Deadline::after(start.pool.timeout));
    }));
  }
  TRY(network::record_controller(env.run_dir, start.pool, addresses));
  return network::learn_controllers(env, start.config, Deadline::after(start.pool.timeout));
}

// Checks that a container that joins a pod and asks for a V-IPU endpoint finds that of the sandbox.
Status check_endpoint_of_sandbox(Env& env, const ledger::Lease& lease) {
  for (const ledger::Lease& sharer : TRY(env.ledger.sharers(lease))) {
    if (TRY(env.ledger.endpoints().find(sharer.id))) return {};
  }
  return Error(Code::kInvalid,
               "the container asks for a V-IPU endpoint, but the sandbox of its pod has none; set"
               " graphcore.ai/ipu.vipu-endpoint in the annotations of the pod");
}

// Returns what the V-IPU endpoint of the container answers; absent if it has none of its own.
Result<std::optional<vipu::Answers>> answers_for(Env& env, const Start& start,
                                                 const vipu::Grant& grant,
                                                 const ledger::Lease& lease) {
  const bool has_own = start.request.vipu_endpoint && lease.origin != ledger::Origin::kJoined;
  if (!has_own) return std::optional<vipu::Answers>();
  const std::unique_ptr<vipu::Controller> controller =
      record_answers(env.ledger, lease.id, recorded_controller(env, lease.pool, lease.controller));
  vipu::Answers answers = TRY(outlast(env, lease, start.until, [&] {
    return endpoint::ask_answers(*controller, lease, grant.gcds,
                                 Deadline::after(start.pool.timeout));
  }));
  return std::optional<vipu::Answers>(std::move(answers));
}

// Returns whether no other host answers for the addresses of LEASE, as far as this can be known
// before the low-level runtime has the container. Other addresses are answered for while it works,
// because a start of the same container then gets other ones.
Status check_alone(Env& env, const config::Config& config, const ledger::Lease& lease) {
  const bool by_ipu = std::any_of(lease.rails.begin(), lease.rails.end(),
                                  [](const ledger::RailLease& rail) { return rail.by_ipu; });
  if (!by_ipu) return {};
  const milliseconds probe = config.network.duplicate_probe;
  return network::await_probe(env, lease, probe, Deadline::after(kProbeTime));
}

// Sets HAS_DUPLICATE if it fails because another host has an address of LEASE.
Status fill_lease(Env& env, const Start& start, const vipu::Grant& grant, ledger::Lease& lease,
                  const Apply& apply, bool& has_duplicate) {
  const network::Controllers known = TRY(controllers_for(env, start, grant, lease));
  Granted granted = TRY(check_grant(start.config, start.pool, known, start.host, grant, lease));
  TRY(outlast(env, lease, start.until, [&] {
    return partitions::claim_addresses(env, lease, granted.rails,
                                       Deadline::after(start.pool.timeout));
  }));
  // Asked while the lease is INTENT, in which it can be cancelled, and holds no address.
  std::optional<vipu::Answers> answers = TRY(answers_for(env, start, grant, lease));
  const Status allocated = allocate(env, start, granted, lease);
  has_duplicate = !allocated.ok() && allocated.error().code() == Code::kDenied;
  TRY(Status(allocated));
  TRY(outlast(env, lease, start.until, [&] {
    return partitions::confirm_claim(env, lease, Deadline::after(start.pool.timeout));
  }));
  // A lease that joined may have inherited the partition meanwhile.
  if (!answers) answers = TRY(answers_for(env, start, grant, lease));
  if (start.request.vipu_endpoint && !answers) TRY(check_endpoint_of_sandbox(env, lease));
  if (config::uses_network(start.pool.provider)) {
    TRY(network::check_bridges(env, start.config.network, lease));
    TRY(network::guard_forwarding(env, start.config, Deadline::after(kGuardTime)));
    if (TRY(network::lags_behind(env, known))) env.start_reconcile();
  }
  plan::PlanInput input = TRY(plan_input(env, start.config, start.host, grant, lease));
  input.answers = std::move(answers);
  const plan::Plan plan = plan::make_plan(input);
  TRY(inject::write_lease_files(env.run_dir, lease.id, plan.files));
  TRY(inject::write_lease_record(env.run_dir, lease));
  base::trace_to(inject::trace_file(env.run_dir, lease.id));
  base::log_step(LogLevel::kDebug, "the files of the lease are written", lease.id);
  if (input.orders.probe.count() > 0) {
    env.start_probe(lease.id);
    const Status alone = check_alone(env, start.config, lease);
    has_duplicate = !alone.ok() && alone.error().code() == Code::kExists;
    TRY(Status(alone));
  }
  return apply(plan);
}

ledger::Intent intent_of(const Start& start, const base::ProcessId& owner) {
  const Newcomer& newcomer = start.newcomer;
  ledger::Intent intent{
      newcomer.container, newcomer.bundle, start.request.tenant, start.pool, {}, 0, owner};
  // It is not known yet which of several rails will be needed, or whether a shared namespace needs
  // any.
  if (!start.host.shared && start.host.rails.size() == 1) {
    intent.rails = {start.host.rails.front().request.rail};
  }
  intent.sandbox = start.sandbox;
  intent.history = start.config.ledger.history;
  intent.state_dir = newcomer.state_dir;
  intent.ipus = ipus_of(start.request);
  intent.waits = start.request.wait.count() != 0;
  intent.asked_ms = start.since_ms;
  if (start.config.fleet) intent.fleet = start.config.fleet->prefix;
  intent.share = share_of(start.config.policy, start.request.tenant);
  if (!start.request.partition.empty()) {
    intent.named =
        ledger::NamedPartition{start.request.partition, start.request.gcd, start.request.all_gcds};
  }
  return intent;
}

// Returns how many IPUs the request adds to what its tenant has, as the ledger counts them; 0:
// none, because a reservation counts already, or not known.
Result<uint32_t> ipus_for_tenant(Env& env, const Start& start) {
  const request::Request& request = start.request;
  if (request.partition.empty() || !start.sandbox.empty()) return ipus_of(request);
  const auto record = TRY(env.ledger.partitions().find(start.pool.name, request.partition));
  if (!record || !record->tenant.empty()) return 0U;
  return request.all_gcds ? record->ipus : record->ipus / record->gcds;
}

// Acquires a lease. Tries again during its wait while its partition or all addresses are taken.
Result<ledger::Lease> acquire(Env& env, const Start& start, Turn& turn) {
  const base::ProcessId self = TRY(base::current_process());
  const ledger::Intent intent = intent_of(start, self);
  Patience patience = TRY(Patience::of_request(env, start.pool.name, turn, start.until));
  const bool is_named = !start.request.partition.empty() && start.sandbox.empty();
  for (;;) {
    const Status learned =
        is_named ? partitions::learn_partition(env, start.pool, start.request.partition,
                                               Deadline::after(start.pool.timeout))
                 : Status();
    Result<ledger::Lease> lease =
        learned.ok() ? env.ledger.acquire(intent) : Result<ledger::Lease>(learned.error());
    if (lease.ok()) return lease;
    const bool is_silent = !learned.ok() && partitions::is_silence(learned.error());
    if (lease.error().code() != Code::kBusy && !is_silent) return lease;
    // Nobody waits behind a request that the tenant's share refuses.
    const uint32_t ipus = TRY(ipus_for_tenant(env, start));
    TRY(turn.resize(ipus));
    if (TRY(patience.wait()) == Next::kGiveUp) return lease;
  }
}

// Checks that the container asks for the IPUs of its pod, not for some of its own.
Status check_joined(const request::Request& request, const ledger::Lease& lease) {
  if (lease.origin != ledger::Origin::kJoined || request.ipus == 0 || request.ipus == lease.ipus)
    return {};
  return Error(Code::kInvalid,
               str("the container asks for ", request.ipus, " IPUs, but shares the ", lease.ipus,
                   " IPUs of its pod; ask for ", lease.ipus,
                   ", or do not ask for IPUs in the annotations of the pod"));
}

// Returns the sandbox whose lease the container joins: that of the pod that its annotations name,
// if the container is in the pod's network. An annotation alone gives nobody another pod's IPUs,
// because whoever may be in that network can reach them anyway.
Result<std::string> find_sandbox(Env& env, const Start& start, const std::string& named) {
  if (named.empty() || !start.host.shared) return std::string();
  for (const ledger::Lease& lease : TRY(env.ledger.live())) {
    if (lease.container == named && lease.pool == start.pool.name &&
        lease.netns == *start.host.shared) {
      return named;
    }
  }
  return std::string();
}

// Returns the resource to queue for. A container that joins its pod's lease takes nothing from
// others, so it waits for none.
std::string resource_of(const Start& start) {
  const std::string& partition = start.request.partition;
  if (!start.sandbox.empty()) return str(start.pool.name, "/pod ", start.sandbox);
  return partition.empty() ? start.pool.name : str(start.pool.name, "/", partition);
}

Result<WaitFor> wait_for(Env& env, const Start& start) {
  const request::Request& request = start.request;
  const uint32_t ipus = TRY(ipus_for_tenant(env, start));
  WaitFor what{resource_of(start), start.newcomer.container,        ipus,
               request.wait,       start.config.policy.max_waiters, start.newcomer.bundle};
  const bool takes_any_block = start.sandbox.empty() && request.partition.empty() &&
                               request.cards.empty() && !request.all_cards;
  if (takes_any_block && start.pool.backfill) what.backfill = &start.pool;
  what.tenant = request.tenant;
  what.tenants = &start.config.policy.tenants;
  if (start.sandbox.empty()) what.shared = &start.pool;
  return what;
}

}  // namespace

Status check_request(const config::PoolConfig& pool, const request::Request& request) {
  const auto refused = [&](std::string_view what) {
    return Error(Code::kInvalid, str("pool '", pool.name, "' has provider \"",
                                     name_of(pool.provider), "\": ", what));
  };
  if (pool.provider == config::Provider::kPcie && !request.vipu_endpoint) return {};
  if (!request.cards.empty() || request.all_cards) {
    return refused("IPU_VISIBLE_DEVICES selects PCIe cards; ask for its IPUs with IPU_COUNT=N");
  }
  if (request.vipu_endpoint && pool.provider != config::Provider::kVipu) {
    return refused("its IPUs have no V-IPU partition; leave out IPU_VIPU_ENDPOINT=1");
  }
  if (!request.network) {
    return refused("its IPUs are reached over the network; leave out IPU_NETWORK=none");
  }
  return {};
}

namespace {

// Takes a lease and prepares its container. A lease that fails because another host has its address
// is added to ASIDE.
Result<ledger::Lease> obtain_lease(Env& env, const Start& start, const Apply& apply,
                                   SetAside& aside) {
  const request::Request& request = start.request;
  WaitFor what = TRY(wait_for(env, start));
  Turn turn = TRY(Turn::await(env, std::move(what), start.until));
  base::log_step(LogLevel::kDebug, "it is its turn");
  ledger::Lease lease = TRY(acquire(env, start, turn));
  for (const std::string& line : request.ignored) {
    env.ledger.note(lease.id, ledger::EventKind::kNote, line);
  }
  if (aside.size() > 0) {
    env.ledger.note(lease.id, ledger::EventKind::kNote,
                    str("asks for other IPUs than lease ", aside.last().id, " had, because ",
                        aside.why().message()));
  }
  const Status fits = check_joined(request, lease);
  if (!fits.ok())
    return abandon(env, std::move(lease), fits.error(), end::PartitionFate::kNeverMade);
  const Result<vipu::Grant> grant =
      obtain_grant(env, {start.config, start.pool, request, turn}, lease, start.until);
  const Status kept = turn.finish();
  if (!grant.ok()) {
    const end::PartitionFate fate = fate_after(lease, grant.error());
    return abandon(env, std::move(lease), grant.error(), fate);
  }
  bool has_duplicate = false;
  const Status filled =
      kept.ok() ? fill_lease(env, start, grant.value(), lease, apply, has_duplicate) : kept;
  if (filled.ok()) return lease;
  if (!has_duplicate)
    return abandon(env, std::move(lease), filled.error(), end::PartitionFate::kMayExist);
  aside.add(std::move(lease), filled.error());
  return filled.error();
}

Result<ledger::Lease> try_lease(Env& env, const config::Config& config,
                                const request::Request& request, const Newcomer& newcomer,
                                const Apply& apply) {
  const config::PoolConfig pool = TRY(config::find_pool(config, request.pool));
  TRY(check_request(pool, request));
  Start start{config, pool, request, newcomer, Deadline::after(request.wait)};
  if (config::uses_network(pool.provider)) {
    start.host = TRY(inspect_host(env, config.network, newcomer.network));
    if (start.host.shared && !config.policy.shared_net_admin) {
      TRY(check_neighbours(newcomer.network.path, newcomer.init, Deadline::after(kCreationTime)));
    }
    start.sandbox = TRY(find_sandbox(env, start, oci::sandbox_of(newcomer.annotations)));
  }
  base::log_step(LogLevel::kDebug, "the host is inspected");
  TRY(end::reconcile_soon(env));
  base::log_step(LogLevel::kDebug, "the live leases are looked at");
  constexpr size_t kMostTries = 3;
  SetAside aside(env);
  request::Request again = request;  // it has had its turn, and does not wait for another one
  again.wait = milliseconds(0);
  const Start retry{config,        pool,       again,         newcomer, Deadline::after(again.wait),
                    start.sandbox, start.host, start.since_ms};
  for (;;) {
    const size_t tries = aside.size();
    Result<ledger::Lease> lease = obtain_lease(env, tries == 0 ? start : retry, apply, aside);
    if (lease.ok() || (tries == 0 && aside.size() == 0)) return lease;
    const Error& error = lease.error();
    if (aside.size() == tries) {
      return Error(error.code(),
                   str(aside.why().message(), "; nor can it have other IPUs: ", error.message()));
    }
    const ledger::Origin origin = aside.last().origin;
    const bool can_have_others =
        origin == ledger::Origin::kOwn || origin == ledger::Origin::kShared;
    if (!can_have_others || aside.size() == kMostTries) return lease;
    if (request.wait.count() != 0 && start.until.passed()) return lease;
  }
}

}  // namespace

Result<ledger::Lease> prepare_lease(Env& env, const config::Config& config,
                                    const request::Request& request, const Newcomer& newcomer,
                                    const Apply& apply) {
  Result<ledger::Lease> lease = try_lease(env, config, request, newcomer, apply);
  if (lease.ok() || request.ignored.empty()) return lease;
  return Error(lease.error().code(),
               str(lease.error().message(), "; ", base::join(request.ignored, "; ")));
}

Status prepare_container(Env& env, const config::Config& config, const request::Request& request,
                         const std::string& container, const oci::SpecView& spec,
                         inject::Bundle& bundle, const std::string& state_dir) {
  const request::Request resolved =
      TRY(await_reservation(env, config, request, {container, bundle.path()}));
  const config::PoolConfig pool = TRY(config::find_pool(config, resolved.pool));
  TRY(check_mount_points(spec, bundle.path(), pool));
  const Newcomer newcomer{container, bundle.path(), spec.network, spec.annotations, state_dir};
  const auto apply = [&](const plan::Plan& plan) -> Status {
    const std::string edited = TRY(oci::edit_spec(bundle.config(), plan.edit));
    // A container with cards may join the network of one with IPUs on the fabric.
    const std::optional<std::string> less = TRY(restrict_container(env.run_dir, edited));
    TRY(bundle.replace_config(less.value_or(edited)));
    base::log_step(LogLevel::kDebug, "config.json is replaced");
    return {};
  };
  TRY(prepare_lease(env, config, resolved, newcomer, apply));
  return {};
}

}  // namespace hook::lifecycle::start
