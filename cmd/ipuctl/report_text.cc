// SPDX-License-Identifier: Apache-2.0
// The report as a table, as CSV and as JSON.
#include <array>
#include <cstdio>

#include "base/clock.h"
#include "base/names.h"
#include "base/text.h"
#include "cmd/ipuctl/formats/formats.h"
#include "cmd/ipuctl/print.h"
#include "cmd/ipuctl/report.h"

namespace ipuctl {
namespace {

using namespace base::names;
using base::Json;

constexpr double kHourMs = 3'600'000.0;
constexpr size_t kMaxCell = 1000;

int64_t refusals(const ReportLine& line) {
  int64_t sum = 0;
  for (const auto& [cause, count] : line.refused) sum += count;
  return sum;
}

std::string decimal(double value, int digits) {
  std::array<char, 64> text{};
  (void)std::snprintf(text.data(), text.size(), "%.*f", digits, value);
  return text.data();
}

// Cells of one line, as people read them or (PLAIN) as programs do: seconds, without units.
std::vector<std::string> cells(const Report& report, const std::string& name,
                               const ReportLine& line, bool plain) {
  const auto time = [&](int64_t ipu_ms) {
    return plain ? str(ipu_ms / 1000) : decimal(static_cast<double>(ipu_ms) / kHourMs, 2);
  };
  const std::optional<double> part = utilisation(report, name, line);
  const std::optional<double> busy = busy_part(line);
  const std::string none = plain ? "" : "-";
  const std::string used = !part   ? none
                           : plain ? decimal(*part, 6)
                                   : decimal(*part * 100.0, 1) + "%";
  const auto wait = [&](int64_t wait_ms) {
    if (line.waits.count() == 0) return none;
    return plain ? decimal(static_cast<double>(wait_ms) / 1000.0, 3)
                 : decimal(static_cast<double>(wait_ms) / 1000.0, 1) + "s";
  };
  const std::string busy_cell = !busy   ? (plain ? "" : "unknown")
                                : plain ? time(line.busy)
                                        : decimal(*busy * 100.0, 1) + "%";
  std::vector<std::string> row = {plain ? name : or_dash(name),
                                  time(line.held),
                                  time(line.reserved),
                                  busy_cell,
                                  used,
                                  str(line.ended),
                                  str(line.waits.count()),
                                  wait(line.waits.median_ms()),
                                  wait(line.waits.largest_ms()),
                                  str(refusals(line))};
  // In CSV it is the last column, because columns that were there stay where they are.
  constexpr ptrdiff_t kAfterBusy = 4;
  const auto at = plain ? row.end() : row.begin() + kAfterBusy;
  row.insert(at, busy || plain ? time(line.measured) : none);
  return row;
}

std::string host_line(const std::string& tag, const ReportHost& host) {
  const std::string until =
      host.until_ms == 0 ? std::string("no data") : str("until ", base::rfc3339(host.until_ms));
  return str("host ", tag, host.name.empty() ? "" : str(" (", host.name, ")"), ": ", until, "\n");
}

// Returns the mean of IPU-milliseconds over TIME_MS.
double mean(int64_t ipu_ms, int64_t time_ms) {
  return time_ms == 0 ? 0 : static_cast<double>(ipu_ms) / static_cast<double>(time_ms);
}

std::string rooms_table(const Report& report) {
  if (report.rooms.empty()) return "";
  Rows rows = {{"POOL", "LOOKED AT", "MEAN FREE", "MEAN LARGEST FIT", "WORST"}};
  for (const auto& [name, room] : report.rooms) {
    const std::string worst = room.worst_free == room.worst_largest
                                  ? std::string("-")
                                  : str(room.worst_largest, " of ", room.worst_free,
                                        " free IPUs at ", base::rfc3339(room.worst_ms));
    rows.push_back({name, str(decimal(static_cast<double>(room.measured_ms) / kHourMs, 1), "h"),
                    decimal(mean(room.free, room.measured_ms), 1),
                    decimal(mean(room.largest, room.measured_ms), 1), worst});
  }
  return "\n" + table(rows);
}

Json room_json(const std::string& name, const hook::fleet::UsageRoom& room) {
  const bool is_measured = room.measured_ms > 0;
  return {{"pool", name},
          {"measured_seconds", room.measured_ms / 1000},
          {"mean_free_ipus", is_measured ? Json(mean(room.free, room.measured_ms)) : Json()},
          {"mean_largest_fit", is_measured ? Json(mean(room.largest, room.measured_ms)) : Json()},
          {"worst_at", room.worst_ms == 0 ? Json() : Json(base::rfc3339(room.worst_ms))},
          {"worst_free_ipus", room.worst_ms == 0 ? Json() : Json(room.worst_free)},
          {"worst_largest_fit", room.worst_ms == 0 ? Json() : Json(room.worst_largest)}};
}

Json row_json(const Report& report, const std::string& name, const ReportLine& line) {
  const std::optional<double> part = utilisation(report, name, line);
  const auto wait = [&](int64_t wait_ms) {
    return line.waits.count() == 0 ? Json() : Json(static_cast<double>(wait_ms) / 1000.0);
  };
  Json refused = Json::array();
  for (const auto& [cause, count] : line.refused)
    refused.push_back({{"cause", cause}, {"count", count}});
  return {{name_of(report.by), name},
          {"held_ipu_seconds", line.held / 1000},
          {"reserved_ipu_seconds", line.reserved / 1000},
          {"busy_ipu_seconds", busy_part(line) ? Json(line.busy / 1000) : Json()},
          {"measured_ipu_seconds", line.measured / 1000},
          {"utilisation", part ? Json(*part) : Json()},
          {"ended", line.ended},
          {"starts", line.waits.count()},
          {"median_wait_seconds", wait(line.waits.median_ms())},
          {"longest_wait_seconds", wait(line.waits.largest_ms())},
          {"refused", std::move(refused)}};
}

}  // namespace

Rows report_rows(const Report& report) {
  std::string by = name_of(report.by);
  for (char& c : by) c = static_cast<char>(c - 'a' + 'A');
  Rows rows = {{by, "HELD IPU-H", "RESERVED IPU-H", "BUSY", "MEASURED IPU-H", "UTILISATION",
                "ENDED", "STARTS", "MEDIAN WAIT", "LONGEST WAIT", "REFUSED"}};
  for (const auto& [name, line] : report.lines) rows.push_back(cells(report, name, line, false));
  return rows;
}

std::string hosts_text(const Report& report) {
  std::string text;
  for (const auto& [tag, host] : report.hosts) text += host_line(tag, host);
  return text;
}

std::string report_table(const Report& report) {
  std::string text = str("from ", base::rfc3339(report.from_ms), " to ",
                         base::rfc3339(report.until_ms), "\n", table(report_rows(report)));
  for (const auto& [name, line] : report.lines) {
    for (const auto& [cause, count] : line.refused)
      text += str("refused ", count, " times, ", name_of(report.by), " ", or_dash(name), ": ",
                  cause.empty() ? "other causes" : cause, "\n");
  }
  return text + rooms_table(report) + hosts_text(report);
}

std::string report_csv(const Report& report) {
  std::string text = str(name_of(report.by),
                         ",held_ipu_seconds,reserved_ipu_seconds,busy_ipu_seconds,utilisation,"
                         "ended,starts,median_wait_seconds,longest_wait_seconds,refused,"
                         "measured_ipu_seconds\n");
  for (const auto& [name, line] : report.lines) {
    std::vector<std::string> row = cells(report, name, line, true);
    row.front() = formats::csv_quoted(base::one_line(name, kMaxCell));
    text += base::join(row, ",") + "\n";
  }
  return text;
}

Json report_json(const Report& report) {
  Json rows = Json::array();
  for (const auto& [name, line] : report.lines) rows.push_back(row_json(report, name, line));
  Json json = {{"from", base::rfc3339(report.from_ms)},
               {"until", base::rfc3339(report.until_ms)},
               {"by", name_of(report.by)},
               {"ipus", report.size ? Json(*report.size) : Json()},
               {"rows", std::move(rows)},
               {"fragmentation", Json::array()}};
  for (const auto& [name, room] : report.rooms)
    json["fragmentation"].push_back(room_json(name, room));
  if (report.hosts.empty()) return json;
  json["hosts"] = Json::array();
  for (const auto& [tag, host] : report.hosts)
    json["hosts"].push_back(
        {{"host", tag},
         {"name", host.name},
         {"until", host.until_ms == 0 ? Json() : Json(base::rfc3339(host.until_ms))}});
  return json;
}

}  // namespace ipuctl
