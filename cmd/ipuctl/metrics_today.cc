// SPDX-License-Identifier: Apache-2.0
#include "cmd/ipuctl/metrics_today.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/names.h"
#include "cmd/ipuctl/metrics_controllers.h"
#include "hook/ledger/usage.h"

namespace ipuctl {
namespace {

using namespace base::names;
using hook::ledger::Ledger;
using metrics::Exposition;
using metrics::Type;

constexpr uint32_t kEventsRead = 1000;  // events of one query
// What a day may have; the events beyond it are of no use for a histogram.
constexpr size_t kMostEvents = 200'000;

double in_seconds(int64_t ms) { return static_cast<double>(ms) / 1000.0; }

// From the INTENT of a start to its IPUs, and on until its container runs.
class Phases {
 public:
  void add(const hook::ledger::Event& event);
  void print(Exposition& to) const;

 private:
  struct Times {
    int64_t intent = 0;
    int64_t allocated = 0;
  };
  std::map<std::string, Times> starts_;  // that have not ended, by lease
  std::vector<double> grant_;            // seconds
  std::vector<double> attach_;
};

void Phases::add(const hook::ledger::Event& event) {
  if (event.kind != hook::ledger::EventKind::kState || event.lease.empty()) return;
  Times& times = starts_[event.lease];
  if (event.text.starts_with("INTENT")) times.intent = event.at_ms;
  if (event.text.starts_with("ALLOCATED") && times.allocated == 0 && times.intent != 0) {
    times.allocated = event.at_ms;
    grant_.push_back(in_seconds(std::max<int64_t>(0, times.allocated - times.intent)));
  }
  if (event.text.starts_with("RUNNING") && times.allocated != 0) {
    attach_.push_back(in_seconds(std::max<int64_t>(0, event.at_ms - times.allocated)));
    starts_.erase(event.lease);
  }
}

void Phases::print(Exposition& to) const {
  to.family("ipu_start_phase_seconds", Type::kHistogram,
            "Since midnight (UTC), as far as the history goes: from the first record of a start to "
            "its IPUs (grant), and from there until its container runs (attach).");
  to.histogram({{"phase", "grant"}}, grant_);
  to.histogram({{"phase", "attach"}}, attach_);
}

// Adds the events from FROM_MS on, unix time, to all of TO.
template <typename... To>
Status read_history(Ledger& ledger, int64_t from_ms, To&... to) {
  size_t seen = 0;
  for (int64_t number = TRY(ledger.events().last_before(from_ms)); seen < kMostEvents;) {
    const std::vector<hook::ledger::Event> events = TRY(ledger.events().after(number, kEventsRead));
    for (const hook::ledger::Event& event : events) (to.add(event), ...);
    if (events.size() < kEventsRead) break;
    number = events.back().number;
    seen += events.size();
  }
  return {};
}

using ByTenant = std::map<std::pair<std::string, std::string>, hook::ledger::UsageRow>;

// What each pool and tenant had on the day TODAY since 1970. Those of the configuration are there
// from the beginning: whoever counts by a rate does not see the first sample of a series.
Result<ByTenant> had_today(Ledger& ledger, const hook::config::Config& config, int64_t today) {
  ByTenant had;
  for (const hook::config::PoolConfig& pool : config.pools) {
    if (config.policy.tenants.empty()) had[{pool.name, ""}];
    for (const hook::config::TenantConfig& tenant : config.policy.tenants)
      had[{pool.name, tenant.name}];
  }
  for (const hook::ledger::UsageRow& row : TRY(ledger.usage().between(today, today + 1))) {
    hook::ledger::UsageRow& sum = had[{row.pool, row.tenant}];
    sum.held += row.held;
    sum.reserved += row.reserved;
    sum.waits.add(row.waits);
    sum.measured += row.measured;
    sum.busy += row.busy;
  }
  return had;
}

metrics::Labels day_labels(const ByTenant::key_type& key) {
  return {{"pool", key.first}, {"tenant", key.second}};
}

// Nothing without a monitor: what is unknown is not 0.
void add_busy(const ByTenant& had, Exposition& to) {
  to.family("ipu_measured_ipu_seconds_total", Type::kCounter,
            "Of what leases held since midnight (UTC): for which a monitor said how busy it was.");
  for (const auto& [key, sum] : had) to.sample(day_labels(key), in_seconds(sum.measured));
  to.family("ipu_busy_ipu_seconds_total", Type::kCounter,
            "Of that: in which the IPUs were busy, in seconds of one IPU.");
  for (const auto& [key, sum] : had) to.sample(day_labels(key), in_seconds(sum.busy));
}

void add_starts(const ByTenant& had, Exposition& to) {
  to.family("ipu_starts_total", Type::kCounter, "Starts that got IPUs since midnight (UTC).");
  for (const auto& [key, sum] : had) to.sample(day_labels(key), sum.waits.count());
  to.family("ipu_held_ipu_seconds_total", Type::kCounter,
            "What leases held since midnight (UTC), in seconds of one IPU.");
  for (const auto& [key, sum] : had) to.sample(day_labels(key), in_seconds(sum.held));
  to.family("ipu_reserved_ipu_seconds_total", Type::kCounter,
            "What reservations held since midnight (UTC), also while a container used them.");
  for (const auto& [key, sum] : had) to.sample(day_labels(key), in_seconds(sum.reserved));
  to.family("ipu_start_wait_seconds", Type::kHistogram,
            "Since midnight (UTC): from when a start was asked for until it had its IPUs.");
  std::map<std::string, base::Histogram> waits;
  for (const auto& [key, sum] : had) waits[key.first].add(sum.waits);
  for (const auto& [pool, times] : waits) to.histogram({{"pool", pool}}, times);
}

Status add_refusals(Ledger& ledger, int64_t today, Exposition& to) {
  std::map<std::pair<std::string, std::string>, int64_t> refused;
  for (const hook::ledger::RefusedRow& row : TRY(ledger.usage().refused(today, today + 1)))
    refused[{row.pool, row.cause}] += row.count;
  to.family("ipu_refused_starts_total", Type::kCounter,
            "Starts that were refused since midnight (UTC), by cause.");
  for (const auto& [key, number] : refused)
    to.sample({{"pool", key.first}, {"cause", key.second}}, number);
  return {};
}

}  // namespace

Status add_today(Ledger& ledger, const hook::config::Config& config, int64_t now, Exposition& to) {
  const int64_t today = now / hook::ledger::kDayMs;
  const ByTenant had = TRY(had_today(ledger, config, today));
  add_starts(had, to);
  if (config.monitor) add_busy(had, to);
  TRY(add_refusals(ledger, today, to));
  Phases phases;
  ControllerAnswers answers(config);
  TRY(read_history(ledger, today * hook::ledger::kDayMs, phases, answers));
  phases.print(to);
  answers.print(to);
  return {};
}

}  // namespace ipuctl
