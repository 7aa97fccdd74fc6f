// SPDX-License-Identifier: Apache-2.0
#include "cmd/ipuctl/report.h"

#include <algorithm>
#include <chrono>
#include <set>

#include "base/clock.h"
#include "base/names.h"
#include "base/text.h"
#include "hook/config/paths.h"
#include "hook/fleet/hosts.h"
#include "hook/fleet/usage.h"
#include "hook/lifecycle/accounting.h"
#include "hook/lifecycle/env.h"
#include "hook/lifecycle/open_fleet.h"

namespace ipuctl {
namespace {

using namespace base::names;
using hook::fleet::UsagePart;
using hook::ledger::kDayMs;
using std::chrono::milliseconds;

constexpr milliseconds kSurveyTime{2000};
constexpr milliseconds kDefaultSince = std::chrono::hours(7 * 24);

// Returns the day (since 1970, UTC) that was this time ago.
Result<int64_t> first_day(const std::string& since, int64_t now_ms) {
  constexpr milliseconds kLongest = std::chrono::hours(hook::ledger::kUsageDays * 24);
  if (since.empty()) return (now_ms - kDefaultSince.count()) / kDayMs;
  const Result<milliseconds> time = base::parse_duration(since, kLongest);
  if (time.ok()) return (now_ms - time.value().count()) / kDayMs;
  return Error(Code::kInvalid, str("--since ", quote(since),
                                   " is not accepted: give a time such as 24h or 7d, at most"
                                   " 400d"));
}

template <typename Row>
std::string key_of(By by, const UsagePart& part, const Row& row) {
  if (by == By::kTenant) return row.tenant;
  if (by == By::kUser) return row.user;
  return by == By::kPool ? row.pool : part.host;
}

void add_line(ReportLine& line, const hook::fleet::UsageLine& row) {
  line.held += row.held;
  line.reserved += row.reserved;
  line.ended += row.ended;
  line.waits.add(row.waits);
  line.measured += row.measured;
  line.busy += row.busy;
}

void add_room(hook::fleet::UsageRoom& room, const hook::fleet::UsageRoom& row) {
  room.measured_ms += row.measured_ms;
  room.free += row.free;
  room.largest += row.largest;
  const bool is_worse = row.worst_ms > 0 &&
                        (room.worst_ms == 0 ||
                         row.worst_free - row.worst_largest > room.worst_free - room.worst_largest);
  if (!is_worse) return;
  room.worst_ms = row.worst_ms;
  room.worst_free = row.worst_free;
  room.worst_largest = row.worst_largest;
}

void add_part(Report& report, const UsagePart& part) {
  ReportDay& day = report.days[part.day];
  day.has_lines = day.has_lines || !part.lines.empty() || !part.refusals.empty();
  for (const hook::fleet::UsageLine& row : part.lines) {
    add_line(report.lines[key_of(report.by, part, row)], row);
    add_line(day.sum, row);
  }
  for (const hook::fleet::UsageRefusal& row : part.refusals) {
    report.lines[key_of(report.by, part, row)].refused[row.cause] += row.count;
    day.sum.refused[row.cause] += row.count;
  }
  for (const hook::fleet::UsageRoom& row : part.rooms) {
    add_room(report.rooms[row.pool], row);
    add_room(day.rooms[row.pool], row);
  }
}

// The parts of a report, that of this host and day first.
struct Parts {
  std::vector<UsagePart> all;
  // By host: the pools whose sizes it knows, by its newest part.
  std::map<std::string, std::map<std::string, hook::fleet::UsagePool>> pools;
  bool has_own_sizes = false;  // of each pool of this host
};

// Adds this host's parts, a day each, as its ledger has them.
Status add_own(hook::lifecycle::Env& env, int64_t first, int64_t today, Parts& parts) {
  for (int64_t day = first; day < today; ++day)
    parts.all.push_back(TRY(hook::lifecycle::usage_part(env, day, day + 1)));
  UsagePart part = TRY(hook::lifecycle::usage_part(env, today, INT64_MAX));
  const Result<hook::config::Config> config =
      hook::config::load_config(hook::config::config_file());
  if (config.ok()) {
    part.pools =
        hook::lifecycle::look_at_pools(env, config.value().pools, Deadline::after(kSurveyTime))
            .sizes;
    parts.has_own_sizes = part.pools.size() == config.value().pools.size();
  }
  parts.pools[part.host] = part.pools;
  parts.all.insert(parts.all.begin(), std::move(part));
  return {};
}

// Adds what other hosts have told the fleet, and what this one did before its ledger was made.
Status add_others(hook::lifecycle::Env& env, int64_t first, Parts& parts, Report& report,
                  std::vector<Error>& obstacles) {
  const std::optional<hook::lifecycle::OpenFleet> fleet = TRY(hook::lifecycle::open_fleet(env));
  if (!fleet) return {};
  const UsagePart own = parts.all.front();
  report.hosts[own.host].until_ms = own.at_ms;
  const hook::fleet::Fleet at = fleet->at_last();
  for (const hook::fleet::HostState& host :
       TRY(hook::fleet::list_hosts(at.store, at.prefix, at.deadline, obstacles)))
    report.hosts[host.host.tag].name = host.host.name;
  const std::optional<hook::ledger::Told> told = TRY(env.ledger.usage().told());
  const int64_t today = report.until_ms / kDayMs;
  // A host whose clock is ahead has begun the next day.
  const int64_t last = today + 1;
  for (int64_t day = std::max(first, today - hook::fleet::kFleetUsageDays + 1); day <= last;
       ++day) {
    for (UsagePart& part : TRY(hook::fleet::read_usage(fleet->at_last(), day, obstacles))) {
      ReportHost& host = report.hosts[part.host];
      if (host.name.empty()) host.name = part.name;
      const bool is_own = part.host == own.host;
      if (is_own && told && part.epoch == told->epoch) continue;  // the ledger has it
      host.until_ms = std::max(host.until_ms, part.at_ms);
      if (!is_own && !part.pools.empty()) parts.pools[part.host] = part.pools;
      parts.all.push_back(std::move(part));
    }
  }
  return {};
}

// Sums up the sizes: a pool that hosts share counts once.
void add_sizes(const Parts& parts, Report& report) {
  std::set<std::string> shared;
  for (const auto& [host, pools] : parts.pools) {
    for (const auto& [name, pool] : pools) {
      const bool is_new = !pool.shared || shared.insert(name).second;
      if (is_new) report.sizes[name] += pool.ipus;
    }
  }
  bool is_whole = parts.has_own_sizes;
  const std::string& me = parts.all.front().host;  // whose former pools count nothing
  for (const UsagePart& part : parts.all)
    for (const hook::fleet::UsageLine& line : part.lines)
      is_whole = is_whole && (part.host == me || report.sizes.contains(line.pool));
  if (!is_whole) return;
  report.size = 0;
  for (const auto& [name, ipus] : report.sizes) *report.size += ipus;
}

}  // namespace

const char* name_of(By by) {
  constexpr const char* kNames[] = {"tenant", "user", "pool", "host"};
  return kNames[static_cast<size_t>(by)];
}

Result<Report> make_report(hook::ledger::Ledger& ledger, const ReportWish& wish,
                           std::vector<Error>& obstacles) {
  Report report;
  report.by = wish.by;
  report.until_ms = base::unix_millis();
  const int64_t first = TRY(first_day(wish.since, report.until_ms));
  report.from_ms = first * kDayMs;
  hook::lifecycle::Env env = hook::lifecycle::product_env(ledger);
  Parts parts;
  TRY(add_own(env, first, report.until_ms / kDayMs, parts));
  report.own = parts.all.front().host;
  if (wish.scope == Scope::kFleet) {
    const Status others = add_others(env, first, parts, report, obstacles);
    if (!others.ok()) obstacles.push_back(others.error());
  }
  for (const UsagePart& part : parts.all) add_part(report, part);
  add_sizes(parts, report);
  return report;
}

std::optional<double> busy_part(const ReportLine& line) {
  if (line.measured <= 0) return std::nullopt;
  return static_cast<double>(line.busy) / static_cast<double>(line.measured);
}

std::optional<double> utilisation(const Report& report, const std::string& name,
                                  const ReportLine& line) {
  std::optional<int64_t> size = report.size;
  if (report.by == By::kPool) {
    const auto known = report.sizes.find(name);
    size.reset();
    if (known != report.sizes.end()) size = known->second;
  }
  const int64_t time = report.until_ms - report.from_ms;
  if (!size || *size == 0 || time <= 0) return std::nullopt;
  return static_cast<double>(line.held) / (static_cast<double>(*size) * static_cast<double>(time));
}

}  // namespace ipuctl
