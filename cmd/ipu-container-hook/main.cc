// SPDX-License-Identifier: Apache-2.0
// ipu-container-hook. The low-level runtime calls it with the container's state on standard input.
// For a container that the wrapper prepared:
//   ipu-container-hook createRuntime|prestart|poststop --lease ID
// For a container without the wrapper, by the engine's hooks.d:
//   ipu-container-hook createRuntime|prestart|poststop
// For a container with a CDI device, whatever the engine:
//   ipu-container-hook createRuntime --cdi KEY=VALUE...
// The product itself calls:
//   ipu-container-hook probe --lease ID
//   ipu-container-hook release --lease ID
//   ipu-container-hook reconcile
// For people:
//   ipu-container-hook --version
#include <syslog.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/crash_record.h"
#include "base/detached.h"
#include "base/fs.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/names.h"
#include "base/text.h"
#include "base/trace.h"
#include "base/version.h"
#include "hook/config/config.h"
#include "hook/config/log.h"
#include "hook/config/paths.h"
#include "hook/confinement/enter.h"
#include "hook/container/oci/state.h"
#include "hook/container/request/cdi.h"
#include "hook/ledger/ledger.h"
#include "hook/lifecycle/end/release.h"
#include "hook/lifecycle/network/duplicate_probe.h"
#include "hook/lifecycle/network/prohibitions.h"
#include "hook/lifecycle/start/attach.h"
#include "hook/lifecycle/start/refused.h"
#include "hook/lifecycle/start/rootless.h"
#include "hook/lifecycle/start/without_wrapper.h"

