// SPDX-License-Identifier: Apache-2.0
// What tenants, users, pools or hosts had, how long they waited, and what was refused.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/histogram.h"
#include "base/json.h"
#include "base/result.h"
#include "cmd/ipuctl/print.h"
#include "hook/fleet/usage.h"
#include "hook/ledger/ledger.h"

namespace ipuctl {

enum class By { kTenant, kUser, kPool, kHost };
enum class Scope { kFleet, kHost };  // all hosts of the fleet, if there is one; this host alone

struct ReportWish {
  std::string since;  // such as "7d"; empty: 7 days
  By by = By::kTenant;
  Scope scope = Scope::kFleet;
};

// What the report says of one tenant, user, pool or host.
struct ReportLine {
  int64_t held = 0;      // IPU-milliseconds
  int64_t reserved = 0;  // IPU-milliseconds
  int64_t ended = 0;     // leases
  base::Histogram waits = {};
  std::map<std::string, int64_t> refused = {};  // by cause
  int64_t measured = 0;  // IPU-milliseconds for which a monitor said how busy the IPUs were
  int64_t busy = 0;      // IPU-milliseconds of MEASURED
};

// A host whose part is in the report.
struct ReportHost {
  std::string name;
  int64_t until_ms = 0;  // unix time of that host; 0: there is no data of it
};

// What one day had, of everybody.
struct ReportDay {
  ReportLine sum = {};
  bool has_lines = false;                                    // of leases, reservations or refusals
  std::map<std::string, hook::fleet::UsageRoom> rooms = {};  // by pool
};

struct Report {
  By by = By::kTenant;
  int64_t from_ms = 0;
  int64_t until_ms = 0;
  std::map<std::string, ReportLine> lines;  // by name
  std::map<std::string, int64_t> sizes;     // IPUs by pool; only those that are known
  std::optional<int64_t> size;              // IPUs of all pools; unset: not known
  std::map<std::string, ReportHost> hosts;  // by tag; empty: this host is in no fleet
  std::string own;                          // the tag of this host
  std::map<int64_t, ReportDay> days;        // since 1970, UTC; those of which there is a part
  // By pool, of all hosts that looked at it.
  std::map<std::string, hook::fleet::UsageRoom> rooms;
};

// Returns the report that WISH is for. What the fleet does not tell is in OBSTACLES, and the report
// is without it.
base::Result<Report> make_report(hook::ledger::Ledger& ledger, const ReportWish& wish,
                                 std::vector<base::Error>& obstacles);

// Returns "tenant", "user", "pool" or "host".
[[nodiscard]] const char* name_of(By by);
// Returns the part of the IPUs of all pools, or of the pool NAME, that LINE held; unset: unknown.
[[nodiscard]] std::optional<double> utilisation(const Report& report, const std::string& name,
                                                const ReportLine& line);

// Returns the part of the measured time in which the IPUs were busy; unset: no monitor said so.
[[nodiscard]] std::optional<double> busy_part(const ReportLine& line);

// Returns the lines as a table shows them, below their heading.
[[nodiscard]] Rows report_rows(const Report& report);
// Returns a line for each host of the fleet: until when it has told.
[[nodiscard]] std::string hosts_text(const Report& report);

[[nodiscard]] std::string report_table(const Report& report);
[[nodiscard]] std::string report_csv(const Report& report);
[[nodiscard]] base::Json report_json(const Report& report);

}  // namespace ipuctl
