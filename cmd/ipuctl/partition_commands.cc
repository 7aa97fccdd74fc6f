// SPDX-License-Identifier: Apache-2.0
// partition adopt, list, show, wait, reset, remove, config, ipu-attrs.
#include <chrono>
#include <memory>

#include "base/text.h"
#include "cmd/ipuctl/command.h"
#include "cmd/ipuctl/print_partition.h"
#include "hook/lifecycle/env.h"
#include "hook/lifecycle/partitions.h"

namespace ipuctl {
namespace {

using base::Code;
using base::Deadline;
using base::Error;
using base::Result;
using base::str;

// What the commands of this file take; each declares what it uses.
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

Deadline deadline_of(const PartitionOptions& options, const hook::PoolConfig& pool) {
  return Deadline::after(options.timeout.value_or(pool.timeout));
}

// How a command that changed NAME, or waited for it, ends.
Result<Outcome> done(hook::Env& env, const hook::PoolConfig& pool, const std::string& verb,
                     const PartitionOptions& options) {
  if (options.output == Output::kTable) return Outcome{success_text(verb, options.name)};
  const PartitionView view = TRY(get_partition(env, pool, options.name, query_deadline()));
  return Outcome{partition_json(view)};
}

Result<Outcome> run_list(const PartitionOptions& options) {
  const hook::PoolConfig pool = TRY(load_pool(options.pool));
  hook::Ledger ledger = TRY(read_ledger());
  hook::Env env = hook::product_env(ledger);
  const std::vector<PartitionView> views = TRY(list_partitions(env, pool, query_deadline()));
  const Holders holders = options.holders ? Holders::kShow : Holders::kHide;
  return Outcome{partitions_text(views, holders, options.output)};
}

Result<Outcome> run_show(const PartitionOptions& options) {
  const hook::PoolConfig pool = TRY(load_pool(options.pool));
  hook::Ledger ledger = TRY(read_ledger());
  hook::Env env = hook::product_env(ledger);
  const Deadline deadline = query_deadline();
  const PartitionView view = TRY(get_partition(env, pool, options.name, deadline));
  const vipu::PartitionStatus status = TRY(env.controller(pool)->status(options.name, deadline));
  return Outcome{partition_text(view, status, options.output)};
}

Result<Outcome> run_wait(const PartitionOptions& options) {
  const hook::PoolConfig pool = TRY(load_pool(options.pool));
  hook::Ledger ledger = TRY(read_ledger());
  hook::Env env = hook::product_env(ledger);
  TRY(env.controller(pool)->wait(options.name, deadline_of(options, pool)));
  return done(env, pool, "wait", options);
}

Result<Outcome> run_adopt(const PartitionOptions& options) {
  const hook::PoolConfig pool = TRY(load_pool(options.pool));
  hook::Ledger ledger = TRY(open_ledger());
  hook::Env env = hook::product_env(ledger);
  TRY(hook::adopt_partition(env, pool, options.name, query_deadline()));
  return done(env, pool, "adopt", options);
}

// What 'reset' would do; refused as that would be.
Result<Outcome> run_dry_reset(hook::Env& env, const hook::PoolConfig& pool,
                              const PartitionOptions& options) {
  TRY(hook::check_reset(env, pool, options.name, query_deadline()));
  return Outcome{would_text("reset", options.name, {}, options.output)};
}

// The same for 'remove'.
Result<Outcome> run_dry_remove(hook::Env& env, const hook::PoolConfig& pool,
                               const PartitionOptions& options) {
  const vipu::Force force = options.force ? vipu::Force::kYes : vipu::Force::kNo;
  const std::vector<std::string> containers =
      TRY(hook::check_change(env, pool, options.name, force, query_deadline()));
  const auto record = TRY(env.ledger.partitions().find(pool.name, options.name));
  const bool is_foreign = record && record->kind == hook::PartitionKind::kForeign;
  return Outcome{
      would_text(is_foreign ? "forget" : "remove", options.name, containers, options.output)};
}

Result<Outcome> run_reset(const PartitionOptions& options) {
  const hook::PoolConfig pool = TRY(load_pool(options.pool));
  hook::Ledger ledger = TRY(open_ledger());
  hook::Env env = hook::product_env(ledger);
  if (options.dry_run) return run_dry_reset(env, pool, options);
  const vipu::Relocate relocate = options.relocatable ? vipu::Relocate::kYes : vipu::Relocate::kNo;
  TRY(hook::reset_partition(env, pool, options.name, relocate, deadline_of(options, pool)));
  return done(env, pool, "reset", options);
}

Result<Outcome> run_remove(const PartitionOptions& options) {
  const hook::PoolConfig pool = TRY(load_pool(options.pool));
  hook::Ledger ledger = TRY(open_ledger());
  hook::Env env = hook::product_env(ledger);
  if (options.dry_run) return run_dry_remove(env, pool, options);
  const vipu::Force force = options.force ? vipu::Force::kYes : vipu::Force::kNo;
  Result<hook::RemovedPartition> removed =
      hook::remove_partition(env, pool, options.name, force, deadline_of(options, pool));
  const bool absent = !removed.ok() && removed.error().code() == Code::kNotFound;
  if (absent && options.force) removed = hook::RemovedPartition();
  const hook::RemovedPartition outcome = TRY(std::move(removed));
  return Outcome{removed_text(options.name, outcome, options.output)};
}

Result<Outcome> run_config(const PartitionOptions& options) {
  const hook::PoolConfig pool = TRY(load_pool(options.pool));
  hook::Ledger ledger = TRY(read_ledger());
  hook::Env env = hook::product_env(ledger);
  const vipu::Grant grant =
      TRY(env.controller(pool)->config(options.name, options.gcd, query_deadline()));
  if (!grant.cards.empty()) {
    return Error(Code::kUnsupported, str("partition ", base::quote(options.name),
                                         " has cards of this host: no IPUoF configuration"));
  }
  if (!options.gcd) {
    std::string text = TRY(configs_text(options.name, grant.gcds, options.output));
    return Outcome{std::move(text)};
  }
  if (grant.gcds.size() != 1) {
    return Error(Code::kInternal, str("the controller gave ", grant.gcds.size(),
                                      " configurations of GCD ", *options.gcd));
  }
  return Outcome{vipu::to_ipuof_file(grant.gcds.front())};
}

Result<Outcome> run_ipu_attrs(const PartitionOptions& options) {
  const hook::PoolConfig pool = TRY(load_pool(options.pool));
  hook::Ledger ledger = TRY(read_ledger());
  hook::Env env = hook::product_env(ledger);
  const std::vector<vipu::IpuAttributes> ipus =
      TRY(env.controller(pool)->attributes(options.agents, query_deadline()));
  return Outcome{attributes_text(ipus, options.output)};
}

using Run = Result<Outcome> (*)(const PartitionOptions&);

// A command with the options that all have; DECLARE adds those of its own.
void add_with(CLI::App& group, Command& chosen, const char* name, const char* help, Run run,
              void (*declare)(Options&, PartitionOptions&)) {
  const auto options = std::make_shared<PartitionOptions>();
  Options declared =
      add_command(group, name, help, chosen, [options, run] { return run(*options); });
  declared.output(options->output);
  declared.pool(options->pool);
  declare(declared, *options);
}

void declare_list(Options& declared, PartitionOptions& options) {
  declared.flag("--holders", options.holders,
                "Also show what each is for and which containers"
                " have it");
}

void declare_name(Options& declared, PartitionOptions& options) {
  declared.argument("NAME", options.name, "Name of the partition");
}

void declare_wait(Options& declared, PartitionOptions& options) {
  declare_name(declared, options);
  declared.duration({"--timeout", "TIME", "At most so long: 90s, 5m (default: the pool's)"},
                    options.timeout);
}

void declare_dry_run(Options& declared, PartitionOptions& options) {
  declared.flag("--dry-run", options.dry_run, "Only say what would be done");
}

void declare_reset(Options& declared, PartitionOptions& options) {
  declare_wait(declared, options);
  declare_dry_run(declared, options);
  declared.flag("--relocatable", options.relocatable,
                "After errors it may get other IPUs this time");
}

void declare_remove(Options& declared, PartitionOptions& options) {
  declare_wait(declared, options);
  declare_dry_run(declared, options);
  declared.flag("--force", options.force,
                "Also if containers have it, the controller has errors, or it is gone already");
}

void declare_config(Options& declared, PartitionOptions& options) {
  declare_name(declared, options);
  declared.number({"--gcd", "N", "Of this GCD alone: exactly its IPUoF file"}, options.gcd);
}

void declare_attrs(Options& declared, PartitionOptions& options) {
  declared.texts({"--agent", "NAME", "Only of this agent; may be given again"}, options.agents);
}

}  // namespace

void add_partition_commands(CLI::App& app, Command& chosen) {
  CLI::App& group = add_group(app, "partition", "Partitions that outlive containers");
  add_partition_create(group, chosen);
  add_with(group, chosen, "adopt", "Let containers have one that Graphcore's vipu made", run_adopt,
           declare_name);
  add_with(group, chosen, "list", "List all partitions of the pool's controller", run_list,
           declare_list);
  add_with(group, chosen, "show", "Show all that is known of one", run_show, declare_name);
  add_with(group, chosen, "wait", "Wait until one is ACTIVE", run_wait, declare_wait);
  add_with(group, chosen, "reset", "Bring one to its initial state", run_reset, declare_reset);
  add_with(group, chosen, "remove", "Remove one of 'create', forget one of 'adopt'", run_remove,
           declare_remove);
  add_with(group, chosen, "config", "Print the IPUoF configuration of one", run_config,
           declare_config);
  add_with(group, chosen, "ipu-attrs", "List the attributes of the pool's IPUs", run_ipu_attrs,
           declare_attrs);
}

}  // namespace ipuctl
