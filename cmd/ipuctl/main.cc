// SPDX-License-Identifier: Apache-2.0
// ipuctl: partitions, pools and leases, for operators and schedulers.
#include <sys/socket.h>
#include <unistd.h>

#include <CLI/CLI.hpp>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <set>
#include <string>

#include "base/crash_record.h"
#include "base/fs.h"
#include "base/log.h"
#include "base/names.h"
#include "base/text.h"
#include "base/version.h"
#include "cmd/common/usage/usage.h"
#include "cmd/ipu-agent/protocol/reply.h"
#include "cmd/ipuctl/agent_client.h"
#include "cmd/ipuctl/cdi_files.h"
#include "cmd/ipuctl/command.h"
#include "cmd/ipuctl/confined.h"
#include "cmd/ipuctl/viewer.h"
#include "cmd/ipuctl/watch.h"
#include "hook/config/log.h"
#include "hook/config/paths.h"

namespace {

using namespace base::names;
using agent::exit_code;
using ipuctl::Command;
using ipuctl::Outcome;
using ipuctl::Viewer;

constexpr int kUsage = 2;

void complain(const std::string& message) {
  constexpr size_t kLongest = 2000;
  base::log_step(base::LogLevel::kError, message);
  (void)std::fprintf(stderr, "ipuctl: %s\n", base::one_line(message, kLongest).c_str());
}

// Writes the answer to a user of ipu-agent, who may not read it.
int answer(const agent::Reply& reply) {
  constexpr timeval kLongest{10, 0};
  (void)::setsockopt(STDOUT_FILENO, SOL_SOCKET, SO_SNDTIMEO, &kLongest, sizeof kLongest);
  return base::write_all(STDOUT_FILENO, agent::reply_line(reply), "answer").ok() ? reply.exit : 1;
}

int answer_error(const Error& error) {
  return answer({exit_code(error.code()), "", {error.message()}, ""});
}

int run_by_agent(const Command& command) {
  const Result<Outcome> outcome = command();
  if (!outcome.ok()) return answer_error(outcome.error());
  agent::Reply reply{0, base::safe_lines(outcome.value().text), {}, ""};
  for (const Error& obstacle : outcome.value().obstacles) {
    if (reply.errors.empty()) reply.exit = exit_code(obstacle.code());
    reply.errors.push_back(obstacle.message());
  }
  return answer(reply);
}

int run(const Command& command, const std::string& name) {
  base::log_step(base::LogLevel::kDebug, base::str(name, " begins"));
  const Result<Outcome> outcome = command();
  if (!outcome.ok()) {
    complain(outcome.error().message());
    return exit_code(outcome.error().code());
  }
  base::log_step(base::LogLevel::kDebug, base::str(name, " has ended"));
  (void)std::fputs(base::safe_lines(outcome.value().text).c_str(), stdout);
  const bool written = std::fflush(stdout) == 0;
  const int err = errno;
  std::set<std::string> said;  // each obstacle is reported once
  for (const Error& obstacle : outcome.value().obstacles) {
    if (said.insert(obstacle.message()).second) complain(obstacle.message());
  }
  if (!outcome.value().obstacles.empty()) {
    return exit_code(outcome.value().obstacles.front().code());
  }
  if (!written) complain(Error::from_errno(err, "write to standard output").message());
  return written ? 0 : 1;
}

// Takes "--for-user UID" from the beginning of the arguments: with it, ipu-agent runs ipuctl.
Result<Viewer> viewer_of(int& argc, char**& argv) {
  if (argc < 2 || std::string_view(argv[1]) != "--for-user") return Viewer();
  const auto uid = TRY(base::parse_int<uid_t>(argc > 2 ? argv[2] : "", 0, UINT_MAX));
  argc -= 2;
  argv += 2;
  return Viewer::of_agent(uid);
}

void add_commands(CLI::App& app, const Viewer& viewer, Command& command) {
  ipuctl::add_partition_commands(app, command);
  ipuctl::add_pool_commands(app, command);
  ipuctl::add_device_commands(app, command);
  ipuctl::add_network_commands(app, command);
  ipuctl::add_plan(app, command);
  ipuctl::add_health_commands(app, command);
  ipuctl::add_monitor(app, command);
  ipuctl::add_top(app, command);
  ipuctl::add_lease_commands(app, viewer, command);
  ipuctl::add_drain(app, command);
  ipuctl::add_queue_commands(app, viewer, command);
  ipuctl::add_reservation_commands(app, viewer, command);
  ipuctl::add_tenant_commands(app, command);
  ipuctl::add_report(app, command);
  ipuctl::add_metrics(app, command);
  ipuctl::add_history_commands(app, viewer, command);
  ipuctl::add_host_commands(app, command);
  ipuctl::add_fleet_commands(app, command);
  ipuctl::add_ledger_commands(app, command);
  ipuctl::add_config_commands(app, command);
  ipuctl::add_runtime_commands(app, command);
  ipuctl::add_cdi_commands(app, command);
  ipuctl::add_slurm_commands(app, command);
  ipuctl::add_border_commands(app, command);
  ipuctl::add_doctor(app, command);
  ipuctl::add_info(app, command);
  ipuctl::add_support_bundle(app, command);
  ipuctl::add_completion(app, command);
}

}  // namespace

int main(int argc, char** argv) {
  (void)base::record_crashes("ipuctl", hook::config::crashes_file());
  if (::geteuid() == 0)
    hook::config::start_log("ipuctl", hook::config::load_log(hook::config::config_file()));
  const Result<Viewer> viewer = viewer_of(argc, argv);
  if (!viewer.ok()) {
    complain(viewer.error().message());
    return kUsage;
  }
  const bool is_by_agent = viewer.value().is_by_agent();
  CLI::App app("Manage the partitions, pools and leases of Graphcore IPUs for containers",
               "ipuctl");
  app.require_subcommand(1)->footer(
      ipuctl::examples_text("ipuctl doctor\n"
                            "ipuctl partition create p0 --size 4\n"
                            "ipuctl ps"));
  app.set_version_flag("--version", base::str("ipuctl ", base::product_version()),
                       "Print the version and exit");
  Command command;
  add_commands(app, viewer.value(), command);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) return app.exit(e);  // help, which CLI11 reports as an error too
    const Error error = usage::error_of(app, e);
    if (is_by_agent) return answer_error(error);
    complain(error.message());
    return kUsage;
  }
  const std::string name = usage::command_of(app);
  // What asks ipu-agent instead runs with the rights of its user.
  if (!is_by_agent && ::geteuid() != 0) command = ipuctl::command_by_agent(app).value_or(command);
  command = ipuctl::watched(app, std::move(command));
  const Command confined = [&]() -> Result<Outcome> {
    if (::geteuid() == 0) TRY(ipuctl::confine(name));
    return command();
  };
  return is_by_agent ? run_by_agent(confined) : run(confined, name);
}
