// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/start/without_wrapper.h"

#include <algorithm>
#include <filesystem>

#include "base/clock.h"
#include "base/fs.h"
#include "base/names.h"
#include "base/rlimit.h"
#include "base/text.h"
#include "hook/container/device/device_rules.h"
#include "hook/container/inject/rootfs.h"
#include "hook/container/oci/capability.h"
#include "hook/container/request/cdi.h"
#include "hook/ledger/actor.h"
#include "hook/lifecycle/end/release.h"
#include "hook/lifecycle/liveness.h"
#include "hook/lifecycle/liveness_scan.h"
#include "hook/lifecycle/start/attach.h"
#include "hook/lifecycle/start/create.h"
#include "hook/lifecycle/start/plan_input.h"
#include "hook/lifecycle/start/reserve.h"

namespace hook::lifecycle::start {
namespace {

using namespace base::names;

constexpr std::chrono::seconds kAttachTime{10};
constexpr std::chrono::seconds kOtherTime{10};  // of a start, besides waiting and the controller
// crun calls poststop after it has sent SIGKILL to a container, which takes a moment to end.
constexpr std::chrono::milliseconds kDying{5000};
constexpr std::string_view kUseWrapper = "; use the runtime wrapper instead of the hook alone";

Result<std::string> read_spec(const oci::ContainerState& state) {
  return base::read_file(str(state.bundle, "/config.json"), oci::kMaxSpecBytes);
}

// Whether the wrapper made a lease for this container. If so, its hook does the rest.
Result<bool> is_wrapped(Env& env, const oci::ContainerState& state) {
  const auto id = state.annotations.find("graphcore.ai/ipu.lease");
  if (id == state.annotations.end() || !ledger::is_lease_id(id->second)) return false;
  const std::optional<ledger::Lease> lease = TRY(env.ledger.find(id->second));
  return lease && ledger::is_live(lease->state) && lease->container == state.id;
}

std::string_view name_of_variable(std::string_view variable) {
  return variable.substr(0, variable.find('='));
}

bool matches(std::string_view name, std::string_view pattern) {
  if (pattern.ends_with('*')) return name.starts_with(pattern.substr(0, pattern.size() - 1));
  return name == pattern;
}

// Checks that a variable needs no change, which the wrapper would make and the hook cannot.
Status check_variable(const std::string& variable, const oci::SpecEdit& edit) {
  const std::string_view name = name_of_variable(variable);
  const auto wanted = edit.environment.find(std::string(name));
  const bool is_wrong =
      (wanted != edit.environment.end() && variable != str(name, "=", wanted->second)) ||
      std::any_of(edit.forget_environment.begin(), edit.forget_environment.end(),
                  [&](const std::string& pattern) { return matches(name, pattern); });
  if (!is_wrong) return {};
  return Error(Code::kInvalid,
               str("the variable ", base::quote(name),
                   " contradicts the IPUs that the container asks for; leave it out, or",
                   kUseWrapper.substr(1)));
}

constexpr size_t kMaxCapability = 64;  // bytes of it in an error

Status check_unchangeable(const oci::SpecView& view, const oci::SpecEdit& edit, uint64_t memlock) {
  for (const std::string& capability : view.capabilities) {
    if (!oci::may_be_one_of(capability, edit.forget_capabilities)) continue;
    const std::string name = base::one_line(capability, kMaxCapability);
    const size_t prefix = name.starts_with("CAP_") ? 4 : 0;
    return Error(Code::kDenied,
                 str("a container with IPUs may not have ", name, ": drop it with --cap-drop ",
                     name.substr(prefix), ", or", kUseWrapper.substr(1)));
  }
  // runc sets the limits of config.json only after this hook.
  if (view.memlock && *view.memlock < memlock) {
    return Error(Code::kInvalid, str("the container may lock ", *view.memlock,
                                     " bytes of memory, but RDMA needs"
                                     " more; leave out the limit, give --ulimit memlock=-1:-1, or",
                                     kUseWrapper.substr(1)));
  }
  for (const std::string& variable : view.environment) TRY(check_variable(variable, edit));
  return {};
}

Status check_time(const request::Request& request, const config::PoolConfig& pool) {
  using std::chrono::seconds;
  const auto left =
      std::chrono::duration_cast<seconds>(kHookOnlyTime - kAttachTime - kOtherTime - pool.timeout);
  if (left.count() < 0) {
    return Error(Code::kInvalid, str("the timeout of pool '", pool.name,
                                     "' is longer than an engine waits for a hook; set it to at"
                                     " most 200s, or",
                                     kUseWrapper.substr(1)));
  }
  if (request.wait <= left) return {};
  return Error(
      Code::kInvalid,
      str("a container without the runtime wrapper may wait at most ", left.count(),
          "s, because its engine waits no longer; give graphcore.ai/ipu.wait=", left.count(), "s"));
}

// Returns CONFIG without isolation. An own namespace would have to be made before any hook runs, so
// the hook can only refuse the host's.
config::Config without_isolation(config::Config config) {
  config.network.host_network = config::HostNetwork::kRefuse;
  return config;
}

std::string root_of(const oci::ContainerState& state, const oci::SpecView& view) {
  const std::filesystem::path root(view.root);
  return root.is_absolute() ? view.root : (std::filesystem::path(state.bundle) / root).string();
}

// Checks that the container's first process still runs. It may end at any time, and another process
// may soon have its pid.
Status check_runs(const base::ProcessId& init) {
  if (base::is_running(init)) return {};
  return Error(Code::kNotFound, str("process ", init.pid, " of the container has ended"));
}

// Applies EDIT to the process. What belongs to it is opened first; if the process still runs then,
// the right one was opened.
Status apply_to_process(const Env& env, const oci::SpecEdit& edit, const std::string& root,
                        const base::ProcessId& init) {
  inject::Rootfs rootfs = TRY(inject::Rootfs::open(init.pid, root));
  TRY(check_runs(init));
  for (const oci::DeviceNode& device : edit.devices) TRY(rootfs.add_device(device));
  for (const oci::DirectoryMount& mount : edit.mounts) TRY(rootfs.add_directory(mount));
  const device::DeviceCgroups cgroups =
      TRY(device::DeviceCgroups::of(init.pid, env.sysfs + "/fs/cgroup"));
  TRY(check_runs(init));
  if (edit.memlock) TRY(base::set_memlock(init.pid, *edit.memlock));
  return cgroups.allow(edit.devices);
}

// Checks, before anything is taken, that the container has places for what it gets.
Status check_places(const config::PoolConfig& pool, const std::string& root,
                    const base::ProcessId& init) {
  const inject::Rootfs rootfs = TRY(inject::Rootfs::open(init.pid, root));
  TRY(check_runs(init));
  for (const oci::DirectoryMount& mount : edit_before(pool, 1).mounts) {
    TRY(rootfs.check_directory(mount.destination));
  }
  return {};
}

// Checks, before the request waits for a reservation whose pool is not known yet, what is true of
// any.
Status check_reservation_time(const request::Request& request) {
  config::PoolConfig any;
  any.timeout = std::chrono::milliseconds(0);
  return request.is_reservation ? check_time(request, any) : Status();
}

// Whether the container is started already: the hook may be called twice for one start, as prestart
// and as createRuntime.
Result<bool> is_started(Env& env, const oci::ContainerState& state, const base::ProcessId& init) {
  for (const ledger::Lease& lease : TRY(env.ledger.live())) {
    const bool is_it = lease.container == state.id && lease.owner == init;
    if (is_it && lease.state == ledger::LeaseState::kRunning) return true;
  }
  return false;
}

// The container has the nodes of a device for which it does not ask.
Error no_request(const oci::ContainerState& state) {
  return Error(Code::kInvalid, str("the CDI device of the container asks for no IPUs in ",
                                   base::quote(state.bundle + "/config.json"),
                                   "; name the device by the engine's --device"));
}

}  // namespace

bool asks_hook(const oci::ContainerState& state) {
  return request::asks_for_ipus({}, state.annotations);
}

Status start_by_hook(Env& env, const Result<config::Config>& config,
                     const oci::ContainerState& state, bool is_cdi) {
  if (TRY(is_wrapped(env, state))) return {};
  if (!config.ok()) return config.error();
  // Also of a hook that another device or hooks.d calls: the first one that is called gives all.
  const std::string spec = TRY(read_spec(state));
  const std::map<std::string, std::string> annotations =
      TRY(request::with_cdi(spec, state.annotations));
  std::optional<request::Request> request =
      TRY(request::parse_request({}, annotations, config.value().policy));
  if (!request && is_cdi) return no_request(state);
  if (!request) return {};
  TRY(request::settle_tenant(*request, config.value().policy, ledger::user_who_logged_in()));
  if (state.pid == 0) {
    return Error(Code::kUnsupported,
                 "this runtime calls the hook before the container's namespaces exist: container"
                 " state on standard input has no 'pid'; use runc, crun, or youki from 0.6");
  }
  const base::ProcessId init = TRY(base::identify_process(state.pid));
  if (TRY(is_started(env, state, init))) return {};
  // The runtime may be killed while its hook waits; nobody wants the container then.
  env.still_wanted = [init] { return check_runs(init); };
  TRY(check_reservation_time(*request));
  const request::Request resolved =
      TRY(await_reservation(env, config.value(), *request, {state.id, state.bundle}));
  const config::PoolConfig pool = TRY(config::find_pool(config.value(), resolved.pool));
  TRY(check_time(resolved, pool));
  const oci::SpecView view = TRY(oci::parse_spec(spec));
  const uint64_t memlock = TRY(base::highest_memlock());
  const uint32_t gcds = gcds_asked(env, pool, resolved);
  TRY(check_unchangeable(view, edit_before(pool, gcds), memlock));
  const std::string root = root_of(state, view);
  TRY(check_places(pool, root, init));
  const oci::NetworkNamespace network{oci::NetworkNamespace::Kind::kPath,
                                      str("/proc/", state.pid, "/ns/net")};
  const Newcomer newcomer{state.id, state.bundle, network, state.annotations, "", init.pid};
  const auto apply = [&](const plan::Plan& plan) {
    return apply_to_process(env, plan.edit, root, init);
  };
  const ledger::Lease lease =
      TRY(prepare_lease(env, without_isolation(config.value()), resolved, newcomer, apply));
  return attach_container(env, lease.id, state, Deadline::after(kAttachTime));
}

Status stop_by_hook(Env& env, const oci::ContainerState& state, const Deadline& deadline,
                    const std::function<void()>& taken) {
  Status worst;
  const Deadline patience = deadline.capped(kDying);
  for (ledger::Lease& lease : TRY(env.ledger.live())) {
    if (lease.container != state.id || lease.bundle != state.bundle) continue;
    while (base::is_running(lease.owner) && !patience.passed()) {
      base::sleep_for(std::chrono::milliseconds(10), patience);
    }
    const Judged judged = TRY(judge_lease(env, std::move(lease)));
    if (judged.judgement.life != Life::kEnded) continue;
    const Status done = end::release_by_id(env, judged.lease.id, deadline, taken);
    if (!done.ok()) worst = done;
  }
  taken();
  return worst;
}

}  // namespace hook::lifecycle::start
