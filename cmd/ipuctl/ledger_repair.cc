// SPDX-License-Identifier: Apache-2.0
// ipuctl ledger check and rebuild.
#include <CLI/CLI.hpp>

#include <algorithm>
#include <memory>

#include "base/json.h"
#include "base/names.h"
#include "base/text.h"
#include "cmd/ipuctl/command.h"
#include "hook/config/paths.h"
#include "hook/ledger/check.h"
#include "hook/lifecycle/repair/compare.h"
#include "hook/lifecycle/repair/rebuild.h"

namespace ipuctl {
namespace {

using namespace base::names;
using base::Json;
using hook::ledger::Flaw;

constexpr std::chrono::milliseconds kTime{60'000};
constexpr std::chrono::milliseconds kEachTime{10'000};  // for one controller

struct CheckOptions {
  Output output = Output::kTable;
  std::string file;  // empty: this host's ledger
  bool offline = false;
};

struct RebuildOptions {
  Output output = Output::kTable;
  bool dry_run = false;
  bool force = false;
  bool claim_unclaimed = false;
};

// Returns the configured pools; none if the configuration is broken, because a repair must still be
// possible then.
std::vector<hook::config::PoolConfig> pools() {
  const Result<hook::config::Config> config =
      hook::config::load_config(hook::config::config_file());
  return config.ok() ? config.value().pools : std::vector<hook::config::PoolConfig>();
}

hook::ledger::HostWitnesses this_host() {
  return hook::lifecycle::this_host(hook::config::load_host_id(hook::config::config_file()));
}

bool has_error(const std::vector<Flaw>& flaws) {
  return std::any_of(flaws.begin(), flaws.end(), [](const Flaw& flaw) {
    return flaw.gravity == hook::ledger::Gravity::kError;
  });
}

std::string flaws_text(const std::vector<Flaw>& flaws, Output output) {
  if (output == Output::kJson) {
    Json list = Json::array();
    for (const Flaw& flaw : flaws) {
      list.push_back(
          {{"result", name_of(flaw.gravity)}, {"finding", flaw.says}, {"advice", flaw.advice}});
    }
    return base::to_pretty_text(list);
  }
  std::string text;
  for (const Flaw& flaw : flaws) {
    text += str(name_of(flaw.gravity), ": ", flaw.says);
    text += flaw.advice.empty() ? "\n" : str("; ", flaw.advice, "\n");
  }
  return text;
}

base::Status add_outside(std::vector<Flaw>& flaws) {
  hook::ledger::Ledger ledger = TRY(open_ledger());
  TRY(ledger.host().check());
  hook::lifecycle::Env env = hook::lifecycle::product_env(ledger);
  std::vector<Flaw> outside =
      TRY(hook::lifecycle::repair::compare_outside(env, pools(), Deadline::after(kTime)));
  flaws.insert(flaws.end(), outside.begin(), outside.end());
  return {};
}

Result<Outcome> run_check(const CheckOptions& options) {
  if (!options.file.empty() && !options.offline) {
    return base::Error(
        Code::kInvalid,
        "--file requires --offline, because a copy of a ledger cannot be compared with"
        " this host");
  }
  const std::string file = options.file.empty() ? hook::config::ledger_file() : options.file;
  std::vector<Flaw> flaws = TRY(hook::ledger::check_ledger(file));
  // A ledger with flaws says nothing about the world outside; and opening it would migrate it.
  if (!options.offline && flaws.empty()) TRY(add_outside(flaws));
  if (flaws.empty() && options.output == Output::kTable) {
    return Outcome{str("the ledger ", base::quote(file), " is intact",
                       options.offline ? "" : ", and agrees with the kernel and the controllers",
                       "\n")};
  }
  Outcome outcome{flaws_text(flaws, options.output)};
  if (has_error(flaws)) {
    outcome.obstacles.emplace_back(Code::kInternal, str("the ledger ", base::quote(file),
                                                        " has errors; see the advice above"));
  }
  return outcome;
}

Json ids_of(const std::vector<hook::ledger::Lease>& leases) {
  Json ids = Json::array();
  for (const hook::ledger::Lease& lease : leases) {
    ids.push_back({{"lease", lease.id}, {"container", lease.container}});
  }
  return ids;
}

std::string rebuilt_text(const hook::lifecycle::repair::Rebuilt& done, Output output) {
  if (output == Output::kJson) {
    Json partitions = Json::array();
    for (const hook::ledger::PartitionRecord& record : done.partitions)
      partitions.push_back(record.name);
    return base::to_pretty_text({{"running", ids_of(done.running)},
                                 {"to_release", ids_of(done.ended)},
                                 {"partitions", partitions},
                                 {"notes", done.notes},
                                 {"set_aside", done.set_aside}});
  }
  std::string text;
  for (const hook::ledger::Lease& lease : done.running) {
    text +=
        str("running: lease ", lease.id, " of container ", base::short_id(lease.container), "\n");
  }
  for (const hook::ledger::Lease& lease : done.ended) {
    text += str("to release: lease ", lease.id, " of container ", base::short_id(lease.container),
                "; run 'ipuctl gc'\n");
  }
  for (const hook::ledger::PartitionRecord& record : done.partitions) {
    text += str("partition: ", record.name, " of pool ", record.pool, "\n");
  }
  for (const std::string& note : done.notes) text += str("note: ", note, "\n");
  if (!done.set_aside.empty()) text += str("the old ledger was renamed to ", done.set_aside, "\n");
  return text;
}

Result<Outcome> run_rebuild(const RebuildOptions& options) {
  hook::lifecycle::repair::Rebuild rebuild;
  rebuild.ledger = hook::config::ledger_file();
  rebuild.run_dir = hook::config::run_dir();
  rebuild.pools = pools();
  rebuild.env = hook::lifecycle::product_env;
  rebuild.host = this_host();
  rebuild.force = options.force;
  if (options.dry_run) rebuild.dry_run = hook::lifecycle::repair::DryRun::kYes;
  if (options.claim_unclaimed) rebuild.unclaimed = hook::lifecycle::repair::Unclaimed::kClaim;
  const hook::lifecycle::repair::Rebuilt done =
      TRY(hook::lifecycle::repair::rebuild_ledger(rebuild, Deadline::after(kTime)));
  return Outcome{rebuilt_text(done, options.output)};
}

void add_check(CLI::App& group, Command& chosen) {
  const auto options = std::make_shared<CheckOptions>();
  Options declared =
      add_command(group,
                  {"check", "Check the ledger, and compare it with the kernel and the controllers",
                   "ipuctl ledger check --offline"},
                  chosen, [options] { return run_check(*options); });
  declared.output(options->output);
  declared.text(
      {"--file", "PATH", "Check a copy instead of this host's ledger (requires --offline)"},
      options->file);
  declared.flag("--offline", options->offline, "Check the database only");
}

// What a ledger has that the controllers have too: containers of the host whose it was may use it.
Result<std::vector<std::string>> still_there(hook::ledger::Ledger& ledger, Outcome& outcome) {
  const hook::config::Config config = TRY(hook::config::load_config(hook::config::config_file()));
  hook::lifecycle::Env env = hook::lifecycle::product_env(ledger);
  std::vector<std::string> names;
  for (const hook::config::PoolConfig& pool : config.pools) {
    if (pool.provider != hook::config::Provider::kVipu) continue;
    Result<std::vector<vipu::Partition>> listed =
        env.controller(pool)->list(Deadline::after(kEachTime));
    if (!listed.ok()) {
      outcome.obstacles.push_back(std::move(listed).error());
      continue;
    }
    for (const vipu::Partition& partition : listed.value()) {
      if (TRY(ledger.partitions().knows(partition.id))) names.push_back(partition.id);
    }
  }
  return names;
}

Result<Outcome> run_adopt_host(const RebuildOptions& options) {
  hook::ledger::Ledger ledger = TRY(open_ledger());
  if (ledger.host().check().ok())
    return Outcome{str("the ledger is of this host, ", ledger.host().tag(), ", already\n")};
  Outcome outcome;
  if (!options.force) {
    const std::vector<std::string> names = TRY(still_there(ledger, outcome));
    if (!outcome.obstacles.empty()) return outcome;
    if (!names.empty()) {
      return base::Error(
          Code::kBusy,
          str("the controllers still have ", base::join(names, ", "),
              " of this ledger; if the"
              " host whose it was still runs, containers there use them, and 'ipuctl ledger"
              " rebuild' is what this host needs; if this host was repaired, run 'ipuctl ledger"
              " adopt-host --force', after which 'ipuctl gc' releases the containers that do not"
              " run here; named partitions and reservations stay"));
    }
  }
  TRY(ledger.host().adopt(this_host()));
  outcome.text = str("the ledger is of this host, ", ledger.host().tag(), ", from now on\n");
  return outcome;
}

void add_adopt_host(CLI::App& group, Command& chosen) {
  const auto options = std::make_shared<RebuildOptions>();
  add_command(
      group,
      {"adopt-host", "Make the ledger this host's, after a repair changed what identifies it",
       "ipuctl ledger adopt-host"},
      chosen, [options] { return run_adopt_host(*options); })
      .flag("--force", options->force, "Although the controllers still have partitions of it");
}

void add_rebuild(CLI::App& group, Command& chosen) {
  const auto options = std::make_shared<RebuildOptions>();
  Options declared = add_command(
      group,
      {"rebuild", "Replace a damaged ledger with a new one", "ipuctl ledger rebuild --dry-run"},
      chosen, [options] { return run_rebuild(*options); });
  declared.output(options->output);
  declared.flag("--dry-run", options->dry_run,
                "Print what the new ledger would contain; change nothing");
  declared.flag(
      "--force", options->force,
      "Rebuild an undamaged ledger, or despite a running container with an unknown lease");
  declared.flag("--claim-unclaimed", options->claim_unclaimed,
                "Let 'gc' remove partitions that this host made and nothing here claims");
}

}  // namespace

void add_ledger_repair(CLI::App& group, Command& chosen) {
  add_check(group, chosen);
  add_adopt_host(group, chosen);
  add_rebuild(group, chosen);
}

}  // namespace ipuctl
