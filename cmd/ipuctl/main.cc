// SPDX-License-Identifier: Apache-2.0
// ipuctl: partitions, pools and leases, for operators and schedulers.
#include <CLI/CLI.hpp>

#include <cerrno>
#include <cstdio>
#include <set>
#include <string>
#include <vector>

#include "base/crash_record.h"
#include "base/names.h"
#include "base/text.h"
#include "base/version.h"
#include "cmd/ipuctl/command.h"
#include "hook/config/paths.h"

namespace {

using namespace base::names;
using ipuctl::Command;
using ipuctl::Outcome;

constexpr int kUsage = 2;

// Returns the exit status of ipuctl(8): 0 done, 1 failed, 2 usage or configuration, 3 try again
// later.
int exit_code(Code code) {
  switch (code) {
    case Code::kInvalid:
      return kUsage;
    case Code::kBusy:
    case Code::kTimeout:
    case Code::kUnavailable:
      return 3;
    default:
      return 1;
  }
}

void complain(const std::string& message) {
  constexpr size_t kLongest = 2000;
  (void)std::fprintf(stderr, "ipuctl: %s\n", base::one_line(message, kLongest).c_str());
}

// Returns the command as far as it was understood, such as "ipuctl partition create".
std::string command_of(const CLI::App& app) {
  std::string text = app.get_name();
  for (const CLI::App* at = &app; !at->get_subcommands().empty();) {
    at = at->get_subcommands().front();
    text += base::str(" ", at->get_name());
  }
  return text;
}

std::string usage_error(const CLI::App& app, const CLI::ParseError& error) {
  const std::vector<std::string> unknown = app.remaining(true);
  const bool no_command = error.get_exit_code() == static_cast<int>(CLI::ExitCodes::RequiredError);
  if (no_command && !unknown.empty()) {
    return base::str("unknown command ", base::quote(unknown.front()));
  }
  return error.what();
}

int run(const Command& command) {
  const Result<Outcome> outcome = command();
  if (!outcome.ok()) {
    complain(outcome.error().message());
    return exit_code(outcome.error().code());
  }
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

}  // namespace

int main(int argc, char** argv) {
  (void)base::record_crashes("ipuctl", hook::config::crashes_file());
  CLI::App app("Manage the partitions, pools and leases of Graphcore IPUs for containers",
               "ipuctl");
  app.require_subcommand(1)->footer(
      ipuctl::examples_text("ipuctl doctor\n"
                            "ipuctl partition create p0 --size 4\n"
                            "ipuctl ps"));
  app.set_version_flag("--version", base::str("ipuctl ", base::product_version()),
                       "Print the version and exit");
  Command command;
  ipuctl::add_partition_commands(app, command);
  ipuctl::add_pool_commands(app, command);
  ipuctl::add_lease_commands(app, command);
  ipuctl::add_drain(app, command);
  ipuctl::add_queue_commands(app, command);
  ipuctl::add_reservation_commands(app, command);
  ipuctl::add_history_commands(app, command);
  ipuctl::add_ledger_commands(app, command);
  ipuctl::add_runtime_commands(app, command);
  ipuctl::add_border_commands(app, command);
  ipuctl::add_doctor(app, command);
  ipuctl::add_support_bundle(app, command);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) return app.exit(e);  // help, which CLI11 reports as an error too
    complain(base::str(usage_error(app, e), "; see '", command_of(app), " --help'"));
    return kUsage;
  }
  return run(command);
}
