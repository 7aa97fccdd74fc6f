// SPDX-License-Identifier: Apache-2.0
// ipuctl doctor.
#include <unistd.h>

#include <algorithm>
#include <memory>

#include "base/json.h"
#include "base/names.h"
#include "base/text.h"
#include "cmd/ipuctl/command.h"
#include "cmd/ipuctl/doctor/doctor.h"
#include "cmd/ipuctl/doctor_services.h"
#include "cmd/ipuctl/doctor_trial.h"
#include "hook/config/paths.h"

namespace ipuctl {
namespace {

using namespace base::names;
using base::Json;
using ipuctl::doctor::Finding;
using ipuctl::doctor::Verdict;

std::string table_of(const std::vector<Finding>& findings) {
  Rows rows{{"RESULT", "CHECK", "FINDING"}};
  for (const Finding& finding : findings) {
    rows.push_back({std::string(name_of(finding.verdict)), finding.check, finding.says});
    if (!finding.advice.empty()) rows.push_back({"", "", str("-> ", finding.advice)});
  }
  return table(rows);
}

std::string json_of(const std::vector<Finding>& findings) {
  Json list = Json::array();
  for (const Finding& finding : findings) {
    list.push_back({{"check", finding.check},
                    {"result", name_of(finding.verdict)},
                    {"finding", finding.says},
                    {"advice", finding.advice}});
  }
  return base::to_pretty_text(list);
}

struct DoctorOptions {
  Output output = Output::kTable;
  std::string image;  // to try; empty: none
  bool fix = false;
};

void append(std::vector<Finding> more, std::vector<Finding>& findings) {
  for (Finding& finding : more) findings.push_back(std::move(finding));
}

// Mends what can be mended before anything is examined.
Result<std::vector<Finding>> fix(const Result<hook::config::Config>& config,
                                 const hook::config::Config& looked_at,
                                 const netns::Namespace& host) {
  if (::geteuid() != 0) return Error(Code::kDenied, "--fix changes this host; run ipuctl as root");
  Result<hook::ledger::Ledger> copy = read_ledger();
  const ipuctl::doctor::HostState state =
      ipuctl::doctor::look_at_host(looked_at, copy, host, {}, ipuctl::doctor::Trials::kSkipped);
  Result<hook::ledger::Ledger> ledger = open_ledger();
  return fix_host(ledger, config, state.device_links);
}

Result<Outcome> run_doctor(const DoctorOptions& options) {
  const Result<hook::config::Config> config =
      hook::config::load_config(hook::config::config_file());
  hook::config::Config looked_at;
  looked_at.runtimes = hook::config::default_runtimes();
  if (config.ok()) looked_at = config.value();
  const netns::Namespace host = TRY(netns::Namespace::current());
  std::vector<Finding> fixed;
  if (options.fix) fixed = TRY(fix(config, looked_at, host));
  Result<hook::ledger::Ledger> ledger = read_ledger();
  const ipuctl::doctor::Trials trials =
      ::geteuid() == 0 ? ipuctl::doctor::Trials::kAllowed : ipuctl::doctor::Trials::kSkipped;
  const ipuctl::doctor::HostState state =
      ipuctl::doctor::look_at_host(looked_at, ledger, host, {}, trials);
  std::vector<Finding> findings = std::move(fixed);
  append(ipuctl::doctor::examine(config, state), findings);
  append(examine_services(looked_at, ledger), findings);
  if (!options.image.empty()) append(try_container(options.image), findings);

  Outcome outcome{options.output == Output::kJson ? json_of(findings) : table_of(findings)};
  // For the exit status, an absent configuration is a wrong one.
  if (!config.ok()) outcome.obstacles.emplace_back(Code::kInvalid, config.error().message());
  const auto failed = static_cast<size_t>(
      std::count_if(findings.begin(), findings.end(),
                    [](const Finding& finding) { return finding.verdict == Verdict::kFailed; }));
  if (config.ok() && failed > 0) {
    outcome.obstacles.emplace_back(Code::kInternal, str(failed, " of ", findings.size(),
                                                        " checks failed; see the advice above"));
  }
  return outcome;
}

}  // namespace

void add_doctor(CLI::App& app, Command& chosen) {
  const auto options = std::make_shared<DoctorOptions>();
  const About about{"doctor", "Check this host and print what to do about each problem",
                    "ipuctl doctor\nipuctl doctor --try busybox"};
  Options declared = add_command(app, about, chosen, [options] { return run_doctor(*options); });
  declared.output(options->output);
  declared.text(
      {"--try", "IMAGE", "Also start a container of IMAGE with one IPU, and wait for its end"},
      options->image);
  declared.flag(
      "--fix", options->fix,
      "First mend what is safe: the packet filter, device links, what ended containers hold");
}

}  // namespace ipuctl
