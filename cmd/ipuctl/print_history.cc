// SPDX-License-Identifier: Apache-2.0
#include "cmd/ipuctl/print_history.h"

#include <array>
#include <cstdio>

#include "base/clock.h"
#include "base/json.h"
#include "base/text.h"
#include "cmd/ipuctl/lease_json.h"

namespace ipuctl {
namespace {

using base::Json;
using base::str;

Json to_json(const hook::ledger::Event& event) {
  const base::Result<Json> details = base::parse_json(event.details, "details");
  return {{"number", event.number},
          {"time", base::rfc3339(event.at_ms)},
          {"kind", name_of(event.kind)},
          {"event", event.text},
          {"lease", event.lease},
          {"container", event.container},
          {"pool", event.pool},
          {"partition", event.partition},
          {"details", details.ok() ? details.value() : Json::object()}};
}

std::string padded(std::string_view text, size_t width) {
  std::string cell(text);
  if (cell.size() < width) cell.resize(width, ' ');
  return cell;
}

// Returns the time since START, such as "+12.034s".
std::string since_start(int64_t at_ms, int64_t start_ms) {
  std::array<char, 40> text{};
  (void)std::snprintf(text.data(), text.size(), "%+.3fs",
                      static_cast<double>(at_ms - start_ms) / 1000);
  return text.data();
}

// Returns MILLIS with three digits behind the point.
std::string decimal(double millis) {
  std::array<char, 40> text{};
  (void)std::snprintf(text.data(), text.size(), "%.3f", millis);
  return text.data();
}

std::string facts(const hook::ledger::Lease& lease) {
  Rows rows = {{"lease", lease.id},
               {"container", lease.container},
               {"tenant", lease.tenant},
               {"pool", lease.pool},
               {"partition", str(lease.partition, " (", name_of(lease.origin), ", ", lease.ipus,
                                 " IPUs of ", gcds_text(lease), ")")},
               {"state", str(name_of(lease.state), " since ", base::rfc3339(lease.changed_ms), " (",
                             age(lease.changed_ms), ")")}};
  if (!lease.error.empty()) rows.push_back({"error", lease.error});
  if (!lease.obstacle.empty()) {
    rows.push_back({"obstacle", str(lease.obstacle, " (attempt ", lease.attempts, ")")});
  }
  return table(rows);
}

std::string timeline(const Explanation& explanation) {
  Rows rows;
  const int64_t start = explanation.lease.created_ms;
  for (const hook::ledger::Event& event : explanation.events) {
    rows.push_back(
        {str("  ", since_start(event.at_ms, start)), std::string(name_of(event.kind)), event.text});
  }
  return str("\nTIMELINE from ", base::rfc3339(start), "\n", table(rows));
}

std::string outside_text(const std::vector<Outside>& outside) {
  Rows rows;
  for (const Outside& one : outside) {
    rows.push_back(
        {str("  ", one.effect), one.reason.empty() ? one.state : str(one.state, ": ", one.reason)});
  }
  return rows.empty() ? "" : str("\nOUTSIDE THE LEDGER now\n", table(rows));
}

std::string earlier_text(const std::vector<hook::ledger::Lease>& earlier) {
  Rows rows;
  for (const hook::ledger::Lease& lease : earlier) {
    rows.push_back({str("  ", lease.id), std::string(name_of(lease.state)),
                    base::rfc3339(lease.created_ms), lease.error});
  }
  return rows.empty() ? "" : str("\nEARLIER LEASES of the container\n", table(rows));
}

Json to_json(const Explanation& explanation) {
  Json json = {{"lease", lease_json(explanation.lease)},
               {"events", Json::array()},
               {"outside", Json::array()},
               {"next", explanation.next},
               {"earlier", Json::array()}};
  for (const hook::ledger::Event& event : explanation.events)
    json["events"].push_back(to_json(event));
  for (const Outside& one : explanation.outside) {
    json["outside"].push_back(
        {{"effect", one.effect}, {"state", one.state}, {"reason", one.reason}});
  }
  for (const hook::ledger::Lease& lease : explanation.earlier) {
    json["earlier"].push_back({{"lease", lease.id},
                               {"state", name_of(lease.state)},
                               {"created", base::rfc3339(lease.created_ms)},
                               {"error", lease.error}});
  }
  return json;
}

}  // namespace

std::string event_line(const hook::ledger::Event& event, Output output) {
  if (output == Output::kJson) return base::to_text(to_json(event)) + "\n";
  const std::string whose =
      event.lease.empty() ? str(event.pool, "/", event.partition)
                          : str(base::short_id(event.lease), " ", base::short_id(event.container));
  return str(padded(str(event.number), 6), "  ", base::rfc3339(event.at_ms), "  ",
             padded(name_of(event.kind), 10), "  ", padded(whose, 25), "  ", event.text, "\n");
}

std::string explanation_text(const Explanation& explanation, Output output) {
  if (output == Output::kJson) return base::to_pretty_text(to_json(explanation));
  std::string text = facts(explanation.lease) + timeline(explanation);
  text += outside_text(explanation.outside);
  if (!explanation.next.empty()) text += str("\nNEXT\n  ", explanation.next, "\n");
  return text + earlier_text(explanation.earlier);
}

std::string fault_text(const hook::ledger::AuditFault& fault) {
  if (fault.line == 0) return str("the audit log is not complete: ", fault.reason);
  return str(fault.file, " line ", fault.line, " does not fit: ", fault.reason);
}

std::string trace_text(const std::vector<base::TraceStep>& steps, Output output) {
  Rows rows = {{"MS", "STEP MS", "PROGRAM", "STEP"}};
  Json list = Json::array();
  const auto millis = [](int64_t nanos) { return static_cast<double>(nanos / 1000) / 1000; };
  for (size_t i = 0; i < steps.size(); ++i) {
    const base::TraceStep& step = steps[i];
    const double since_first = millis(step.nanos - steps[0].nanos);
    const double since_last = millis(step.nanos - steps[i == 0 ? 0 : i - 1].nanos);
    rows.push_back({decimal(since_first), decimal(since_last), step.program, step.what});
    list.push_back({{"ms", since_first},
                    {"step_ms", since_last},
                    {"program", step.program},
                    {"pid", step.pid},
                    {"step", step.what}});
  }
  return output == Output::kJson ? base::to_pretty_text(list) : table(rows);
}

std::string audit_text(const hook::ledger::AuditReport& report, Output output) {
  if (output == Output::kJson) {
    Json json = {{"lines", report.lines},    {"first", report.first_time},
                 {"last", report.last_time}, {"number", report.last.number},
                 {"hash", report.last.hash}, {"from_the_start", report.from_the_start},
                 {"notes", report.notes},    {"fault", nullptr}};
    if (report.fault) {
      json["fault"] = {{"file", report.fault->file},
                       {"line", report.fault->line},
                       {"reason", report.fault->reason}};
    }
    return base::to_pretty_text(json);
  }
  std::string text = "no lines\n";
  if (report.lines > 0) {
    text =
        str(report.lines, " lines are intact, from ", report.first_time, " to ", report.last_time,
            report.from_the_start ? "" : "; earlier lines are in an earlier file", "\n");
  }
  for (const std::string& note : report.notes) text += note + "\n";
  return text;
}

}  // namespace ipuctl
