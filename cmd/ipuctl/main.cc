// SPDX-License-Identifier: Apache-2.0
// ipuctl: leases and partitions, for operators and schedulers.
#include <CLI/CLI.hpp>

#include <cstdio>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/text.h"
#include "cmd/ipuctl/print.h"
#include "hook/config/config.h"
#include "hook/config/paths.h"
#include "hook/ledger/ledger.h"
#include "hook/lifecycle/env.h"
#include "hook/lifecycle/release.h"

namespace {

using base::Code;
using base::Deadline;
using base::Error;
using base::Result;
using ipuctl::Output;

constexpr std::chrono::milliseconds kListTime{10'000};
constexpr std::chrono::milliseconds kReleaseTime{60'000};

struct Options {
  Output output = Output::kTable;
  std::string lease;
  bool dry_run = false;
};

// What a command prints, and the exit code when it has printed it.
struct Outcome {
  std::string text;
  int exit_code = 0;
};

using Command = std::function<Result<Outcome>(const Options&)>;

// The codes of DESIGN: 0 done, 1 failed, 2 usage or configuration, 3 try again later.
int exit_code(Code code) {
  switch (code) {
    case Code::kInvalid:
      return 2;
    case Code::kBusy:
    case Code::kTimeout:
    case Code::kUnavailable:
      return 3;
    default:
      return 1;
  }
}

Result<Outcome> run_version(const Options& options) {
  return Outcome{ipuctl::version_text(options.output)};
}

Result<Outcome> run_ps(const Options& options) {
  hook::Ledger ledger = TRY(hook::Ledger::open(hook::ledger_file()));
  const std::vector<hook::Lease> leases = TRY(ledger.live());
  return Outcome{ipuctl::leases_text(leases, options.output)};
}

Result<Outcome> run_partition_list(const Options& options) {
  const hook::Config config = TRY(hook::load_config(hook::config_file()));
  hook::Ledger ledger = TRY(hook::Ledger::open(hook::ledger_file()));
  const hook::Env env = hook::product_env(ledger);
  const std::vector<vipu::Partition> partitions =
      TRY(env.controller(config.pool.controller)->list(Deadline::after(kListTime)));
  const std::vector<hook::Lease> leases = TRY(ledger.live());
  return Outcome{ipuctl::partitions_text(partitions, leases, options.output)};
}

Result<Outcome> run_lease_show(const Options& options) {
  hook::Ledger ledger = TRY(hook::Ledger::open(hook::ledger_file()));
  const hook::Lease lease = TRY(ledger.get(options.lease));
  return Outcome{ipuctl::lease_text(lease, options.output)};
}

Result<Outcome> run_gc(const Options& options) {
  hook::Ledger ledger = TRY(hook::Ledger::open(hook::ledger_file()));
  hook::Env env = hook::product_env(ledger);
  if (options.dry_run) {
    const std::vector<hook::Lease> orphans = TRY(hook::find_orphans(env));
    return Outcome{ipuctl::orphans_text(orphans, options.output)};
  }
  const hook::Reconciled done = TRY(hook::reconcile(env, Deadline::after(kReleaseTime)));
  for (const Error& obstacle : done.obstacles) {
    (void)std::fprintf(stderr, "ipuctl: %s\n", obstacle.message().c_str());
  }
  const int code = done.obstacles.empty() ? 0 : exit_code(done.obstacles.front().code());
  return Outcome{ipuctl::reconciled_text(done, options.output), code};
}

void add_output(CLI::App& command, Options& options) {
  const std::map<std::string, Output> names = {{"table", Output::kTable}, {"json", Output::kJson}};
  command.add_option("-o,--output", options.output, "table (default) or json")
      ->transform(CLI::CheckedTransformer(names).description("{table,json}"));
}

// One subcommand; when it is the one that was called, RUN becomes its verb.
CLI::App* add_command(CLI::App& parent, const char* name, const char* description, Options& options,
                      Command& chosen, Command run) {
  CLI::App* command = parent.add_subcommand(name, description);
  add_output(*command, options);
  command->callback([&chosen, run = std::move(run)] { chosen = run; });
  return command;
}

void add_commands(CLI::App& app, Options& options, Command& chosen) {
  app.require_subcommand(1);
  add_command(app, "version", "Show the version of the toolkit", options, chosen, run_version);
  add_command(app, "ps", "List the leases of this host's containers", options, chosen, run_ps);
  CLI::App* partition = app.add_subcommand("partition", "Partitions of the V-IPU controller");
  partition->require_subcommand(1);
  add_command(*partition, "list", "List all partitions and who holds them", options, chosen,
              run_partition_list);
  CLI::App* lease = app.add_subcommand("lease", "Leases");
  lease->require_subcommand(1);
  add_command(*lease, "show", "Show one lease", options, chosen, run_lease_show)
      ->add_option("lease", options.lease, "Id of a lease or a container, or the start of one")
      ->required();
  add_command(app, "gc", "Release what ended containers left", options, chosen, run_gc)
      ->add_flag("--dry-run", options.dry_run, "Only say what would be released");
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Leases and partitions of Graphcore IPUs for containers", "ipuctl");
  Options options;
  Command command;
  add_commands(app, options, command);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  }
  const Result<Outcome> outcome = command(options);
  if (!outcome.ok()) {
    (void)std::fprintf(stderr, "ipuctl: %s\n",
                       base::one_line(outcome.error().message(), 1000).c_str());
    return exit_code(outcome.error().code());
  }
  (void)std::fputs(outcome.value().text.c_str(), stdout);
  return std::fflush(stdout) == 0 ? outcome.value().exit_code : 1;
}