namespace {

using namespace base::names;

// Shorter than the timeout in config.json, so that the hook can report the reason before it is
// killed.
constexpr std::chrono::milliseconds kTime{10'000};

constexpr std::chrono::milliseconds kReleaseTime{30'000};  // of a release for which nobody waits
constexpr std::chrono::minutes kReconcileTime{5};

constexpr size_t kLongestLine = 1000;
constexpr const char* kProgram = "ipu-container-hook";
// What a phase needs, in bytes.
constexpr size_t kHeap = 640 << 10;

struct Call {
  std::string stage;     // "createRuntime", ...
  std::string lease_id;  // empty: there was no wrapper
  bool is_cdi = false;   // a CDI device asks for IPUs; config.json has all that the container asks
};

Result<Call> parse_call(const std::vector<std::string_view>& args) {
  constexpr std::array<std::string_view, 5> kStages = {"createRuntime", "prestart", "poststop",
                                                       "probe", "release"};
  const bool has_stage =
      !args.empty() && std::find(kStages.begin(), kStages.end(), args[0]) != kStages.end();
  const bool has_lease =
      args.size() == 3 && args[1] == "--lease" && hook::ledger::is_lease_id(args[2]);
  if (has_stage && has_lease) return Call{std::string(args[0]), std::string(args[2])};
  const bool is_cdi =
      args.size() >= 3 && args[0] == "createRuntime" && args[1] == hook::request::kCdiOption;
  if (is_cdi) return Call{std::string(args[0]), "", true};
  const bool is_hook = has_stage && args[0] != "probe" && args[0] != "release";
  if (is_hook && args.size() == 1) return Call{std::string(args[0]), ""};
  return Error(Code::kInvalid,
               "usage: ipu-container-hook createRuntime|prestart|poststop [--lease ID], or"
               " ipu-container-hook createRuntime --cdi KEY=VALUE..., or ipu-container-hook "
               "probe|release --lease ID; pass the container's state on standard input,"
               " and an ID of 32 hexadecimal digits. 'ipu-container-hook reconcile' takes neither");
}

using State = Result<hook::oci::ContainerState>;

// Reads standard input to its end, even if the state is not needed: otherwise the runtime would
// write into a closed pipe.
State read_state() {
  return hook::oci::parse_state(TRY(base::read_all(STDIN_FILENO, hook::oci::kMaxStateBytes,
                                                   "container state on standard input")));
}

enum class Waits { kEngine, kNobody };

Status release(const std::string& lease_id, const base::Deadline& deadline, Waits who) {
  hook::ledger::Ledger ledger = TRY(hook::lifecycle::open_ledger());
  hook::lifecycle::Env env = hook::lifecycle::product_env(ledger);
  Status done = hook::lifecycle::end::release_by_id(env, lease_id, deadline);
  if (who == Waits::kNobody) ledger.settle();
  return done;
}

// Releases what the container has, which only its STATE names.
Status stop_alone(const State& state, const base::Deadline& deadline,
                  const std::function<void()>& taken, Waits who) {
  if (!state.ok()) return state.error();
  hook::ledger::Ledger ledger = TRY(hook::lifecycle::open_ledger());
  hook::lifecycle::Env env = hook::lifecycle::product_env(ledger);
  Status done = hook::lifecycle::start::stop_by_hook(env, state.value(), deadline, taken);
  if (who == Waits::kNobody) ledger.settle();
  return done;
}

// After confinement: the log is below a directory of root, like all that the phases write.
void start_log(std::string_view what, const std::string& id) {
  hook::config::start_log(kProgram, hook::config::load_log(hook::config::config_file()));
  base::log_for(id);
  base::log_step(base::LogLevel::kDebug, base::str(what, " begins"));
}

void log_end(const Status& done) {
  if (done.ok()) base::log_step(base::LogLevel::kDebug, "it has ended");
  if (!done.ok()) base::log_step(base::LogLevel::kError, done.error().message());
}

// Reports to syslog, because crun does not show the output of a hook, and nobody that of a release.
void log_to_system(std::string_view whose, const std::string& id, const Error& error) {
  ::openlog("ipu-container-hook", LOG_PID, LOG_DAEMON);
  const std::string line = base::one_line(error.message(), kLongestLine);
  ::syslog(LOG_ERR, "%s: %s", base::str(whose, " ", id).c_str(), line.c_str());
  ::closelog();
}

// Lets the engine wait only until the ledger has the lease as being released. A detached process
// does the rest, which takes the kernel 20 ms and the controller any time. If no such process can
// be started, this one does it.
Status poststop_alone(const State& state, const base::Deadline& deadline) {
  const auto work = [&](const std::function<void()>& started) {
    const Status done =
        stop_alone(state, base::Deadline::after(kReleaseTime), started, Waits::kNobody);
    log_end(done);
    if (!done.ok() && state.ok())
      log_to_system("container", base::one_line(state.value().id, kLongestLine), done.error());
    return done.ok() ? base::Work::kDone : base::Work::kFailed;
  };
  if (base::go_on_detached(work, deadline).ok()) return {};
  return stop_alone(
      state, deadline, [] {}, Waits::kEngine);
}

// Lets the engine wait only until another process has been started that releases the lease. If that
// is killed before it records the release, the next reconcile finds the lease without its owner.
// Returns false if no such process can be started. Only drains standard input.
bool hand_over(const Call& call, bool is_debugged) {
  if (call.stage != "poststop" || call.lease_id.empty()) return false;
  (void)base::read_all(STDIN_FILENO, hook::oci::kMaxStateBytes, "standard input");
  const std::vector<std::string> environment =
      is_debugged ? std::vector<std::string>{"IPU_DEBUG=1"} : std::vector<std::string>();
  return base::leave_to(hook::config::hook_program(),
                        {kProgram, "release", "--lease", call.lease_id}, environment)
      .ok();
}

Status release_alone(const std::string& lease_id) {
  Status done = release(lease_id, base::Deadline::after(kReleaseTime), Waits::kNobody);
  if (!done.ok()) log_to_system("lease", lease_id, done.error());
  return done;
}

// With IS_CDI, a CDI device asks for IPUs, whatever the annotations say.
Status start_alone(const hook::oci::ContainerState& state, bool is_cdi) {
  TRY(hook::lifecycle::start::check_host_root());
  const Result<hook::config::Config> config =
      hook::config::load_config(hook::config::config_file());
  hook::ledger::Ledger ledger = TRY(hook::lifecycle::open_ledger());
  hook::lifecycle::Env env = hook::lifecycle::product_env(ledger);
  return hook::lifecycle::start::start_by_hook(env, config, state, is_cdi);
}

// Reports the failed start of a container, which began at this unix time.
void report(const hook::oci::ContainerState& state, int64_t since_ms, const Error& error) {
  log_to_system("container", base::one_line(state.id, kLongestLine), error);
  hook::lifecycle::start::record_refused(hook::config::ledger_file(),
                                         {state.id, state.bundle, since_ms}, error);
}

// Starts a container without the wrapper. Reads no file for a container without IPUs.
Status create_alone(const State& state, bool is_cdi) {
  if (!state.ok()) return state.error();
  if (!is_cdi && !hook::lifecycle::start::asks_hook(state.value())) return {};
  start_log("createRuntime without the runtime wrapper", state.value().id);
  const int64_t since_ms = base::unix_millis();
  Status done = start_alone(state.value(), is_cdi);
  if (!done.ok()) report(state.value(), since_ms, done.error());
  return done;
}

Status reconcile() {
  hook::ledger::Ledger ledger = TRY(hook::lifecycle::open_ledger());
  hook::lifecycle::Env env = hook::lifecycle::product_env(ledger);
  hook::lifecycle::Scope due;
  due.due_only = true;
  const hook::lifecycle::end::Reconciled done =
      TRY(hook::lifecycle::end::reconcile(env, base::Deadline::after(kReconcileTime), due));
  ledger.settle();
  // A broken configuration tells no controllers.
  const Result<hook::config::Config> config =
      hook::config::load_config(hook::config::config_file());
  if (config.ok()) {
    const std::vector<Error> behind = hook::lifecycle::network::follow_controllers(
        env, config.value(), base::Deadline::after(kReconcileTime));
    if (!behind.empty()) return behind.front();
  }
  if (!done.obstacles.empty()) return done.obstacles.front();
  return {};
}

// Before anything is read.
Status confine(hook::confinement::Phase phase) {
  return hook::confinement::enter(phase, kProgram, hook::config::forbidden_calls_file());
}

hook::confinement::Phase phase_of(const Call& call) {
  using hook::confinement::Phase;
  if (call.stage == "probe") return Phase::kProbe;
  const bool is_alone = call.lease_id.empty() && call.stage != "poststop";
  return is_alone ? Phase::kAlone : Phase::kLease;
}

Status run(const std::vector<std::string_view>& args, bool is_debugged) {
  if (args.size() == 1 && args[0] == "reconcile") {
    base::map_memory(kHeap);
    TRY(confine(hook::confinement::Phase::kLease));
    start_log("reconcile", "");
    return reconcile();
  }
  const Call call = TRY(parse_call(args));
  if (hand_over(call, is_debugged)) return {};
  if (call.stage != "probe") base::map_memory(kHeap);
  TRY(confine(phase_of(call)));
  const State state = read_state();
  const bool is_alone = call.lease_id.empty();
  if (!is_alone || call.stage == "poststop")
    start_log(call.stage, is_alone && state.ok() ? state.value().id : call.lease_id);
  const auto deadline = base::Deadline::after(kTime);
  if (is_alone)
    return call.stage == "poststop" ? poststop_alone(state, deadline)
                                    : create_alone(state, call.is_cdi);
  if (call.stage == "probe")
    return hook::lifecycle::network::probe_lease(hook::config::run_dir(), call.lease_id);
  if (call.stage == "release") return release_alone(call.lease_id);
  if (call.stage == "poststop") return release(call.lease_id, deadline, Waits::kEngine);
  hook::ledger::Ledger ledger = TRY(hook::lifecycle::open_ledger());
  hook::lifecycle::Env env = hook::lifecycle::product_env(ledger);
  return hook::lifecycle::start::attach_container(env, call.lease_id, state, deadline);
}

}  // namespace

int main(int argc, char** argv) {
  const bool is_debugged = hook::config::asks_to_debug();
  (void)::clearenv();
  if (is_debugged) (void)::setenv("IPU_DEBUG", "1", 1);
  const std::vector<std::string_view> args(argv + (argc > 0 ? 1 : 0), argv + argc);
  if (args.size() == 1 && args[0] == "--version") {
    return std::printf("ipu-container-hook %s\n", base::product_version().c_str()) < 0;
  }
  (void)base::record_crashes(kProgram, hook::config::crashes_file());
  const Status done = run(args, is_debugged);
  log_end(done);
  base::write_trace();
  if (done.ok()) return 0;
  (void)std::fprintf(stderr, "ipu: %s\n",
                     base::one_line(done.error().message(), kLongestLine).c_str());
  // The ledger has what poststop could not do, and reconcile does it. A failure here would only
  // keep the engine from deleting the container, and other hooks from running.
  return !args.empty() && args[0] == "poststop" ? 0 : 1;
}
