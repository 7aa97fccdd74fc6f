// SPDX-License-Identifier: Apache-2.0
// ipuctl fleet fence-due: fence = "auto".
#include <memory>

#include "base/names.h"
#include "cmd/ipuctl/fleet.h"
#include "hook/config/paths.h"
#include "hook/lifecycle/env.h"
#include "hook/lifecycle/partitions/fence_due.h"

namespace ipuctl {
namespace {

using namespace base::names;
using hook::fleet::HostState;
using hook::fleet::Suspicion;
namespace partitions = hook::lifecycle::partitions;

// Says what a run would do, and why not more.
std::string text_of(const partitions::Suspects& suspects, const hook::config::FleetConfig& fleet) {
  std::string text;
  for (const auto& [tag, one] : suspects.seen.suspects) {
    const int64_t time = suspects.seen.at_ms - one.since_ms;
    const std::string failure = one.failing_ms == 0 ? "" : str("; no witness: ", one.failure);
    const bool is_due = time >= fleet.fence_after.count();
    text += str("host ", tag, " is suspect for ", short_time(time),
                is_due ? "" : str(", and due after ", short_time(fleet.fence_after.count())),
                failure, "\n");
  }
  for (const HostState& one : suspects.due.hosts)
    text += str("would ask ", fleet.fence_witness, " about host ", one.host.tag, "\n");
  for (const std::string& tag : suspects.unfinished)
    text += str("would finish the fence of host ", tag, ", which was cut short\n");
  if (!suspects.due.why_not.empty()) text += str("would fence none: ", suspects.due.why_not, "\n");
  return text.empty() ? "no host is suspect\n" : text;
}

Result<Outcome> run_fence_due(bool dry_run) {
  const hook::config::Config config = TRY(hook::config::load_config(hook::config::config_file()));
  hook::ledger::Ledger ledger = TRY(open_ledger());
  hook::lifecycle::Env env = hook::lifecycle::product_env(ledger);
  const partitions::Moment now = TRY(partitions::this_moment());
  Outcome outcome;
  if (dry_run) {
    const partitions::Suspects suspects =
        TRY(partitions::find_suspects(env, now, outcome.obstacles));
    outcome.text = text_of(suspects, *config.fleet);
    return outcome;
  }
  const partitions::Witness witness = [&](const HostState& host) {
    return partitions::ask_witness(config.fleet->fence_witness, host);
  };
  for (const std::string& line :
       TRY(partitions::fence_due(env, config.pools, now, witness, outcome.obstacles)))
    outcome.text += str(line, "\n");
  return outcome;
}

}  // namespace

std::vector<std::string> witness_troubles(hook::ledger::Ledger& ledger,
                                          const hook::config::FleetConfig& fleet) {
  std::vector<std::string> lines;
  const Result<partitions::Moment> now = partitions::this_moment();
  const Result<std::string> text = ledger.fences().observed();
  if (!fleet.fences_itself || !now.ok() || !text.ok()) return lines;
  const hook::fleet::Observation seen = hook::fleet::parse_observation(text.value());
  if (seen.boot != now.value().boot) return lines;
  for (const auto& [tag, one] : seen.suspects) {
    if (one.failing_ms == 0) continue;
    lines.push_back(str("fleet: suspect host ", tag,
                        " is not fenced, because its witness has not"
                        " answered for ",
                        short_time(now.value().steady_ms - one.failing_ms), ": ", one.failure));
  }
  return lines;
}

void add_fleet_fence_due(CLI::App& group, Command& chosen) {
  const auto dry_run = std::make_shared<bool>(false);
  add_command(group,
              {"fence-due", "Fence a host that is due, by fence = \"auto\"; a timer does so",
               "ipuctl fleet fence-due --dry-run"},
              chosen, [dry_run] { return run_fence_due(*dry_run); })
      .flag("--dry-run", *dry_run, "Print which hosts are suspect, and what would be done");
}

}  // namespace ipuctl
