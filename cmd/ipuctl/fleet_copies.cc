// SPDX-License-Identifier: Apache-2.0
// ipuctl fleet export, import and leave, and what differs in 'fleet check'.
#include <unistd.h>

#include <memory>
#include <set>

#include "base/clock.h"
#include "base/fs.h"
#include "base/names.h"
#include "cmd/ipuctl/fleet.h"
#include "hook/config/paths.h"
#include "hook/fleet/copy.h"
#include "hook/fleet/marks.h"
#include "hook/lifecycle/env.h"
#include "hook/lifecycle/fleet_pin.h"
#include "hook/lifecycle/open_fleet.h"
#include "hook/lifecycle/partitions/fleet_claims.h"
#include "hook/lifecycle/partitions/fleet_compare.h"
#include "hook/lifecycle/partitions/fleet_warm.h"
#include "hook/lifecycle/partitions/hosts.h"
#include "hook/lifecycle/partitions/joining.h"

namespace ipuctl {
namespace {

using namespace base::names;
using hook::config::FleetConfig;
using hook::fleet::Copy;
using hook::fleet::HostFacts;
using hook::fleet::HostState;
using hook::fleet::OldFences;
using hook::fleet::Replace;
using hook::fleet::Store;
namespace partitions = hook::lifecycle::partitions;

constexpr std::chrono::seconds kCopyTime{120};
constexpr std::chrono::seconds kAnswerLimit{8};
constexpr std::chrono::seconds kCompareTime{20};

struct CopyOptions {
  std::string file;
  bool replace = false;
  bool fences = false;
  bool no_fences = false;
};

Result<Outcome> run_export(const CopyOptions& options) {
  const FleetConfig fleet = TRY(load_fleet());
  const std::unique_ptr<Store> store = open_store(fleet);
  const Copy copy = TRY(hook::fleet::read_copy(*store, fleet.prefix, base::unix_millis(),
                                               Deadline::after(kCopyTime)));
  const std::string text = hook::fleet::to_text(copy);
  if (options.file == "-") return Outcome{text};
  TRY(base::write_atomic(options.file, text, {.mode = 0600}));
  return Outcome{
      str("wrote ", copy.keys.size(), " keys of fleet ", copy.fleet, " to ", options.file, "\n")};
}

Result<std::string> read_copy_file(const std::string& file) {
  if (file == "-") return base::read_all(STDIN_FILENO, hook::fleet::kMaxCopy, "standard input");
  return base::read_plain_file(file, hook::fleet::kMaxCopy);
}

Result<Outcome> run_import(const CopyOptions& options) {
  const FleetConfig fleet = TRY(load_fleet());
  const std::string text = TRY(read_copy_file(options.file));
  const Copy copy = TRY_CTX(str("import ", quote(options.file)), hook::fleet::parse_copy(text));
  if (options.fences && options.no_fences)
    return Error(Code::kInvalid, "give one of --fences and --no-fences, not both");
  hook::ledger::Ledger ledger = TRY(open_ledger());
  const std::string known = TRY(ledger.host().fleet_id(fleet.prefix));
  TRY(hook::fleet::check_copy(copy, known));
  const std::unique_ptr<Store> store = open_store(fleet);
  const OldFences old = options.fences      ? OldFences::kBring
                        : options.no_fences ? OldFences::kDrop
                                            : OldFences::kRefuse;
  TRY(hook::fleet::write_copy(*store, fleet.prefix, copy,
                              options.replace ? Replace::kYes : Replace::kNo, old,
                              Deadline::after(kCopyTime)));
  return Outcome{str("imported ", copy.keys.size(), " keys of fleet ", copy.fleet, ", as of ",
                     base::rfc3339(copy.made_ms),
                     "; now run 'ipuctl gc', then 'ipuctl fleet check', on each host\n")};
}

// Gives up what this host claims, if nobody can be asked any more.
Result<Outcome> run_leave_lost() {
  const FleetConfig fleet = TRY(load_fleet());
  hook::ledger::Ledger ledger = TRY(open_ledger());
  TRY(ledger.host().check());
  const std::unique_ptr<Store> store = open_store(fleet);
  const std::string& prefix = fleet.prefix;
  const Deadline deadline = Deadline::after(kAnswerLimit);
  const Status there = hook::lifecycle::check_known_fleet(ledger, *store, prefix, deadline);
  if (there.ok()) {
    return Error(Code::kBusy,
                 "fleet: etcd answers, so nothing was given up; run 'ipuctl gc', and 'ipuctl fleet"
                 " leave'");
  }
  const Code code = there.error().code();
  const bool is_lost =
      code == Code::kUnavailable || code == Code::kTimeout || code == Code::kNotFound;
  if (!is_lost) return there.error();
  Outcome outcome;
  for (const std::string& line : TRY(ledger.partitions().give_up_claims(prefix)))
    outcome.text += str("gave up the claim of ", line, "\n");
  for (const hook::ledger::PartitionRecord& record : TRY(ledger.partitions().all())) {
    if (!partitions::is_fleets(record)) continue;
    TRY(ledger.partitions().hand_over(record, "this host left the fleet"));
    outcome.text += str("forgot partition ", record.name, " of pool ", record.pool,
                        ", which its controller may have\n");
  }
  TRY(ledger.host().leave_fleet());
  TRY(ledger.host().come_back());  // gc removes the claims if that etcd is there again
  outcome.text +=
      str("this host claims nothing below ", prefix,
          " any more: other hosts may take what its containers have, if that etcd comes"
          " back; now run 'ipuctl gc', and 'ipuctl fleet leave' once its containers have"
          " ended\n");
  return outcome;
}

Result<Outcome> run_leave(bool is_lost) {
  if (is_lost) return run_leave_lost();
  hook::ledger::Ledger ledger = TRY(open_ledger());
  hook::lifecycle::Env env = hook::lifecycle::product_env(ledger);
  const partitions::LeftFleet left =
      TRY(partitions::leave_fleet(env, Deadline::after(kAnswerLimit)));
  Outcome outcome;
  for (const std::string& name : left.kept)
    outcome.text += str("took partition ", name,
                        " along: containers of this host have it; when it is gone, run"
                        " 'ipuctl host forget ",
                        ledger.host().tag(), "' on a host of the fleet\n");
  for (const std::string& name : left.forgotten)
    outcome.text += str("forgot partition ", name, "\n");
  outcome.text +=
      str("this host is in no fleet; now take [fleet] out of ", hook::config::config_file(), "\n");
  return outcome;
}

// A host that has partitions at a controller of this host, and is not in the fleet: its 'prefix' or
// its 'endpoints' may differ.
void add_strangers(hook::lifecycle::Env& env, const hook::config::Config& config,
                   const std::vector<HostState>& hosts, std::vector<Error>& obstacles) {
  std::set<std::string> known;
  for (const HostState& one : hosts) known.insert(one.host.tag);
  std::vector<Error> silent;  // compare_fleet() reports them
  for (const partitions::MadePartition& one :
       partitions::made_partitions(env, config.pools, Deadline::after(kCompareTime), silent)) {
    const std::string& host = one.made.host;
    if (host.empty() || !known.insert(host).second) continue;
    obstacles.emplace_back(
        Code::kNotFound,
        str("fleet: host ", host, " has partitions at the controller of pool ", quote(one.pool),
            ", and is not in this fleet: give it the same 'endpoints' and 'prefix' in [fleet]; if "
            "it"
            " is dead, run 'ipuctl host fence ",
            host, "'"));
  }
}

// The store may have gone back since this host marked it.
void add_history(const hook::lifecycle::Env& env, std::vector<Error>& obstacles) {
  const auto fleet = hook::lifecycle::open_fleet(env);
  if (!fleet.ok() || !fleet.value()) return;  // others say so
  Status history = hook::fleet::check_history(fleet.value()->at(Deadline::after(kAnswerLimit)));
  if (!history.ok()) obstacles.push_back(std::move(history).error());
}

}  // namespace

void add_differences(hook::ledger::Ledger& ledger, const HostFacts& me,
                     const std::vector<HostState>& hosts, std::vector<Error>& obstacles) {
  const Result<hook::config::Config> config =
      hook::config::load_config(hook::config::config_file());
  if (!config.ok()) {
    obstacles.push_back(config.error());
    return;
  }
  for (const std::string& line : hook::fleet::pool_troubles(hosts, me))
    obstacles.emplace_back(Code::kInvalid, line);
  hook::lifecycle::Env env = hook::lifecycle::product_env(ledger);
  add_history(env, obstacles);
  for (Error& one :
       partitions::compare_fleet(env, config.value().pools, Deadline::after(kCompareTime)))
    obstacles.push_back(std::move(one));
  add_strangers(env, config.value(), hosts, obstacles);
}

void add_fleet_leave(CLI::App& group, Command& chosen) {
  const auto is_lost = std::make_shared<bool>(false);
  add_command(
      group,
      {"leave", "Take this host out of the fleet; its containers go on", "ipuctl fleet leave"},
      chosen, [is_lost] { return run_leave(*is_lost); })
      .flag("--lost", *is_lost, "Give up this host's claims at an etcd that is gone for good");
}

void add_fleet_copies(CLI::App& group, Command& chosen) {
  const auto options = std::make_shared<CopyOptions>();
  add_command(group,
              {"export", "Write what etcd has of the fleet into a file",
               "ipuctl fleet export /root/fleet.json"},
              chosen, [options] { return run_export(*options); })
      .argument("FILE", options->file, "The file; '-' for the standard output");
  Options import =
      add_command(group,
                  {"import", "Write a file of 'fleet export' into an etcd that has no fleet",
                   "ipuctl fleet import /root/fleet.json"},
                  chosen, [options] { return run_import(*options); });
  import.argument("FILE", options->file, "The file; '-' for the standard input");
  import.flag("--replace", options->replace, "Remove first what is there, if no host is alive");
  import.flag("--fences", options->fences, "Fence the hosts that the file has fences of");
  import.flag("--no-fences", options->no_fences, "Leave out fences that etcd does not have");
}

}  // namespace ipuctl
