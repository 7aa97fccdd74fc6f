// SPDX-License-Identifier: Apache-2.0
// health list, check, taint, clear; pool taint, untaint.
#include <chrono>
#include <memory>

#include "base/json.h"
#include "base/names.h"
#include "base/text.h"
#include "cmd/ipuctl/command.h"
#include "cmd/ipuctl/list_text.h"
#include "cmd/ipuctl/queue_commands.h"
#include "hook/config/paths.h"
#include "hook/lifecycle/env.h"
#include "hook/lifecycle/health.h"

namespace ipuctl {
namespace {

using namespace base::names;
using base::Json;
using hook::ledger::PoolIpu;
using vipu::IpuHealth;

constexpr std::chrono::seconds kCheckTime{30};  // for one pool
constexpr size_t kMaxReason = 200;

struct HealthOptions {
  Output output = Output::kTable;
  std::string pool;  // empty: all; for taint and clear: the first
  std::string ipu;
  std::string reason = "out of service";
};

Json to_json(const PoolIpu& one) {
  const IpuHealth& health = one.health;
  return {{"pool", one.pool},
          {"ipu", health.ipu},
          {"taint", vipu::name_of(health.taint)},
          {"reason", health.reason},
          {"seen", health.seen},
          {"since", health.since_ms == 0 ? "" : base::rfc3339(health.since_ms)}};
}

std::string health_text(const std::vector<PoolIpu>& ipus, Output output) {
  Json json = Json::array();
  Rows rows = {{"POOL", "IPU", "TAINT", "SINCE", "SEEN", "REASON"}};
  for (const PoolIpu& one : ipus) {
    const IpuHealth& health = one.health;
    json.push_back(to_json(one));
    rows.push_back({one.pool, health.ipu, vipu::name_of(health.taint),
                    health.since_ms == 0 ? "-" : base::rfc3339(health.since_ms),
                    health.seen.empty() ? "-" : health.seen,
                    health.reason.empty() ? "-" : health.reason});
  }
  return list_text(json, rows, output);
}

Result<Outcome> run_list(const HealthOptions& options) {
  hook::ledger::Ledger ledger = TRY(read_ledger());
  std::vector<PoolIpu> ipus = TRY(ledger.health().all());
  std::erase_if(
      ipus, [&](const PoolIpu& one) { return !options.pool.empty() && one.pool != options.pool; });
  if (ipus.empty()) TRY(check_pool(options.pool));
  return Outcome{health_text(ipus, options.output)};
}

// What a check found.
struct Found {
  std::vector<PoolIpu> changed = {};
  std::vector<hook::lifecycle::Told> told = {};
  std::vector<Error> obstacles = {};
};

std::string found_text(const Found& found, Output output) {
  Json json = {{"ipus", Json::array()}, {"partitions", Json::array()}};
  std::string text;
  for (const PoolIpu& one : found.changed) {
    const bool is_bad = one.health.taint != vipu::Taint::kNone;
    text += str("pool ", one.pool, ": IPU ", one.health.ipu,
                is_bad ? " is tainted: " : " is no longer tainted", one.health.reason, "\n");
    json["ipus"].push_back(to_json(one));
  }
  for (const hook::lifecycle::Told& one : found.told) {
    text += str("container ", base::short_id(one.lease.container), ": ", one.text, "\n");
    json["partitions"].push_back({{"pool", one.lease.pool},
                                  {"partition", one.lease.partition},
                                  {"container", one.lease.container},
                                  {"event", one.text}});
  }
  if (output == Output::kJson) return base::to_pretty_text(json);
  return text.empty() ? "nothing changed\n" : text;
}

void check_pool_ipus(hook::lifecycle::Env& env, const hook::config::PoolConfig& pool,
                     Found& found) {
  Result<std::vector<IpuHealth>> checked =
      hook::lifecycle::check_health(env, pool, Deadline::after(kCheckTime));
  if (!checked.ok()) {
    found.obstacles.push_back(std::move(checked).error());
    return;
  }
  for (IpuHealth& health : checked.value()) found.changed.push_back({pool.name, std::move(health)});
}

void check_pool_partitions(hook::lifecycle::Env& env, const hook::config::PoolConfig& pool,
                           Found& found) {
  Result<std::vector<hook::lifecycle::Told>> told =
      hook::lifecycle::check_partitions(env, pool, Deadline::after(kCheckTime));
  if (!told.ok()) {
    found.obstacles.push_back(std::move(told).error());
    return;
  }
  for (hook::lifecycle::Told& one : told.value()) found.told.push_back(std::move(one));
}

Result<Outcome> run_check(const HealthOptions& options) {
  const hook::config::Config config = TRY(hook::config::load_config(hook::config::config_file()));
  if (!options.pool.empty()) TRY(hook::config::find_pool(config, options.pool));
  hook::ledger::Ledger ledger = TRY(open_ledger());
  hook::lifecycle::Env env = hook::lifecycle::product_env(ledger);
  Found found;
  for (const hook::config::PoolConfig& pool : config.pools) {
    if (!options.pool.empty() && pool.name != options.pool) continue;
    if (!pool.health_command.empty()) check_pool_ipus(env, pool, found);
    check_pool_partitions(env, pool, found);
  }
  const std::string text = found_text(found, options.output);
  return Outcome{text, std::move(found.obstacles)};
}

Result<Outcome> run_taint(const HealthOptions& options) {
  const hook::config::PoolConfig pool = TRY(load_pool(options.pool));
  hook::ledger::Ledger ledger = TRY(open_ledger());
  hook::lifecycle::Env env = hook::lifecycle::product_env(ledger);
  const std::string reason = base::one_line(options.reason, kMaxReason);
  TRY(hook::lifecycle::taint_ipu(env, pool, options.ipu, reason));
  return Outcome{str("pool ", pool.name, ": IPU ", options.ipu, " is tainted: ", reason, "\n")};
}

// Needs no pool that is still configured.
Result<Outcome> run_clear(const HealthOptions& options) {
  const std::string pool = options.pool.empty() ? TRY(load_pool(options.pool)).name : options.pool;
  hook::ledger::Ledger ledger = TRY(open_ledger());
  TRY(ledger.health().clear(pool, options.ipu));
  return Outcome{str("pool ", pool, ": IPU ", options.ipu, " is no longer tainted\n")};
}

using RunHealth = Result<Outcome> (*)(const HealthOptions&);

void add_pools(CLI::App& group, Command& chosen, const About& about, RunHealth run) {
  const auto options = std::make_shared<HealthOptions>();
  Options declared = add_command(group, about, chosen, [options, run] { return run(*options); });
  if (run == run_list) declared.list_output(options->output);
  if (run != run_list) declared.output(options->output);
  declared.text({"--pool", "NAME", "Handle only this pool (default: all)"}, options->pool);
}

void add_taint(CLI::App& group, const char* example, Command& chosen) {
  const auto options = std::make_shared<HealthOptions>();
  Options declared =
      add_command(group, {"taint", "Let no container get an IPU, until you clear it", example},
                  chosen, [options] { return run_taint(*options); });
  declared.argument("IPU", options->ipu, "Its name in the pool: IP:DEVICE_ID, or its PCI address");
  declared.text({"--reason", "TEXT", "Shown to users (default: out of service)"}, options->reason);
  declared.pool(options->pool);
}

void add_clear(CLI::App& group, const char* name, const char* example, Command& chosen) {
  const auto options = std::make_shared<HealthOptions>();
  Options declared =
      add_command(group, {name, "Clear the taint of an IPU, whoever set it", example}, chosen,
                  [options] { return run_clear(*options); });
  declared.argument("IPU", options->ipu, "Its name, as in 'ipuctl health list'");
  declared.pool(options->pool);
}

}  // namespace

void add_health_commands(CLI::App& app, Command& chosen) {
  CLI::App& group = add_group(
      app,
      {"health", "Check IPUs and partitions, and taint IPUs of local pools", "ipuctl health list"});
  add_pools(group, chosen,
            {"list", "List the IPUs that are tainted, or were seen bad", "ipuctl health list"},
            run_list);
  add_pools(group, chosen,
            {"check", "Check IPUs by the health commands of pools, and partitions",
             "ipuctl health check"},
            run_check);
  add_taint(group, "ipuctl health taint 10.5.1.1:3 --reason 'parity errors'", chosen);
  add_clear(group, "clear", "ipuctl health clear 10.5.1.1:3", chosen);
}

void add_pool_taints(CLI::App& pool, Command& chosen) {
  add_taint(pool, "ipuctl pool taint 10.5.1.1:3 --reason 'parity errors'", chosen);
  add_clear(pool, "untaint", "ipuctl pool untaint 10.5.1.1:3", chosen);
}

}  // namespace ipuctl
