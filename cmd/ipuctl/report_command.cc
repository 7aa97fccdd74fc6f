// SPDX-License-Identifier: Apache-2.0
// report: what tenants, users or pools had, how long they waited, and what was refused.
#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <memory>
#include <numeric>

#include "base/clock.h"
#include "base/json.h"
#include "base/names.h"
#include "base/text.h"
#include "base/users.h"
#include "cmd/ipuctl/command.h"
#include "hook/config/paths.h"
#include "hook/lifecycle/env.h"

namespace ipuctl {
namespace {

using namespace base::names;
using base::Json;
using std::chrono::milliseconds;

constexpr milliseconds kSurveyTime{2000};
constexpr milliseconds kDefaultSince = std::chrono::hours(7 * 24);
constexpr double kHourMs = 3'600'000.0;

enum class By { kTenant, kUser, kPool };
enum class Format { kTable, kJson, kCsv };

struct ReportOptions {
  std::string since;
  By by = By::kTenant;
  Format format = Format::kTable;
};

// What the report says of one tenant, user or pool.
struct Line {
  int64_t held = 0;                             // IPU-milliseconds
  int64_t reserved = 0;                         // IPU-milliseconds
  int64_t ended = 0;                            // leases
  std::vector<int64_t> waits = {};              // milliseconds
  std::map<std::string, int64_t> refused = {};  // by cause
};

struct Report {
  By by = By::kTenant;
  int64_t from_ms = 0;
  int64_t until_ms = 0;
  std::map<std::string, Line> lines;     // by name
  std::map<std::string, int64_t> sizes;  // IPUs by pool; only those that are known
  std::optional<int64_t> size = 0;       // IPUs of all pools; unset: not known
};

const char* name_of(By by) {
  return by == By::kTenant ? "tenant" : by == By::kUser ? "user" : "pool";
}

template <typename Row>
std::string key_of(By by, const Row& row) {
  if (by == By::kTenant) return row.tenant;
  if (by == By::kPool) return row.pool;
  if (row.user < 0) return "";
  const std::string name = base::name_of_user(static_cast<uid_t>(row.user));
  return name.empty() ? str("uid ", row.user) : name;
}

// Returns the beginning of the day (UTC) that was this time ago.
Result<int64_t> from_of(const std::string& since, int64_t now_ms) {
  constexpr milliseconds kLongest = std::chrono::hours(hook::ledger::kUsageDays * 24);
  milliseconds time = kDefaultSince;
  if (!since.empty()) {
    const Result<milliseconds> parsed = base::parse_duration(since, kLongest);
    if (!parsed.ok())
      return Error(Code::kInvalid, str("--since ", quote(since),
                                       " is not accepted: give a time"
                                       " such as 24h or 7d, at most 400d"));
    time = parsed.value();
  }
  return (now_ms - time.count()) / hook::ledger::kDayMs * hook::ledger::kDayMs;
}

void ask_sizes(hook::ledger::Ledger& ledger, Report& report) {
  const Result<hook::config::Config> config =
      hook::config::load_config(hook::config::config_file());
  if (!config.ok()) {
    report.size.reset();
    return;
  }
  hook::lifecycle::Env env = hook::lifecycle::product_env(ledger);
  for (const hook::config::PoolConfig& pool : config.value().pools) {
    const Result<vipu::Survey> survey = env.controller(pool)->survey(Deadline::after(kSurveyTime));
    if (!survey.ok()) {
      report.size.reset();
      continue;
    }
    const std::vector<uint32_t>& domains = survey.value().domains;
    const int64_t size = std::accumulate(domains.begin(), domains.end(), int64_t{0});
    report.sizes[pool.name] = size;
    if (report.size) *report.size += size;
  }
}

Result<Report> make_report(hook::ledger::Ledger& ledger, const ReportOptions& options) {
  Report report;
  report.by = options.by;
  report.until_ms = base::unix_millis();
  report.from_ms = TRY(from_of(options.since, report.until_ms));
  hook::ledger::Usage usage = ledger.usage();
  for (const hook::ledger::UsageRow& row : TRY(usage.since(report.from_ms))) {
    Line& line = report.lines[key_of(options.by, row)];
    line.held += row.held;
    line.reserved += row.reserved;
    line.ended += row.starts;
  }
  for (const hook::ledger::WaitRow& row : TRY(usage.waits(report.from_ms)))
    report.lines[key_of(options.by, row)].waits.push_back(row.waited_ms);
  for (const hook::ledger::RefusedRow& row : TRY(usage.refused(report.from_ms)))
    report.lines[key_of(options.by, row)].refused[row.cause] += row.count;
  for (auto& [name, line] : report.lines) std::sort(line.waits.begin(), line.waits.end());
  ask_sizes(ledger, report);
  return report;
}

// Returns the part of the IPUs of all pools, or of the pool NAME, that was held; unset: unknown.
std::optional<double> utilisation(const Report& report, const std::string& name, const Line& line) {
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

int64_t refusals(const Line& line) {
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
std::vector<std::string> cells(const Report& report, const std::string& name, const Line& line,
                               bool plain) {
  const auto time = [&](int64_t ipu_ms) {
    return plain ? str(ipu_ms / 1000) : decimal(static_cast<double>(ipu_ms) / kHourMs, 2);
  };
  const std::optional<double> part = utilisation(report, name, line);
  const std::string none = plain ? "" : "-";
  const std::string used = !part   ? none
                           : plain ? decimal(*part, 6)
                                   : decimal(*part * 100.0, 1) + "%";
  const auto wait = [&](size_t index) {
    if (line.waits.empty()) return none;
    return plain ? decimal(static_cast<double>(line.waits[index]) / 1000.0, 3)
                 : decimal(static_cast<double>(line.waits[index]) / 1000.0, 1) + "s";
  };
  return {plain ? name : or_dash(name),
          time(line.held),
          time(line.reserved),
          plain ? "" : "unknown",
          used,
          str(line.ended),
          str(line.waits.size()),
          wait(line.waits.size() / 2),
          wait(line.waits.empty() ? 0 : line.waits.size() - 1),
          str(refusals(line))};
}

std::string table_of(const Report& report) {
  const std::string by = report.by == By::kTenant ? "TENANT"
                         : report.by == By::kUser ? "USER"
                                                  : "POOL";
  Rows rows = {{by, "HELD IPU-H", "RESERVED IPU-H", "BUSY", "UTILISATION", "ENDED", "STARTS",
                "MEDIAN WAIT", "LONGEST WAIT", "REFUSED"}};
  for (const auto& [name, line] : report.lines) rows.push_back(cells(report, name, line, false));
  std::string text = str("from ", base::rfc3339(report.from_ms), " to ",
                         base::rfc3339(report.until_ms), "\n", table(rows));
  for (const auto& [name, line] : report.lines) {
    for (const auto& [cause, count] : line.refused)
      text += str("refused ", count, " times, ", name_of(report.by), " ", or_dash(name), ": ",
                  cause, "\n");
  }
  return text;
}

// RFC 4180: a cell in quotes, which are doubled inside.
std::string csv_cell(const std::string& text) {
  std::string cell = "\"";
  for (const char c : text) cell += c == '"' ? std::string("\"\"") : std::string(1, c);
  return cell + '"';
}

std::string csv_of(const Report& report) {
  std::string text = str(name_of(report.by),
                         ",held_ipu_seconds,reserved_ipu_seconds,busy_ipu_seconds,utilisation,"
                         "ended,starts,median_wait_seconds,longest_wait_seconds,refused\n");
  for (const auto& [name, line] : report.lines) {
    std::vector<std::string> row = cells(report, name, line, true);
    row.front() = csv_cell(base::one_line(name, 1000));
    text += base::join(row, ",") + "\n";
  }
  return text;
}

Json json_of(const Report& report) {
  Json rows = Json::array();
  for (const auto& [name, line] : report.lines) {
    const std::optional<double> part = utilisation(report, name, line);
    const auto wait = [&line = line](size_t index) {
      return line.waits.empty() ? Json() : Json(static_cast<double>(line.waits[index]) / 1000.0);
    };
    Json refused = Json::array();
    for (const auto& [cause, count] : line.refused)
      refused.push_back({{"cause", cause}, {"count", count}});
    rows.push_back({{name_of(report.by), name},
                    {"held_ipu_seconds", line.held / 1000},
                    {"reserved_ipu_seconds", line.reserved / 1000},
                    {"busy_ipu_seconds", Json()},
                    {"utilisation", part ? Json(*part) : Json()},
                    {"ended", line.ended},
                    {"starts", line.waits.size()},
                    {"median_wait_seconds", wait(line.waits.size() / 2)},
                    {"longest_wait_seconds", wait(line.waits.empty() ? 0 : line.waits.size() - 1)},
                    {"refused", std::move(refused)}});
  }
  return {{"from", base::rfc3339(report.from_ms)},
          {"until", base::rfc3339(report.until_ms)},
          {"by", name_of(report.by)},
          {"ipus", report.size ? Json(*report.size) : Json()},
          {"rows", std::move(rows)}};
}

Result<Outcome> run_report(const ReportOptions& options) {
  hook::ledger::Ledger ledger = TRY(read_ledger());
  const Report report = TRY(make_report(ledger, options));
  if (options.format == Format::kJson) return Outcome{base::to_pretty_text(json_of(report))};
  return Outcome{options.format == Format::kCsv ? csv_of(report) : table_of(report)};
}

// Returns a parser that sets TARGET to what a text means.
template <typename Value>
std::function<Status(const std::string&)> one_of(Value& target,
                                                 std::map<std::string, Value> values) {
  return [&target, values = std::move(values)](const std::string& text) -> Status {
    const auto found = values.find(text);
    if (found != values.end()) {
      target = found->second;
      return {};
    }
    std::vector<std::string> names;
    for (const auto& [name, value] : values) names.push_back(name);
    return Error(Code::kInvalid,
                 str(quote(text), " is not accepted; give ", base::join(names, ", ")));
  };
}

}  // namespace

void add_report(CLI::App& app, Command& chosen) {
  const auto options = std::make_shared<ReportOptions>();
  Options declared = add_command(
      app,
      {"report", "Sum up what tenants, users or pools had, waited for, and were refused",
       "ipuctl report\nipuctl report --since 30d --by user --output csv"},
      chosen, [options] { return run_report(*options); });
  declared.text({"--since", "TIME", "From the day that was this time ago (default: 7d)"},
                options->since);
  declared.parsed(
      {"--by", "WHAT", "tenant, user or pool (default: tenant)"},
      one_of<By>(options->by, {{"tenant", By::kTenant}, {"user", By::kUser}, {"pool", By::kPool}}));
  declared.parsed(
      {"-o,--output", "FORMAT", "table, json or csv (default: table)"},
      one_of<Format>(options->format,
                     {{"table", Format::kTable}, {"json", Format::kJson}, {"csv", Format::kCsv}}));
}

}  // namespace ipuctl
