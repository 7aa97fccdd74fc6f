// SPDX-License-Identifier: Apache-2.0
// ipuctl partition adopt, list, show, wait, reset, remove, config, ipu-attrs.
#include <chrono>
#include <memory>

#include "base/names.h"
#include "base/text.h"
#include "cmd/ipuctl/cdi_files.h"
#include "cmd/ipuctl/command.h"
#include "cmd/ipuctl/print_partition.h"
#include "hook/lifecycle/env.h"
#include "hook/lifecycle/partitions/partitions.h"

namespace ipuctl {
namespace {

using namespace base::names;

// The options of all commands in this file. Each command declares those that it uses.
struct PartitionOptions {
  Output output = Output::kTable;
  std::string pool;
  std::string name;
  std::optional<std::chrono::milliseconds> timeout;
  std::optional<uint32_t> gcd;
  std::vector<std::string> agents;
  bool holders = false;
  bool relocatable = false;
  bool force = false;
  bool dry_run = false;
};

Deadline deadline_of(const PartitionOptions& options, const hook::config::PoolConfig& pool) {
  return Deadline::after(options.timeout.value_or(pool.timeout));
}

// Returns the output of a command that changed a partition or waited for it.
Result<Outcome> done(hook::lifecycle::Env& env, const hook::config::PoolConfig& pool,
                     const std::string& verb, const PartitionOptions& options) {
  if (options.output == Output::kTable) return Outcome{success_text(verb, options.name)};
  Outcome outcome;
  const PartitionView view =
      TRY(get_partition(env, pool, options.name, query_deadline(), outcome.obstacles));
  outcome.text = partition_json(view);
  return outcome;
}

Result<Outcome> run_list(const PartitionOptions& options) {
  const hook::config::PoolConfig pool = TRY(load_pool(options.pool));
  hook::ledger::Ledger ledger = TRY(read_ledger());
  hook::lifecycle::Env env = hook::lifecycle::product_env(ledger);
  Outcome outcome;
  const std::vector<PartitionView> views =
      TRY(list_partitions(env, pool, query_deadline(), outcome.obstacles));
  const Holders holders = options.holders ? Holders::kShow : Holders::kHide;
  outcome.text = partitions_text(views, holders, options.output);
  return outcome;
}

Result<Outcome> run_show(const PartitionOptions& options) {
  const hook::config::PoolConfig pool = TRY(load_pool(options.pool));
  hook::ledger::Ledger ledger = TRY(read_ledger());
  hook::lifecycle::Env env = hook::lifecycle::product_env(ledger);
  const Deadline deadline = query_deadline();
  Outcome outcome;
  const PartitionView view =
      TRY(get_partition(env, pool, options.name, deadline, outcome.obstacles));
  const vipu::PartitionStatus status = TRY(env.controller(pool)->status(options.name, deadline));
  outcome.text = partition_text(view, status, options.output);
  return outcome;
}

Result<Outcome> run_wait(const PartitionOptions& options) {
  const hook::config::PoolConfig pool = TRY(load_pool(options.pool));
  hook::ledger::Ledger ledger = TRY(read_ledger());
  hook::lifecycle::Env env = hook::lifecycle::product_env(ledger);
  TRY(env.controller(pool)->wait(options.name, deadline_of(options, pool)));
  return done(env, pool, "wait", options);
}

Result<Outcome> run_adopt(const PartitionOptions& options) {
  const hook::config::PoolConfig pool = TRY(load_pool(options.pool));
  hook::ledger::Ledger ledger = TRY(open_ledger());
  hook::lifecycle::Env env = hook::lifecycle::product_env(ledger);
  TRY(hook::lifecycle::partitions::adopt_partition(env, pool, options.name, query_deadline()));
  refresh_cdi_after_change(env);
  return done(env, pool, "adopt", options);
}

// Returns what 'reset' would do; fails as 'reset' would.
Result<Outcome> run_dry_reset(hook::lifecycle::Env& env, const hook::config::PoolConfig& pool,
                              const PartitionOptions& options) {
  TRY(hook::lifecycle::partitions::check_reset(env, pool, options.name, query_deadline()));
  return Outcome{would_text("reset", options.name, {}, options.output)};
}

// Returns what 'remove' would do; fails as 'remove' would.
Result<Outcome> run_dry_remove(hook::lifecycle::Env& env, const hook::config::PoolConfig& pool,
                               const PartitionOptions& options) {
  const vipu::Force force = options.force ? vipu::Force::kYes : vipu::Force::kNo;
  const std::vector<std::string> containers = TRY(
      hook::lifecycle::partitions::check_change(env, pool, options.name, force, query_deadline()));
  const auto record = TRY(env.ledger.partitions().find(pool.name, options.name));
  const bool is_foreign = record && record->kind == hook::ledger::PartitionKind::kForeign;
  return Outcome{
      would_text(is_foreign ? "forget" : "remove", options.name, containers, options.output)};
}

Result<Outcome> run_reset(const PartitionOptions& options) {
  const hook::config::PoolConfig pool = TRY(load_pool(options.pool));
  hook::ledger::Ledger ledger = TRY(open_ledger());
  hook::lifecycle::Env env = hook::lifecycle::product_env(ledger);
  if (options.dry_run) return run_dry_reset(env, pool, options);
  const vipu::Relocate relocate = options.relocatable ? vipu::Relocate::kYes : vipu::Relocate::kNo;
  TRY(hook::lifecycle::partitions::reset_partition(env, pool, options.name, relocate,
                                                   deadline_of(options, pool)));
  return done(env, pool, "reset", options);
}

Result<Outcome> run_remove(const PartitionOptions& options) {
  const hook::config::PoolConfig pool = TRY(load_pool(options.pool));
  hook::ledger::Ledger ledger = TRY(open_ledger());
  hook::lifecycle::Env env = hook::lifecycle::product_env(ledger);
  if (options.dry_run) return run_dry_remove(env, pool, options);
  const vipu::Force force = options.force ? vipu::Force::kYes : vipu::Force::kNo;
  Result<hook::lifecycle::partitions::RemovedPartition> removed =
      hook::lifecycle::partitions::remove_partition(env, pool, options.name, force,
                                                    deadline_of(options, pool));
  const bool absent = !removed.ok() && removed.error().code() == Code::kNotFound;
  if (absent && options.force) removed = hook::lifecycle::partitions::RemovedPartition();
  const hook::lifecycle::partitions::RemovedPartition outcome = TRY(std::move(removed));
  refresh_cdi_after_change(env);
  return Outcome{removed_text(options.name, outcome, options.output)};
}

Result<Outcome> run_config(const PartitionOptions& options) {
  const hook::config::PoolConfig pool = TRY(load_pool(options.pool));
  hook::ledger::Ledger ledger = TRY(read_ledger());
  hook::lifecycle::Env env = hook::lifecycle::product_env(ledger);
  const vipu::Grant grant =
      TRY(env.controller(pool)->config(options.name, options.gcd, query_deadline()));
  if (!grant.cards.empty()) {
    return Error(Code::kUnsupported, str("partition ", base::quote(options.name),
                                         " consists of cards of this host, which need no IPUoF"
                                         " configuration; see 'ipuctl partition show'"));
  }
  if (!options.gcd) {
    std::string text = TRY(configs_text(options.name, grant.gcds, options.output));
    return Outcome{std::move(text)};
  }
  if (grant.gcds.size() != 1) {
    return Error(Code::kInternal,
                 str("read the configuration of GCD ", *options.gcd, " of partition ",
                     base::quote(options.name), ": the controller returned ", grant.gcds.size(),
                     " configurations instead of one"));
  }
  return Outcome{vipu::to_ipuof_file(grant.gcds.front())};
}

Result<Outcome> run_ipu_attrs(const PartitionOptions& options) {
  const hook::config::PoolConfig pool = TRY(load_pool(options.pool));
  hook::ledger::Ledger ledger = TRY(read_ledger());
  hook::lifecycle::Env env = hook::lifecycle::product_env(ledger);
  const std::vector<vipu::IpuAttributes> ipus =
      TRY(env.controller(pool)->attributes(options.agents, query_deadline()));
  return Outcome{attributes_text(ipus, options.output)};
}

using RunPartition = Result<Outcome> (*)(const PartitionOptions&);

// Adds a command with the options that all commands have. DECLARE adds its own.
void add_with(CLI::App& group, Command& chosen, const About& about, RunPartition run,
              void (*declare)(Options&, PartitionOptions&)) {
  const auto options = std::make_shared<PartitionOptions>();
  Options declared = add_command(group, about, chosen, [options, run] { return run(*options); });
  if (run == run_list) declared.list_output(options->output);
  if (run != run_list) declared.output(options->output);
  declared.pool(options->pool);
  declare(declared, *options);
}

void declare_list(Options& declared, PartitionOptions& options) {
  declared.watch();
  declared.flag("--holders", options.holders,
                "Also show the kind of each partition and the containers that hold it");
}

void declare_name(Options& declared, PartitionOptions& options) {
  declared.argument("NAME", options.name, "Name of the partition");
}

void declare_wait(Options& declared, PartitionOptions& options) {
  declare_name(declared, options);
  declared.duration(
      {"--timeout", "TIME", "Stop waiting after this time, such as 90s (default: the pool's)"},
      options.timeout);
}

void declare_dry_run(Options& declared, PartitionOptions& options) {
  declared.flag("--dry-run", options.dry_run, "Print what would be done; change nothing");
}

void declare_reset(Options& declared, PartitionOptions& options) {
  declare_wait(declared, options);
  declare_dry_run(declared, options);
  declared.flag("--relocatable", options.relocatable,
                "Allow the controller to replace IPUs that have errors");
}

void declare_remove(Options& declared, PartitionOptions& options) {
  declare_wait(declared, options);
  declare_dry_run(declared, options);
  declared.flag("--force", options.force,
                "Take it from its containers; ignore errors of the controller, and a missing NAME");
}

void declare_config(Options& declared, PartitionOptions& options) {
  declare_name(declared, options);
  declared.number({"--gcd", "N", "Print exactly the IPUoF file of this GCD"}, options.gcd);
}

void declare_attrs(Options& declared, PartitionOptions& options) {
  declared.texts({"--agent", "NAME", "List only the IPUs of this agent (repeatable)"},
                 options.agents);
}

}  // namespace

void add_partition_commands(CLI::App& app, Command& chosen) {
  CLI::App& group = add_group(app, {"partition", "Manage partitions that outlive containers",
                                    "ipuctl partition create p0 --size 4\n"
                                    "ipuctl partition list --holders"});
  add_partition_create(group, chosen);
  add_with(group, chosen,
           {"adopt", "Let containers use a partition that Graphcore's vipu created",
            "ipuctl partition adopt p0"},
           run_adopt, declare_name);
  add_with(
      group, chosen,
      {"list", "List all partitions of the pool's controller", "ipuctl partition list --holders"},
      run_list, declare_list);
  add_with(group, chosen,
           {"show", "Show one partition, its state and its holders", "ipuctl partition show p0"},
           run_show, declare_name);
  add_with(group, chosen,
           {"config", "Print the IPUoF configuration of a partition",
            "ipuctl partition config p0 --gcd 0"},
           run_config, declare_config);
  add_with(group, chosen,
           {"wait", "Wait until a partition is ACTIVE", "ipuctl partition wait p0 --timeout 5m"},
           run_wait, declare_wait);
  add_with(group, chosen,
           {"reset", "Reset a partition to its initial state", "ipuctl partition reset p0"},
           run_reset, declare_reset);
  add_with(group, chosen,
           {"remove", "Remove a created partition, or forget an adopted one",
            "ipuctl partition remove p0"},
           run_remove, declare_remove);
  add_with(group, chosen,
           {"ipu-attrs", "List the attributes of the pool's IPUs",
            "ipuctl partition ipu-attrs --agent ag1"},
           run_ipu_attrs, declare_attrs);
}

}  // namespace ipuctl
