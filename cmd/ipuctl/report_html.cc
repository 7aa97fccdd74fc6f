// SPDX-License-Identifier: Apache-2.0
// The report as the data of its page.
#include <algorithm>
#include <set>

#include "base/clock.h"
#include "base/names.h"
#include "base/text.h"
#include "cmd/ipuctl/report_now.h"
#include "hook/fleet/usage.h"
#include "hook/ledger/usage.h"

namespace ipuctl {
namespace {

using namespace base::names;
using hook::ledger::kDayMs;

// Returns the part of the IPUs, for TIME_MS, that HELD is.
std::optional<double> part_of(const Report& report, int64_t held, int64_t time_ms) {
  if (!report.size || *report.size <= 0 || time_ms <= 0) return std::nullopt;
  return static_cast<double>(held) /
         (static_cast<double>(*report.size) * static_cast<double>(time_ms));
}

int64_t refused_of(const ReportLine& line) {
  int64_t sum = 0;
  for (const auto& [cause, count] : line.refused) sum += count;
  return sum;
}

bool has_record(const ReportDay& day) { return day.has_lines || !day.rooms.empty(); }

page::Day page_day(const Report& report, int64_t number) {
  page::Day shown;
  shown.date = hook::fleet::day_text(number);
  const auto found = report.days.find(number);
  if (found == report.days.end()) return shown;
  const ReportDay& day = found->second;
  shown.is_known = has_record(day);
  const int64_t end_ms = std::min(report.until_ms, (number + 1) * kDayMs);
  if (shown.is_known) shown.used = part_of(report, day.sum.held, end_ms - number * kDayMs);
  shown.busy = busy_part(day.sum);
  shown.starts = day.sum.waits.count();
  shown.median_wait_ms = day.sum.waits.median_ms();
  shown.longest_wait_ms = day.sum.waits.largest_ms();
  shown.refused = refused_of(day.sum);
  for (const auto& [pool, room] : day.rooms) {
    if (room.measured_ms <= 0) continue;
    const auto time = static_cast<double>(room.measured_ms);
    shown.rooms[pool] = {static_cast<double>(room.free) / time,
                         static_cast<double>(room.largest) / time};
  }
  return shown;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (const std::string_view line : base::split(text, '\n'))
    if (!line.empty()) lines.emplace_back(line);
  return lines;
}

void add_sums(const Report& report, page::Page& page) {
  ReportLine sum;
  for (const auto& [name, line] : report.lines) {
    sum.held += line.held;
    sum.busy += line.busy;
    sum.measured += line.measured;
    sum.waits.add(line.waits);
    for (const auto& [cause, count] : line.refused) page.refusals.push_back({name, cause, count});
  }
  std::stable_sort(page.refusals.begin(), page.refusals.end(),
                   [](const auto& a, const auto& b) { return a.count > b.count; });
  page.used = part_of(report, sum.held, report.until_ms - report.from_ms);
  page.busy = busy_part(sum);
  page.starts = sum.waits.count();
  page.median_wait_ms = sum.waits.median_ms();
  page.longest_wait_ms = sum.waits.largest_ms();
}

}  // namespace

page::Page report_page(const Report& report, Now now, const std::vector<Error>& obstacles) {
  page::Page page;
  page.by = name_of(report.by);
  page.from = base::rfc3339(report.from_ms);
  page.until = base::rfc3339(report.until_ms);
  page.host = report.hosts.empty() ? "" : report.own;
  page.drained = std::move(now.drained);
  page.ipus = report.size;
  add_sums(report, page);
  std::set<std::string> said;
  for (const Error& obstacle : obstacles)
    if (said.insert(obstacle.message()).second) page.troubles.push_back(obstacle.message());
  page.pools = std::move(now.pools);
  page.queue = std::move(now.queue);
  page.holdings = std::move(now.holdings);
  for (int64_t day = report.from_ms / kDayMs; day <= report.until_ms / kDayMs; ++day)
    page.days.push_back(page_day(report, day));
  Rows rows = report_rows(report);
  page.sums.headings = std::move(rows.front());
  rows.erase(rows.begin());
  page.sums.rows = std::move(rows);
  page.hosts = lines_of(hosts_text(report));
  return page;
}

}  // namespace ipuctl
