// SPDX-License-Identifier: Apache-2.0
// ipu-container-start does the work of ipu-container-runtime, which calls it with its own command
// line if a command may concern the product. A container that asks for IPUs gets a lease and an
// edited bundle. Who joins the network of such a container gets no power over it. A checkpoint of a
// container with RDMA is refused. All else is one execve of runc or crun.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/crash_record.h"
#include "base/fd.h"
#include "base/fs.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/names.h"
#include "base/text.h"
#include "base/trace.h"
#include "cmd/ipu-container-start/report.h"
#include "hook/config/config.h"
#include "hook/config/log.h"
#include "hook/config/paths.h"
#include "hook/container/inject/bundle.h"
#include "hook/container/oci/powers.h"
#include "hook/container/oci/spec.h"
#include "hook/container/request/cdi.h"
#include "hook/container/request/keys.h"
#include "hook/container/request/request.h"
#include "hook/lifecycle/low_level.h"
#include "hook/lifecycle/start/asked.h"
#include "hook/lifecycle/start/checkpoint.h"
#include "hook/lifecycle/start/create.h"
#include "hook/lifecycle/start/leftovers.h"
#include "hook/lifecycle/start/neighbours.h"
#include "hook/lifecycle/start/refused.h"
#include "hook/lifecycle/start/rootless.h"
#include "hook/plain/caller.h"
#include "hook/plain/low_level.h"

