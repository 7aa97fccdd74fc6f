// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/hook_only.h"

#include <algorithm>
#include <filesystem>

#include "base/fs.h"
#include "base/rlimit.h"
#include "base/text.h"
#include "hook/device/device_rules.h"
#include "hook/inject/rootfs.h"
#include "hook/lifecycle/attach.h"
#include "hook/lifecycle/create.h"
#include "hook/lifecycle/liveness.h"
#include "hook/lifecycle/release.h"

namespace hook {
namespace {

using base::Code;
using base::Deadline;
using base::Error;
using base::Result;
using base::Status;
using base::str;

constexpr std::chrono::seconds kAttachTime{10};
constexpr std::chrono::seconds kOtherTime{10};  // of a start, beside waiting and the controller
constexpr std::string_view kUseWrapper = "; use the runtime wrapper instead of the hook alone";

Result<SpecView> read_spec(const ContainerState& state) {
  const std::string path = str(state.bundle, "/config.json");
  return parse_spec(TRY(base::read_file(path, kMaxSpecBytes)));
}

// Whether the wrapper made a lease for this very container: its hook does the rest.
enum class Wrapped { kYes, kNo };
Result<Wrapped> is_wrapped(Env& env, const ContainerState& state) {
  const auto id = state.annotations.find("graphcore.ai/ipu.lease");
  if (id == state.annotations.end() || !is_lease_id(id->second)) return Wrapped::kNo;
  const std::optional<Lease> lease = TRY(env.ledger.find(id->second));
  const bool is_theirs = lease && is_live(lease->state) && lease->container == state.id;
  return is_theirs ? Wrapped::kYes : Wrapped::kNo;
}

std::string_view name_of_variable(std::string_view variable) {
  return variable.substr(0, variable.find('='));
}

bool matches(std::string_view name, std::string_view pattern) {
  if (pattern.ends_with('*')) return name.starts_with(pattern.substr(0, pattern.size() - 1));
  return name == pattern;
}

// What the wrapper would change and the hook cannot must be so already.
Status check_variable(const std::string& variable, const SpecEdit& edit) {
  const std::string_view name = name_of_variable(variable);
  const auto wanted = edit.environment.find(std::string(name));
  const bool is_wrong =
      (wanted != edit.environment.end() && variable != str(name, "=", wanted->second)) ||
      std::any_of(edit.forget_environment.begin(), edit.forget_environment.end(),
                  [&](const std::string& pattern) { return matches(name, pattern); });
  if (!is_wrong) return {};
  return Error(Code::kInvalid, str("the container has the variable ", base::quote(name),
                                   ", which contradicts the IPUs that it is to get; leave it out, "
                                   "or",
                                   kUseWrapper.substr(1)));
}

Status check_unchangeable(const SpecView& view, const SpecEdit& edit, uint64_t memlock) {
  for (const std::string& capability : edit.forget_capabilities) {
    if (!view.capabilities.contains(capability)) continue;
    return Error(Code::kDenied, str("a container with IPUs may not have ", capability,
                                    ": drop it with --cap-drop ", capability.substr(4), ", or",
                                    kUseWrapper.substr(1)));
  }
  // runc sets the limits of config.json after this hook.
  if (view.memlock && *view.memlock < memlock) {
    return Error(Code::kInvalid, str("the container may lock ", *view.memlock,
                                     " bytes of memory, and RDMA needs"
                                     " more: leave the limit out, give --ulimit memlock=-1:-1, or",
                                     kUseWrapper.substr(1)));
  }
  for (const std::string& variable : view.environment) TRY(check_variable(variable, edit));
  return {};
}

// The edit of a lease of POOL, as far as it is known before there is one.
SpecEdit edit_before(const PoolConfig& pool) {
  PlanInput input;
  if (!uses_network(pool.provider)) input.cards.emplace_back();
  return make_plan(input).edit;
}

Status check_time(const Request& request, const PoolConfig& pool) {
  using std::chrono::seconds;
  const auto left =
      std::chrono::duration_cast<seconds>(kHookOnlyTime - kAttachTime - kOtherTime - pool.timeout);
  if (left.count() < 0) {
    return Error(Code::kInvalid, str("pool '", pool.name,
                                     "' has a timeout that is longer than an engine waits for"
                                     " a hook; set it to at most 200s, or",
                                     kUseWrapper.substr(1)));
  }
  if (request.wait <= left) return {};
  return Error(
      Code::kInvalid,
      str("a container without the runtime wrapper may wait for at most ", left.count(),
          "s: its engine waits no longer; give graphcore.ai/ipu.wait=", left.count(), "s"));
}

// A namespace of its own is made before any hook runs: it can only be refused the host's.
Config without_isolation(Config config) {
  config.network.host_network = HostNetwork::kRefuse;
  return config;
}

std::string root_of(const ContainerState& state, const SpecView& view) {
  const std::filesystem::path root(view.root);
  return root.is_absolute() ? view.root : (std::filesystem::path(state.bundle) / root).string();
}

// The container's first process, which may end at any time; its pid is then another's soon.
Status check_runs(const base::ProcessId& init) {
  if (base::is_running(init)) return {};
  return Error(Code::kNotFound, str("process ", init.pid, " of the container has ended"));
}

// What belongs to the process is opened first, and is the process's if that runs afterwards.
Status apply_to_process(const Env& env, const SpecEdit& edit, const std::string& root,
                        const base::ProcessId& init) {
  Rootfs rootfs = TRY(Rootfs::open(init.pid, root));
  TRY(check_runs(init));
  for (const DeviceNode& device : edit.devices) TRY(rootfs.add_device(device));
  for (const FileMount& mount : edit.mounts) TRY(rootfs.add_file(mount));
  const DeviceCgroups cgroups = TRY(DeviceCgroups::of(init.pid, env.sysfs + "/fs/cgroup"));
  TRY(check_runs(init));
  if (edit.memlock) TRY(base::set_memlock(init.pid, *edit.memlock));
  return cgroups.allow(edit.devices);
}

// As prestart and as createRuntime the hook may be called twice for one start.
enum class Started { kYes, kNo };
Result<Started> is_started(Env& env, const ContainerState& state, const base::ProcessId& init) {
  for (const Lease& lease : TRY(env.ledger.live())) {
    const bool is_it = lease.container == state.id && lease.owner == init;
    if (is_it && lease.state == LeaseState::kRunning) return Started::kYes;
  }
  return Started::kNo;
}

}  // namespace

bool asks_hook(const ContainerState& state) { return asks_for_ipus({}, state.annotations); }

Status start_by_hook(Env& env, const Result<Config>& config, const ContainerState& state) {
  if (TRY(is_wrapped(env, state)) == Wrapped::kYes) return {};
  if (!config.ok()) return config.error();
  const std::optional<Request> request =
      TRY(parse_request({}, state.annotations, config.value().policy));
  if (!request) return {};
  if (state.pid == 0) {
    return Error(Code::kUnsupported,
                 "this runtime calls the hook before the container's namespaces exist: container"
                 " state on standard input has no 'pid'; use runc, crun, or youki from 0.6");
  }
  const base::ProcessId init = TRY(base::identify_process(state.pid));
  if (TRY(is_started(env, state, init)) == Started::kYes) return {};
  // The runtime may be killed while its hook waits; then nobody wants the container any more.
  env.still_wanted = [init] { return check_runs(init); };
  const PoolConfig pool = TRY(find_pool(config.value(), request->pool));
  TRY(check_time(*request, pool));
  const SpecView view = TRY(read_spec(state));
  const uint64_t memlock = TRY(base::highest_memlock());
  TRY(check_unchangeable(view, edit_before(pool), memlock));
  const std::string root = root_of(state, view);
  const NetworkNamespace network{NetworkNamespace::Kind::kPath,
                                 str("/proc/", state.pid, "/ns/net")};
  const Newcomer newcomer{state.id, state.bundle, network, state.annotations};
  const auto apply = [&](const Plan& plan) { return apply_to_process(env, plan.edit, root, init); };
  const Lease lease =
      TRY(prepare_lease(env, without_isolation(config.value()), *request, newcomer, apply));
  return attach_container(env, lease.id, state, Deadline::after(kAttachTime));
}

Status stop_by_hook(Env& env, const ContainerState& state, const Deadline& deadline,
                    const std::function<void()>& taken) {
  Status worst;
  for (Lease& lease : TRY(env.ledger.live())) {
    if (lease.container != state.id || lease.bundle != state.bundle) continue;
    const Judged judged = TRY(judge_lease(env, std::move(lease)));
    if (judged.judgement.life != Life::kEnded) continue;
    const Status done = release_by_id(env, judged.lease.id, deadline, taken);
    if (!done.ok()) worst = done;
  }
  taken();
  return worst;
}

}  // namespace hook
