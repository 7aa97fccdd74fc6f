// SPDX-License-Identifier: Apache-2.0
// ipuctl pool list, refill. drain_commands.cc has `pool drain`, health_commands.cc `pool taint` and
// `pool untaint`.
#include <chrono>
#include <memory>

#include "base/names.h"
#include "base/text.h"
#include "cmd/ipuctl/command.h"
#include "cmd/ipuctl/print_pool.h"
#include "hook/config/paths.h"
#include "hook/fleet/warm.h"
#include "hook/lifecycle/env.h"
#include "hook/lifecycle/fleet_place.h"
#include "hook/lifecycle/open_fleet.h"
#include "hook/lifecycle/partitions/partitions.h"
#include "hook/lifecycle/partitions/warm.h"

namespace ipuctl {
namespace {

using namespace base::names;

// The time for one pool. A slow controller needs minutes for a partition.
constexpr std::chrono::minutes kRefillTime{10};

struct PoolOptions {
  Output output = Output::kTable;
  std::string pool;  // empty: all
  std::optional<std::chrono::milliseconds> after = {};
};

Result<std::vector<hook::config::PoolConfig>> load_pools(const std::string& name) {
  hook::config::Config config = TRY(hook::config::load_config(hook::config::config_file()));
  if (name.empty()) return std::move(config.pools);
  std::vector<hook::config::PoolConfig> pools;
  pools.push_back(TRY(hook::config::find_pool(config, name)));
  return pools;
}

// Returns how many partitions are warm, by their IPUs: what this host keeps for itself, and what
// its fleet keeps for all.
Result<std::map<uint32_t, uint32_t>> count_warm(hook::lifecycle::Env& env,
                                                const hook::config::PoolConfig& config,
                                                std::vector<Error>& obstacles) {
  const std::string& pool = config.name;
  std::map<uint32_t, uint32_t> warm;
  const auto opened = hook::lifecycle::open_fleet(env);
  if (!opened.ok()) obstacles.push_back(opened.error());
  if (opened.ok() && opened.value() && hook::lifecycle::is_shared(config)) {
    const hook::fleet::Fleet fleet = opened.value()->at(query_deadline());
    const auto all = hook::fleet::list_warm(fleet, pool, obstacles);
    if (!all.ok()) obstacles.push_back(all.error());
    if (all.ok())
      for (const hook::fleet::Warm& one : all.value())
        if (one.phase == hook::fleet::WarmPhase::kIdle) ++warm[one.kind.ipus];
  }
  for (const hook::ledger::PartitionRecord& record : TRY(env.ledger.partitions().all())) {
    const bool ready = record.kind == hook::ledger::PartitionKind::kWarm &&
                       record.state == hook::ledger::PartitionState::kReady;
    if (ready && record.pool == pool) ++warm[record.ipus];
  }
  return warm;
}

Result<Outcome> run_list(const PoolOptions& options) {
  const std::vector<hook::config::PoolConfig> pools = TRY(load_pools(options.pool));
  hook::ledger::Ledger ledger = TRY(read_ledger());
  hook::lifecycle::Env env = hook::lifecycle::product_env(ledger);
  std::vector<PoolView> views;
  std::vector<Error> obstacles;
  for (const hook::config::PoolConfig& pool : pools) {
    PoolView view{pool, std::nullopt};
    view.warm = TRY(count_warm(env, pool, obstacles));
    view.drained = TRY(ledger.drain(pool.name).find());
    Result<vipu::Survey> survey = env.controller(pool)->survey(query_deadline());
    if (survey.ok()) {
      view.usage = usage_of(survey.value());
    } else {
      obstacles.push_back(std::move(survey).error());
    }
    views.push_back(std::move(view));
  }
  return Outcome{pools_text(views, options.output), std::move(obstacles)};
}

// Returns a failure as part of the result, so that other pools are refilled nevertheless.
hook::lifecycle::partitions::Refilled refill_one(hook::lifecycle::Env& env,
                                                 const hook::config::PoolConfig& pool) {
  Result<hook::lifecycle::partitions::Refilled> refilled =
      hook::lifecycle::partitions::refill(env, pool, Deadline::after(kRefillTime));
  if (refilled.ok()) return std::move(refilled).take();
  hook::lifecycle::partitions::Refilled none;
  none.obstacles.push_back(std::move(refilled).error());
  return none;
}

Result<Outcome> run_refill(const PoolOptions& options) {
  // Before anything is read: what is true then counts.
  if (options.after) base::sleep_for(*options.after, Deadline::after(*options.after));
  const std::vector<hook::config::PoolConfig> pools = TRY(load_pools(options.pool));
  hook::ledger::Ledger ledger = TRY(open_ledger());
  hook::lifecycle::Env env = hook::lifecycle::product_env(ledger);
  std::vector<Error> obstacles;
  // A killed refill may have left a half-made partition, which would count as a ready one.
  std::set<std::string> silent;
  (void)TRY(hook::lifecycle::partitions::reconcile_partitions(env, query_deadline(), {}, obstacles,
                                                              silent));
  std::vector<RefilledPool> done;
  for (const hook::config::PoolConfig& pool : pools) {
    done.push_back({pool.name, refill_one(env, pool)});
    const std::vector<Error>& more = done.back().refilled.obstacles;
    for (const Error& error : more) {
      obstacles.emplace_back(error.code(), str("pool '", pool.name, "': ", error.message()));
    }
  }
  return Outcome{refilled_text(done, options.output), std::move(obstacles)};
}

using RunPool = Result<Outcome> (*)(const PoolOptions&);

Options add(CLI::App& group, Command& chosen, const About& about, RunPool run) {
  const auto options = std::make_shared<PoolOptions>();
  Options declared = add_command(group, about, chosen, [options, run] { return run(*options); });
  if (run == run_list) declared.list_output(options->output);
  if (run != run_list) declared.output(options->output);
  declared.text({"--pool", "NAME", "Handle only this pool (default: all)"}, options->pool);
  if (run == run_refill)
    declared.duration({"--after", "TIME", "Begin after this time (default: at once)"},
                      options->after);
  return declared;
}

}  // namespace

void add_pool_commands(CLI::App& app, Command& chosen) {
  CLI::App& group = add_group(
      app, {"pool", "List, refill and drain the pools of the configuration, and taint their IPUs",
            "ipuctl pool list"});
  add(group, chosen,
      {"list", "List the pools and how many of their IPUs are in use", "ipuctl pool list -o json"},
      run_list)
      .watch();
  add(group, chosen,
      {"refill", "Create and remove warm partitions, as configured", "ipuctl pool refill"},
      run_refill);
  add_pool_drain(group, chosen);
  add_pool_taints(group, chosen);
}

}  // namespace ipuctl