namespace {

using namespace base::names;
using hook::config::Config;

// What a start with IPUs needs, in bytes.
constexpr size_t kHeap = 800 << 10;

std::string state_dir_of(const std::string& runtime, const hook::passing::CommandLine& line) {
  return hook::lifecycle::state_dir_of(runtime, std::string(line.root),
                                       std::string(line.container));
}

// Returns nothing for a bundle that is absent or cannot be read: the low-level runtime reports that
// in its own words. It may read what is too long here.
Result<std::optional<hook::inject::Bundle>> open_bundle(const hook::passing::CommandLine& line) {
  Result<hook::inject::Bundle> bundle =
      hook::inject::Bundle::open(std::string(line.bundle), std::string(line.config_name));
  if (bundle.ok()) return std::optional<hook::inject::Bundle>(std::move(bundle).take());
  TRY(hook::lifecycle::start::check_readable(hook::config::run_dir(), bundle.error()));
  const Code code = bundle.error().code();
  const bool is_no_bundle = code == Code::kNotFound || code == Code::kDenied ||
                            code == Code::kInvalid || bundle.error().sys_errno() == ENOTDIR;
  if (is_no_bundle) return std::optional<hook::inject::Bundle>();
  return std::move(bundle).error();
}

// A container without IPUs starts from its config.json as it is, with two exceptions. It loses what
// an earlier start with IPUs left there. Where it joins the network of a container with IPUs, it
// gets less than its engine said, or does not start.
Status prepare_plain(hook::inject::Bundle& bundle) {
  const std::string run_dir = hook::config::run_dir();
  std::optional<std::string> changed = hook::lifecycle::start::without_leftovers(
      run_dir, hook::config::hook_program(), hook::config::poststop_program(), bundle.config());
  const std::optional<std::string> restricted =
      TRY(hook::lifecycle::start::restrict_container(run_dir, changed.value_or(bundle.config())));
  if (restricted) {
    TRY_CTX("take CAP_NET_ADMIN and CAP_NET_RAW from a container that joins one with IPUs",
            bundle.replace_config(*restricted));
  } else if (changed) {
    (void)bundle.replace_config(*changed);
  }
  return {};
}

// Returns the parts of a config.json that asks for IPUs.
Result<std::optional<hook::oci::SpecView>> find_request(const hook::inject::Bundle& bundle) {
  using View = std::optional<hook::oci::SpecView>;
  if (!hook::request::mentions_ipus(bundle.config())) return View();
  hook::oci::SpecView view = TRY(hook::oci::parse_spec(bundle.config()));
  view.annotations = TRY(hook::request::with_cdi(bundle.config(), std::move(view.annotations)));
  if (!hook::request::asks_for_ipus(view.environment, view.annotations)) return View();
  return View(std::move(view));
}

Status take_ipus(const hook::passing::CommandLine& line, const Result<Config>& config,
                 const std::string& runtime, const hook::oci::SpecView& view,
                 hook::inject::Bundle& bundle, hook::lifecycle::start::Attempt& attempt) {
  if (!config.ok()) return config.error();
  const std::optional<hook::request::Request> request = TRY(
      hook::lifecycle::start::asked_of(std::string(line.container), view, config.value().policy));
  if (!request) return prepare_plain(bundle);
  attempt.tenant = request->tenant;
  base::log_step(base::LogLevel::kDebug, "it asks for IPUs");
  hook::ledger::Ledger ledger = TRY(hook::lifecycle::open_ledger(config.value().host_id));
  hook::lifecycle::Env env = hook::lifecycle::product_env(ledger);
  return hook::lifecycle::start::prepare_container(env, config.value(), *request,
                                                   std::string(line.container), view, bundle,
                                                   state_dir_of(runtime, line));
}

Status prepare(const hook::passing::CommandLine& line, const Result<Config>& config,
               const std::string& runtime, const hook::oci::SpecView& view,
               hook::inject::Bundle& bundle) {
  TRY(hook::lifecycle::start::check_host_root());
  hook::lifecycle::start::Attempt attempt{std::string(line.container), bundle.path(),
                                          base::unix_millis()};
  Status done = take_ipus(line, config, runtime, view, bundle, attempt);
  if (!done.ok()) {
    hook::lifecycle::start::record_refused(hook::config::ledger_file(), attempt, done.error());
  }
  return done;
}

// Returns the low-level runtime to which commands on existing containers go.
Result<std::string> remembered_runtime() {
  return hook::lifecycle::choose_runtime(
      hook::lifecycle::remembered_runtimes(hook::config::run_dir(), hook::config::config_file()));
}

// Returns the low-level runtime that the configuration chooses, which was read in STATE. If it
// cannot be read or the choice not be recorded, returns that of all other commands: a container
// without IPUs starts nevertheless, and they must know it.
Result<std::string> configured_runtime(const Result<Config>& config, const std::string& state) {
  if (!config.ok()) return remembered_runtime();
  const std::string run_dir = hook::config::run_dir();
  std::string runtime = TRY(hook::lifecycle::choose_runtime(config.value().runtimes));
  if (!hook::plain::remember_runtime(run_dir, runtime).ok()) return remembered_runtime();
  if (config.value().log.level) {
    hook::plain::forget_choice(run_dir);  // each create has lines in the log
  } else {
    (void)hook::plain::record_choice(run_dir, hook::config::config_file(), state,
                                     config.value().runtimes, runtime);
  }
  return runtime;
}

// Starts the log of a start. An invalid configuration may say how nevertheless.
void start_log(const Result<Config>& config, const std::string& container) {
  hook::config::start_log(
      "ipu-container-runtime",
      config.ok() ? config.value().log : hook::config::load_log(hook::config::config_file()));
  base::log_for(container);
  base::log_step(base::LogLevel::kDebug, "create begins; the configuration is read");
}

// Does everything that comes before the low-level runtime, and returns the runtime's path.
Result<std::string> before_create(const hook::passing::CommandLine& line) {
  const std::string state = hook::plain::state_of(hook::config::config_file());
  const Result<Config> config = hook::config::load_config(hook::config::config_file());
  start_log(config, std::string(line.container));
  std::string runtime = TRY(configured_runtime(config, state));
  std::optional<hook::inject::Bundle> bundle = TRY(open_bundle(line));
  if (!bundle) return runtime;
  const std::optional<hook::oci::SpecView> asking = TRY(find_request(*bundle));
  base::log_step(base::LogLevel::kDebug, "config.json is parsed");
  if (asking) {
    TRY(prepare(line, config, runtime, *asking, *bundle));
  } else {
    TRY(prepare_plain(*bundle));
  }
  return runtime;
}

Result<std::string> find_runtime(const hook::passing::CommandLine& line) {
  if (line.creates()) return before_create(line);
  std::string runtime = TRY(remembered_runtime());
  if (line.saves()) {
    TRY(hook::lifecycle::start::check_checkpoint(
        hook::config::run_dir(), std::string(line.container), state_dir_of(runtime, line)));
  }
  return runtime;
}

// Returns a file in memory that holds TEXT, for the low-level runtime to read by its path.
Result<std::string> file_in_memory(const std::string& text) {
  constexpr int kLowest = 200;  // out of the way of descriptors that an engine passes
  const base::Fd file(::memfd_create("process.json", MFD_CLOEXEC));
  if (!file.valid()) return Error::from_errno(errno, "make a file in memory");
  TRY(base::write_all(file.get(), text, "file in memory"));
  const int kept = ::fcntl(file.get(), F_DUPFD, kLowest);
  if (kept < 0) return Error::from_errno(errno, "keep a file in memory");
  return base::str("/proc/self/fd/", kept);
}

// Returns the word that replaces the one with --process; nothing if the process may stay as its
// engine describes it, and in every doubt: an exec works whatever state our files are in.
std::optional<std::string> restricted_process(const hook::passing::CommandLine& line,
                                              const std::string& runtime) {
  const std::string run_dir = hook::config::run_dir();
  if (!line.adds() || !hook::lifecycle::start::may_restrict(run_dir)) return std::nullopt;
  const Result<std::string> text =
      base::read_plain_file(std::string(line.process), hook::oci::kMaxProcessBytes);
  if (!text.ok()) return std::nullopt;
  const std::optional<std::string> restricted =
      hook::lifecycle::start::restrict_process(run_dir, state_dir_of(runtime, line), text.value());
  if (!restricted) return std::nullopt;
  const Result<std::string> path = file_in_memory(*restricted);
  if (!path.ok()) return std::nullopt;
  return base::str(line.process_prefix, path.value());
}

// Opens /dev/null on closed standard streams, so that no other file takes their numbers. They are
// closed again for the low-level runtime.
void fill_standard_streams() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (::fcntl(fd, F_GETFD) < 0) (void)::open("/dev/null", O_RDWR | O_CLOEXEC);
  }
}

}  // namespace

int main(int argc, char** argv) {
  base::map_memory(kHeap);
  hook::plain::take_caller();
  const std::vector<std::string_view> args(argv + (argc > 0 ? 1 : 0), argv + argc);
  const hook::passing::CommandLine line = hook::passing::parse_command_line(args);
  if (line.creates()) fill_standard_streams();
  if (line.creates() || line.adds())
    (void)base::record_crashes("ipu-container-start", hook::config::crashes_file());
  const Result<std::string> runtime = find_runtime(line);
  if (!runtime.ok()) {
    runtime::report(line, runtime.error());
    return 1;
  }
  std::optional<std::string> process = restricted_process(line, runtime.value());
  if (process) argv[line.process_at + 1] = process->data();
  // argv[0] is the path of the runtime, as if it had been called: it may find itself by this name.
  std::string name = runtime.value();
  base::log_step(base::LogLevel::kDebug, base::str("exec ", name));
  base::write_trace();
  char* no_args[] = {name.data(), nullptr};
  char** new_argv = argc > 0 ? argv : no_args;
  new_argv[0] = name.data();
  (void)::execv(name.c_str(), new_argv);
  runtime::report(line, Error::from_errno(errno, base::str("execute '", name, "'")));
  return 1;
}
