// SPDX-License-Identifier: Apache-2.0
// metrics: this host's pools, leases, queue, border and history for a monitoring system.
#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <tuple>

#include "base/clock.h"
#include "base/fs.h"
#include "base/names.h"
#include "base/text.h"
#include "base/version.h"
#include "cmd/ipuctl/command.h"
#include "cmd/ipuctl/metrics/exposition.h"
#include "cmd/ipuctl/metrics_today.h"
#include "cmd/ipuctl/noted.h"
#include "hook/config/paths.h"
#include "hook/ledger/audit_verify.h"
#include "hook/lifecycle/env.h"
#include "hook/lifecycle/queue_turn.h"
#include "netns/border.h"
#include "netns/namespace.h"
#include "vipu/placement.h"

namespace ipuctl {
namespace {

using namespace base::names;
using hook::ledger::Lease;
using hook::ledger::Ledger;
using metrics::Exposition;
using metrics::Type;

// For one pool, and for all of them: whoever scrapes waits for 10 s.
constexpr std::chrono::milliseconds kSurveyTime{2000};
constexpr std::chrono::milliseconds kSurveysTime{8000};
// The audit log is looked at once in this time, of its files so many: what is older was looked at.
constexpr int64_t kAuditMs = 3'600'000;
constexpr size_t kAuditFiles = 2;

struct MetricsOptions {
  std::string file;
};

double seconds(int64_t ms) { return static_cast<double>(ms) / 1000.0; }

// ---- pools

struct Pool {
  const hook::config::PoolConfig& config;
  std::optional<vipu::Occupancy> occupancy = std::nullopt;  // unset: it did not answer
  double took = 0;                                          // seconds
};

std::vector<Pool> survey_pools(hook::lifecycle::Env& env, const hook::config::Config& config,
                               std::vector<Error>& obstacles) {
  std::vector<Pool> pools;
  const Deadline deadline = Deadline::after(kSurveysTime);
  for (const hook::config::PoolConfig& each : config.pools) {
    Pool pool{each};
    const auto from = std::chrono::steady_clock::now();
    Result<vipu::Survey> survey = env.controller(each)->survey(deadline.capped(kSurveyTime));
    pool.took = std::chrono::duration<double>(std::chrono::steady_clock::now() - from).count();
    if (survey.ok()) {
      pool.occupancy = vipu::Occupancy::of(survey.value());
    } else {
      obstacles.push_back(std::move(survey).error());
    }
    pools.push_back(std::move(pool));
  }
  return pools;
}

// A pool of cards or files is each host's own, and one with a controller is the same on all hosts.
metrics::Labels labels_of(const hook::config::PoolConfig& pool) {
  return {{"pool", pool.name}, {"provider", std::string(name_of(pool.provider))}};
}

void add_ipus(const hook::config::PoolConfig& pool, const vipu::Occupancy& occupancy,
              Exposition& to) {
  const uint32_t all = occupancy.topology().ipus();
  int64_t used = 0;
  int64_t tainted = 0;
  for (uint32_t number = 0; number < all; ++number) {
    const bool is_held = !occupancy.holder_of(number).empty();
    used += is_held ? 1 : 0;
    tainted += !is_held && !occupancy.is_free(number) ? 1 : 0;
  }
  const auto add = [&](const char* state, int64_t number) {
    metrics::Labels labels = labels_of(pool);
    labels.emplace_back("state", state);
    to.sample(labels, number);
  };
  add("free", int64_t{all} - used - tainted);
  add("used", used);
  add("tainted", tainted);
}

void add_pools(const std::vector<Pool>& pools, Exposition& to) {
  to.family("ipu_pool_up", Type::kGauge, "Whether the controller or the files of a pool answered.");
  for (const Pool& pool : pools)
    to.sample({{"pool", pool.config.name}}, int64_t{pool.occupancy.has_value()});
  to.family("ipu_pool_survey_seconds", Type::kGauge, "How long a pool took to answer.");
  for (const Pool& pool : pools) to.sample({{"pool", pool.config.name}}, pool.took);
  to.family("ipu_pool_ipus", Type::kGauge, "IPUs of a pool by state; no IPU has two states.");
  for (const Pool& pool : pools) {
    if (pool.occupancy) add_ipus(pool.config, *pool.occupancy, to);
  }
  to.family("ipu_pool_largest_free_ipus", Type::kGauge,
            "IPUs of the largest free block of a pool.");
  for (const Pool& pool : pools) {
    if (pool.occupancy)
      to.sample(labels_of(pool.config), int64_t{vipu::largest_free(*pool.occupancy)});
  }
}

// ---- leases, partitions, queue

Status add_leases(Ledger& ledger, int64_t now, Exposition& to) {
  struct Sum {
    int64_t leases = 0;
    int64_t ipus = 0;
  };
  std::map<std::tuple<std::string, std::string, std::string_view>, Sum> sums;
  int64_t blocked = 0;
  int64_t oldest_release = 0;
  for (const Lease& lease : TRY(ledger.live())) {
    Sum& sum = sums[{lease.pool, lease.tenant, name_of(lease.state)}];
    ++sum.leases;
    // Who joined another has nothing of its own.
    if (lease.origin != hook::ledger::Origin::kJoined) sum.ipus += lease.ipus;
    if (lease.state != hook::ledger::LeaseState::kReleasing) continue;
    oldest_release = std::max(oldest_release, now - lease.changed_ms);
    if (!lease.obstacle.empty()) ++blocked;
  }
  const auto labels = [](const auto& key) {
    const auto& [pool, tenant, state] = key;
    return metrics::Labels{{"pool", pool}, {"tenant", tenant}, {"state", std::string(state)}};
  };
  to.family("ipu_leases", Type::kGauge, "Leases that hold something, by state.");
  for (const auto& [key, sum] : sums) to.sample(labels(key), sum.leases);
  to.family("ipu_leased_ipus", Type::kGauge,
            "IPUs of these leases; a GCD counts for each that has it.");
  for (const auto& [key, sum] : sums) to.sample(labels(key), sum.ipus);
  to.family("ipu_releases_blocked", Type::kGauge, "Releases that something is in the way of.");
  to.sample({}, blocked);
  to.family("ipu_release_oldest_seconds", Type::kGauge,
            "How long the oldest release goes on; 0 without one.");
  to.sample({}, seconds(oldest_release));
  return {};
}

Status add_partitions(Ledger& ledger, Exposition& to) {
  std::map<std::tuple<std::string, std::string, uint32_t>, int64_t> count;
  for (const hook::ledger::PartitionRecord& record : TRY(ledger.partitions().all())) {
    const bool is_warm = record.kind == hook::ledger::PartitionKind::kWarm;
    const char* kind = is_warm ? "warm" : record.reservation.empty() ? "named" : "reservation";
    if (record.state == hook::ledger::PartitionState::kReady)
      ++count[{record.pool, kind, record.ipus}];
  }
  to.family("ipu_partitions", Type::kGauge,
            "Partitions of this host that are no container's own, by kind; the fleet's warm ones "
            "are not.");
  for (const auto& [key, number] : count) {
    const auto& [pool, kind, ipus] = key;
    to.sample({{"pool", pool}, {"kind", kind}, {"ipus", str(ipus)}}, number);
  }
  return {};
}

Status add_queue(hook::lifecycle::Env& env, int64_t now, Exposition& to) {
  struct Waiting {
    int64_t requests = 0;
    int64_t ipus = 0;
    int64_t first_ipus = 0;
    int64_t first_ms = 0;  // since when it waits
  };
  std::map<std::string, Waiting> resources;
  for (const hook::ledger::Waiter& waiter : TRY(hook::lifecycle::living_waiters(env))) {
    Waiting& waiting = resources[waiter.resource];
    if (waiting.requests++ == 0) {
      waiting.first_ipus = waiter.ipus;
      waiting.first_ms = waiter.since_ms;
    }
    waiting.ipus += waiter.ipus;
  }
  // A resource is a pool, or "POOL/PARTITION".
  const auto labels = [](const std::string& name) {
    return metrics::Labels{{"pool", name.substr(0, name.find('/'))}, {"resource", name}};
  };
  to.family("ipu_queue_requests", Type::kGauge, "Requests of this host that wait.");
  for (const auto& [name, all] : resources) to.sample(labels(name), all.requests);
  to.family("ipu_queue_ipus", Type::kGauge, "IPUs that they wait for.");
  for (const auto& [name, all] : resources) to.sample(labels(name), all.ipus);
  to.family("ipu_queue_first_ipus", Type::kGauge, "IPUs that the first of them waits for.");
  for (const auto& [name, all] : resources) to.sample(labels(name), all.first_ipus);
  to.family("ipu_queue_oldest_seconds", Type::kGauge, "How long the first of them has waited.");
  for (const auto& [name, all] : resources)
    to.sample(labels(name), seconds(std::max<int64_t>(0, now - all.first_ms)));
  return {};
}

Status add_addresses(Ledger& ledger, const hook::config::Config& config, Exposition& to) {
  to.family("ipu_rail_addresses", Type::kGauge, "Addresses of a rail, by state.");
  for (const hook::config::RailConfig& rail : config.network.rails) {
    const Ledger::RailUse use = TRY(ledger.use_of(rail));
    const auto add = [&](const char* state, uint32_t number) {
      to.sample({{"rail", name_of(rail)}, {"state", state}}, int64_t{number});
    };
    add("free", use.free);
    add("held", use.held);
    add("quarantined", use.quarantined);
    add("held_by_ipu", use.held_by_ipu);
    add("set_aside_by_ipu", use.set_aside_by_ipu);
  }
  return {};
}

Result<std::vector<netns::Dropped>> dropped_here() {
  const netns::Namespace host = TRY(netns::Namespace::current());
  return netns::dropped_frames(host);
}

// Nothing without a border, or for who may not see it.
void add_border(Exposition& to, std::vector<Error>& obstacles) {
  const Result<std::vector<netns::Dropped>> dropped = dropped_here();
  if (!dropped.ok()) {
    const Code code = dropped.error().code();
    if (code != Code::kDenied && code != Code::kUnsupported) obstacles.push_back(dropped.error());
    return;
  }
  if (dropped.value().empty()) return;
  to.family("ipu_border_dropped_frames_total", Type::kCounter,
            "Frames that the host's border has dropped since it was made, by chain and rule.");
  for (const netns::Dropped& each : dropped.value())
    to.sample({{"chain", each.chain}, {"rule", each.rule}}, static_cast<int64_t>(each.frames));
}

// ---- the host

Status add_host(Ledger& ledger, const hook::config::Config& config, int64_t now, Exposition& to) {
  to.family("ipu_build_info", Type::kGauge, "Always 1; the version is in the label.");
  to.sample({{"version", base::product_version()}}, int64_t{1});
  to.family("ipu_metrics_timestamp_seconds", Type::kGauge, "When all this was read, unix time.");
  to.sample({}, seconds(now));
  to.family("ipu_host_drained", Type::kGauge, "Whether an operator drains this host.");
  const std::optional<hook::ledger::Drained> drained = TRY(ledger.drain().find());
  to.sample({}, int64_t{drained.has_value()});
  to.family("ipu_pool_drained", Type::kGauge, "Whether 'ipuctl pool drain' drains the pool.");
  for (const hook::config::PoolConfig& pool : config.pools) {
    const std::optional<hook::ledger::Drained> alone = TRY(ledger.drain(pool.name).find());
    to.sample({{"pool", pool.name}}, int64_t{alone.has_value()});
  }
  return {};
}

// Returns whether the audit log's newest files are intact.
Result<bool> verify_audit(Ledger& ledger) {
  std::vector<std::string> files = hook::ledger::audit_files(hook::config::audit_file());
  if (files.size() > kAuditFiles) files.erase(files.begin(), files.end() - kAuditFiles);
  const hook::ledger::AuditMark remembered = TRY(ledger.events().audit_mark());
  const hook::ledger::AuditReport report = TRY(hook::ledger::verify_audit(files, remembered));
  return !report.fault.has_value();
}

// Returns the verdict of the last look, if it is not too old.
std::optional<bool> last_verdict(const std::string& file, int64_t now) {
  const std::optional<Noted> noted = read_noted(file);
  if (!noted || now < noted->at_ms || now - noted->at_ms >= kAuditMs) return std::nullopt;
  return noted->number == 1;
}

void add_gc(Exposition& to) {
  const std::optional<Noted> last = read_noted(hook::config::last_gc_file());
  to.family("ipu_gc_timestamp_seconds", Type::kGauge,
            "When 'ipuctl gc' ended last since boot, unix time.");
  if (last) to.sample({}, seconds(last->at_ms));
  to.family("ipu_gc_obstacles", Type::kGauge, "How many obstacles the last 'ipuctl gc' named.");
  if (last) to.sample({}, last->number);
}

void add_audit(Ledger& ledger, int64_t now, Exposition& to, std::vector<Error>& obstacles) {
  const std::string file = hook::config::run_dir() + "/audit-verdict";
  std::optional<bool> intact = last_verdict(file, now);
  if (!intact) {
    const Result<bool> verdict = verify_audit(ledger);
    if (!verdict.ok()) return obstacles.push_back(verdict.error());
    intact = verdict.value();
    // Without the file, the next call looks again.
    note(file, {now, *intact ? 1 : 0});
  }
  to.family(
      "ipu_audit_log_intact", Type::kGauge,
      "Whether each line of the audit log's two newest files followed from the one before it, "
      "within the last hour.");
  to.sample({}, int64_t{*intact});
}

Result<Outcome> run_metrics(const MetricsOptions& options) {
  const hook::config::Config config = TRY(hook::config::load_config(hook::config::config_file()));
  Ledger ledger = TRY(read_ledger());
  hook::lifecycle::Env env = hook::lifecycle::product_env(ledger);
  const int64_t now = base::unix_millis();
  Outcome outcome;
  Exposition exposition;
  TRY(add_host(ledger, config, now, exposition));
  add_pools(survey_pools(env, config, outcome.obstacles), exposition);
  TRY(add_leases(ledger, now, exposition));
  TRY(add_partitions(ledger, exposition));
  TRY(add_queue(env, now, exposition));
  TRY(add_addresses(ledger, config, exposition));
  add_border(exposition, outcome.obstacles);
  TRY(add_today(ledger, config, now, exposition));
  add_audit(ledger, now, exposition, outcome.obstacles);
  add_gc(exposition);
  outcome.text = std::move(exposition).take();
  if (options.file.empty()) return outcome;
  TRY_CTX("--file", base::write_atomic(options.file, std::exchange(outcome.text, ""), {}));
  return outcome;
}

}  // namespace

void add_metrics(CLI::App& app, Command& chosen) {
  const auto options = std::make_shared<MetricsOptions>();
  Options declared =
      add_command(app,
                  {"metrics", "Print pools, leases, queue and today's starts for Prometheus",
                   "ipuctl metrics\nipuctl metrics --file /run/ipu.prom"},
                  chosen, [options] { return run_metrics(*options); });
  declared.text({"--file", "PATH", "Replace this file, for node_exporter's textfile collector"},
                options->file);
}

}  // namespace ipuctl
