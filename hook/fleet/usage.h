// SPDX-License-Identifier: Apache-2.0
// What each host says that it had of the pools: its part of the accounting, a key for each day.
//   PREFIX usage/DAY/TAG/EPOCH   DAY as 2026-11-26 (UTC); EPOCH: of the ledger that says so
// A part is overwritten with the same part, or with more of its day, so a lost answer does no harm.
// Parts of one host and day that have different epochs add up. The host's end, a fence or its
// removal leaves them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/histogram.h"
#include "base/result.h"
#include "hook/fleet/partitions.h"
#include "hook/fleet/store.h"

namespace hook::fleet {

// The store has the parts of so many days, today included.
inline constexpr int64_t kFleetUsageDays = 92;
// The most bytes of a part. What does not fit is summed up.
inline constexpr size_t kMaxUsagePart = size_t{16} << 10;
// The tenant and the user of what was summed up.
inline constexpr const char* kNameOfOthers = "(others)";

// What one tenant and user had of one pool. See ledger/usage.h for what counts.
struct UsageLine {
  std::string tenant;  // empty: none
  std::string user;    // as its host calls them; empty: unknown
  std::string pool;
  int64_t held = 0;      // IPU-milliseconds
  int64_t reserved = 0;  // IPU-milliseconds
  int64_t ended = 0;     // leases
  base::Histogram waits = {};
  int64_t measured = 0;  // IPU-milliseconds
  int64_t busy = 0;      // IPU-milliseconds
  bool operator==(const UsageLine&) const = default;
};

struct UsageRefusal {
  std::string tenant;
  std::string user;
  std::string pool;
  std::string cause;
  int64_t count = 0;
  bool operator==(const UsageRefusal&) const = default;
};

// How much room one pool had. See ledger/rooms.h.
struct UsageRoom {
  std::string pool;
  int64_t measured_ms = 0;
  int64_t free = 0;     // IPU-milliseconds
  int64_t largest = 0;  // IPU-milliseconds
  int64_t worst_ms = 0;
  int64_t worst_free = 0;
  int64_t worst_largest = 0;
  bool operator==(const UsageRoom&) const = default;
};

struct UsagePool {
  int64_t ipus = 0;
  bool shared = false;  // other hosts have the same IPUs by this name
  bool operator==(const UsagePool&) const = default;
};

// One host's part of one day.
struct UsagePart {
  int64_t day = 0;    // since 1970, UTC
  std::string host;   // tag
  std::string epoch;  // 8 hexadecimal digits
  std::string name;   // host name
  int64_t at_ms = 0;  // until when it counts, unix time of its host
  std::vector<UsageLine> lines = {};
  std::vector<UsageRefusal> refusals = {};
  std::map<std::string, UsagePool> pools = {};  // by name; only those whose size is known
  std::vector<UsageRoom> rooms = {};            // only those that fit
  bool operator==(const UsagePart&) const = default;
};

// Returns "2026-11-26".
[[nodiscard]] std::string day_text(int64_t day);

// Writes PART, with the smallest lines and refusals summed up if it is too large.
base::Status write_usage(const Fleet& fleet, const UsagePart& part);
// Returns the parts of all hosts of DAY. What cannot be read of them is in OBSTACLES.
base::Result<std::vector<UsagePart>> read_usage(const Fleet& fleet, int64_t day,
                                                std::vector<base::Error>& obstacles);
// Removes the parts of all hosts of this day.
base::Status forget_usage(const Fleet& fleet, int64_t day);

}  // namespace hook::fleet
