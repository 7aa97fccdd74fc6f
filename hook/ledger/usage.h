// SPDX-License-Identifier: Apache-2.0
// What tenants and users had of the pools: by day, for longer than the history is kept.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace hook::ledger {

struct Store;

// What one tenant and user had of one pool. Each lease counts by itself, also if containers share a
// GCD, but not one that joined another's.
struct UsageRow {
  std::string tenant;  // empty: none
  int64_t user = -1;   // uid; -1: unknown
  std::string pool;
  int64_t held = 0;      // IPU-milliseconds of leases, from ALLOCATED to their end
  int64_t reserved = 0;  // IPU-milliseconds of reservations, also while a container uses them
  int64_t starts = 0;    // leases that have ended
};

// One start that got its IPUs, and how long it took from when it was asked for.
struct WaitRow {
  std::string tenant;
  int64_t user = -1;
  std::string pool;
  int64_t waited_ms = 0;
};

// Starts that were refused for one cause, in the words of the error without what varies.
struct RefusedRow {
  std::string tenant;
  int64_t user = -1;
  std::string pool;
  std::string cause;
  int64_t count = 0;
};

// The ledger keeps the usage of so many days.
inline constexpr int64_t kUsageDays = 400;
inline constexpr int64_t kDayMs = 86'400'000;

class Usage {
 public:
  explicit Usage(Store& store) : store_(store) {}

  // Returns the usage since FROM_MS, the unix time of the beginning of a day (UTC), until now, with
  // what lives.
  base::Result<std::vector<UsageRow>> since(int64_t from_ms);
  // Returns the waits of leases that got IPUs since then, as far as the history has them.
  base::Result<std::vector<WaitRow>> waits(int64_t from_ms);
  // Returns the refused starts since then.
  base::Result<std::vector<RefusedRow>> refused(int64_t from_ms);

 private:
  Store& store_;
};

}  // namespace hook::ledger
