// SPDX-License-Identifier: Apache-2.0
// ipuctl config: checks, shows and changes the configuration file.
#include <unistd.h>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <set>
#include <string>

#include "base/fs.h"
#include "base/line_diff.h"
#include "base/names.h"
#include "base/text.h"
#include "cmd/ipuctl/cdi_files.h"
#include "cmd/ipuctl/command.h"
#include "cmd/ipuctl/config_example.h"
#include "hook/config/config.h"
#include "hook/config/edit.h"
#include "hook/config/paths.h"
#include "hook/config/section.h"
#include "hook/engines/file_edit.h"
#include "hook/ledger/ledger.h"
#include "hook/ledger/partitions.h"

namespace ipuctl {
namespace {

using namespace base::names;
using hook::config::Config;

struct ConfigOptions {
  std::string file;
  std::string key;
  std::string value;
  bool dry_run = false;
};

Result<std::string> read_text(const std::string& file) {
  const auto text = TRY(base::read_file_if_exists(file, hook::config::kMaxConfig));
  if (text) return *text;
  return Error(Code::kNotFound,
               str("there is no ", file, "; 'ipuctl config default' prints one to start from"));
}

std::string summary(const Config& config, const std::string& file) {
  std::vector<std::string> pools;
  for (const hook::config::PoolConfig& pool : config.pools)
    pools.push_back(str(pool.name, " (", hook::config::source_of(pool), ")"));
  std::vector<std::string> rails;
  for (const hook::config::RailConfig& rail : config.network.rails)
    rails.push_back(rail.parent.empty() ? base::join(rail.functions, "+") : rail.parent);
  std::string text = str(file, " is correct: pools ", base::join(pools, ", "));
  if (!rails.empty()) text += str("; rails ", base::join(rails, ", "));
  if (!config.policy.tenants.empty()) text += str("; ", config.policy.tenants.size(), " tenants");
  return text + '\n';
}

// Parses TEXT without the variables of this shell: an engine, and what it starts, has its own.
Result<Config> parse_as_start(const std::string& text, const std::string& file) {
  Result<Config> parsed = hook::config::parse_config(text, file);
  hook::config::HostFacts of_shell;
  for (const char* name : {"VIPU_CLI_API_HOST", "VIPU_CLI_API_PORT"}) {
    const char* value = std::getenv(name);
    if (value != nullptr) of_shell.environment.push_back(str(name, '=', value));
  }
  if (parsed.ok() || !hook::config::parse_config(text, file, of_shell).ok()) return parsed;
  return Error(parsed.error().code(), str(parsed.error().message(),
                                          "; this shell has VIPU_CLI_API_HOST, which the engine may"
                                          " not have: write controller = \"HOST:PORT\" in that"
                                          " [pool]"));
}

Result<Outcome> run_check(const ConfigOptions& options) {
  if (!options.file.empty()) {
    const std::string text = TRY(read_text(options.file));
    const Config config = TRY(parse_as_start(text, options.file));
    return Outcome{summary(config, options.file)};
  }
  const std::string file = hook::config::config_file();
  const auto text = TRY(base::read_trusted_file(file, hook::config::kMaxConfig));
  const Config config = TRY(text ? parse_as_start(*text, file) : hook::config::load_config(file));
  return Outcome{summary(config, file)};
}

Result<Outcome> run_show(const ConfigOptions& options) {
  const std::string file = hook::config::config_file();
  const std::string text = TRY(read_text(file));
  if (options.key.empty()) return Outcome{text};
  const std::string value = TRY(hook::config::value_in(text, file, options.key));
  return Outcome{value + '\n'};
}

// Returns the pools of BEFORE whose record of who has what is another one in AFTER, or none: that
// goes by the pool's name, and for local IPUs by their source.
std::set<std::string> lost_pools(const Config& before, const Config& after) {
  std::set<std::string> lost;
  for (const hook::config::PoolConfig& pool : before.pools) {
    const std::string source = hook::config::source_of(pool);
    const bool is_kept = std::any_of(
        after.pools.begin(), after.pools.end(), [&](const hook::config::PoolConfig& one) {
          return one.name == pool.name &&
                 (hook::config::is_controller(source) || hook::config::source_of(one) == source);
        });
    if (!is_kept) lost.insert(pool.name);
  }
  return lost;
}

// Fails with kBusy if a container or a named partition has IPUs of one of POOLS.
Status check_unused(const std::set<std::string>& pools) {
  if (pools.empty()) return {};
  const auto refused = [](const std::string& who, const std::string& pool, const std::string& end) {
    return Error(Code::kBusy,
                 str("nothing was changed: ", who, " has IPUs of pool ", base::quote(pool),
                     "; keep the pool's name, provider and file ", end));
  };
  hook::ledger::Ledger ledger = TRY(read_ledger());
  for (const hook::ledger::Lease& lease : TRY(ledger.live()))
    if (pools.contains(lease.pool))
      return refused(str("container ", base::short_id(lease.container)), lease.pool,
                     "until it has ended");
  for (const hook::ledger::PartitionRecord& one : TRY(ledger.partitions().all())) {
    const bool is_warm = one.kind == hook::ledger::PartitionKind::kWarm;
    if (!pools.contains(one.pool) || is_warm) continue;
    if (!one.reservation.empty())
      return refused(str("reservation ", base::quote(one.reservation)), one.pool,
                     str("until 'ipuctl reservation end ", one.reservation, "'"));
    return refused(str("partition ", base::quote(one.name)), one.pool,
                   str("until 'ipuctl partition remove ", one.name, "'"));
  }
  return {};
}

// Makes the file have TEXT, if that is a configuration.
Result<Outcome> change(const ConfigOptions& options,
                       const std::function<Result<std::string>(const std::string& text,
                                                               const std::string& file)>& edited) {
  if (::geteuid() != 0) return Error(Code::kDenied, "run ipuctl as root");
  const std::string file = hook::config::config_file();
  hook::engines::FileEdit edit = TRY(hook::engines::read_edit(file));
  if (!edit.before) TRY(read_text(file));
  edit.after = TRY(edited(*edit.before, file));
  edit.backup_after = edit.backup_before;
  const Config after = TRY_CTX("nothing was changed", parse_as_start(*edit.after, file));
  const Result<Config> before = parse_as_start(*edit.before, file);
  if (before.ok()) TRY(check_unused(lost_pools(before.value(), after)));
  if (edit.after == edit.before) return Outcome{str(file, " says so already\n")};
  std::string text = base::line_diff(*edit.before, *edit.after);
  if (options.dry_run) return Outcome{text};
  TRY(hook::engines::apply_edit(edit));
  refresh_cdi_after_change();
  return Outcome{text + "containers that start from now on have it\n"};
}

Result<Outcome> run_set(const ConfigOptions& options) {
  return change(options, [&](const std::string& text, const std::string& file) {
    return hook::config::with_value(text, file, options.key, options.value);
  });
}

Result<Outcome> run_unset(const ConfigOptions& options) {
  return change(options, [&](const std::string& text, const std::string& file) {
    return hook::config::without_key(text, file, options.key);
  });
}

constexpr const char* kKeyHelp =
    "The way to the value: policy.max_ipus, pool.pod64.timeout, network.rail.0.mtu";

}  // namespace

void add_config_commands(CLI::App& app, Command& chosen) {
  const auto options = std::make_shared<ConfigOptions>();
  CLI::App& group = add_group(app, {"config", "Check, show and change the configuration file",
                                    "ipuctl config check\n"
                                    "ipuctl config set policy.max_ipus 32 --dry-run"});
  Options checked = add_command(
      group, {"check", "Check the configuration file, or another file", "ipuctl config check"},
      chosen, [options] { return run_check(*options); });
  checked.optional_argument("FILE", options->file, "The file (default: the one in force)");
  Options shown = add_command(group,
                              {"show", "Print the configuration file, or one value of it",
                               "ipuctl config show\nipuctl config show pool.name"},
                              chosen, [options] { return run_show(*options); });
  shown.optional_argument("KEY", options->key, kKeyHelp);
  add_command(group,
              {"default", "Print a file to start from, with each key and its default",
               "ipuctl config default >/tmp/config.toml"},
              chosen, []() -> Result<Outcome> { return Outcome{kConfigExample}; });
  Options set = add_command(group,
                            {"set", "Change one value, if the file is correct afterwards",
                             "ipuctl config set policy.max_ipus 32 --dry-run"},
                            chosen, [options] { return run_set(*options); });
  set.argument("KEY", options->key, kKeyHelp);
  set.argument("VALUE", options->value, "The value in TOML, or a text without quotes");
  set.flag("--dry-run", options->dry_run, "Print the change; change nothing");
  Options unset = add_command(group,
                              {"unset", "Remove one value, so that its default holds",
                               "ipuctl config unset pool.timeout --dry-run"},
                              chosen, [options] { return run_unset(*options); });
  unset.argument("KEY", options->key, kKeyHelp);
  unset.flag("--dry-run", options->dry_run, "Print the change; change nothing");
}

}  // namespace ipuctl
