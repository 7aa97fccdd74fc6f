// SPDX-License-Identifier: Apache-2.0
// monitor: takes a sample of how busy IPUs are.
#include <unistd.h>

#include <array>
#include <cstdio>
#include <memory>

#include "base/json.h"
#include "base/names.h"
#include "base/text.h"
#include "cmd/ipuctl/command.h"
#include "cmd/ipuctl/doctor_services.h"
#include "hook/config/paths.h"
#include "hook/lifecycle/env.h"
#include "hook/lifecycle/monitor.h"

namespace ipuctl {
namespace {

using namespace base::names;
using doctor::Finding;
using doctor::Verdict;
using hook::lifecycle::BusyLook;

std::string look_text(const BusyLook& look) {
  if (look.held == 0) return "no container has an IPU";
  const double percent =
      look.measured == 0 ? 0 : 100.0 * look.busy / static_cast<double>(look.measured);
  std::array<char, 32> busy{};
  (void)std::snprintf(busy.data(), busy.size(), "%.1f%%", percent);
  return str("the monitor says how busy ", look.measured, " of the ", look.held,
             " IPUs of containers are",
             look.measured == 0 ? std::string() : str(": ", busy.data()));
}

struct MonitorOptions {
  Output output = Output::kTable;
  bool dry_run = false;
};

Outcome outcome_of(const BusyLook& look, Output output) {
  if (output == Output::kTable) return Outcome{look_text(look) + "\n"};
  return Outcome{base::to_pretty_text(base::Json{
      {"held_ipus", look.held}, {"measured_ipus", look.measured}, {"busy_ipus", look.busy}})};
}

Result<Outcome> run_monitor(const MonitorOptions& options) {
  const std::string file = hook::config::config_file();
  const hook::config::Config config = TRY(hook::config::load_config(file));
  if (!config.monitor) {
    return Error(Code::kInvalid, str(file, ": there is no monitor: set 'command' in [monitor]"));
  }
  hook::ledger::Ledger ledger = TRY(options.dry_run ? read_ledger() : open_ledger());
  hook::lifecycle::Env env = hook::lifecycle::product_env(ledger);
  if (!options.dry_run) {
    const BusyLook look = TRY(hook::lifecycle::sample_busy(env, config, *config.monitor));
    return outcome_of(look, options.output);
  }
  const vipu::BusyParts parts = TRY(hook::lifecycle::ask_monitor(*config.monitor));
  const BusyLook look = TRY(hook::lifecycle::look_at_busy(env, config, parts));
  return outcome_of(look, options.output);
}

}  // namespace

std::optional<Finding> examine_monitor(hook::lifecycle::Env& env,
                                       const hook::config::Config& config) {
  if (!config.monitor || ::geteuid() != 0) return std::nullopt;
  constexpr const char* kCheck = "monitor";
  constexpr size_t kMaxFinding = 300;
  const std::string by_hand =
      "run 'ipuctl monitor --dry-run'; see [monitor] in "
      "ipu-container-toolkit(5) for what it must print";
  const Result<vipu::BusyParts> parts = hook::lifecycle::ask_monitor(*config.monitor);
  if (!parts.ok()) {
    return Finding{
        kCheck, Verdict::kWarning,
        base::one_line(str("how busy IPUs are is unknown: ", parts.error().message()), kMaxFinding),
        by_hand};
  }
  const Result<BusyLook> look = hook::lifecycle::look_at_busy(env, config, parts.value());
  if (!look.ok()) {
    return Finding{kCheck, Verdict::kWarning, base::one_line(look.error().message(), kMaxFinding),
                   by_hand};
  }
  const bool is_lost = look.value().held > 0 && look.value().measured == 0;
  return Finding{kCheck, is_lost ? Verdict::kWarning : Verdict::kOk,
                 str("it names ", parts.value().size(), " IPUs; ", look_text(look.value())),
                 is_lost ? "let it name IPUs as ip:device_id of the IPUoF file, or as a card's PCI "
                           "address"
                         : ""};
}

void add_monitor(CLI::App& app, Command& chosen) {
  const auto options = std::make_shared<MonitorOptions>();
  Options declared =
      add_command(app,
                  {"monitor", "Ask the site's monitor how busy IPUs are; a timer does so",
                   "ipuctl monitor --dry-run\nipuctl monitor"},
                  chosen, [options] { return run_monitor(*options); });
  declared.output(options->output);
  declared.flag("--dry-run", options->dry_run, "Print what the monitor says; count nothing");
}

}  // namespace ipuctl
