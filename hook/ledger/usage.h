// SPDX-License-Identifier: Apache-2.0
// What tenants and users had of the pools: by day, for longer than the history is kept.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/histogram.h"
#include "base/result.h"
#include "hook/ledger/busy.h"
#include "hook/ledger/rooms.h"

namespace hook::ledger {

struct Store;

// What one tenant and user had of one pool. Each lease counts by itself, also if containers share a
// GCD, but not one that joined another's.
struct UsageRow {
  std::string tenant;  // empty: none
  int64_t user = -1;   // uid; -1: unknown
  std::string pool;
  int64_t held = 0;            // IPU-milliseconds of leases, from ALLOCATED to their end
  int64_t reserved = 0;        // IPU-milliseconds of reservations, also while a container uses them
  int64_t starts = 0;          // leases that have ended
  base::Histogram waits = {};  // of leases that got IPUs: from when they were asked for until then
  int64_t measured = 0;  // IPU-milliseconds of HELD for which a monitor said how busy they were
  int64_t busy = 0;      // IPU-milliseconds of MEASURED that were busy
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

// What of the usage a fleet was told.
struct Told {
  std::string fleet;  // its id
  std::string epoch;  // 8 hexadecimal digits: of this ledger's usage, unlike that of any other
  int64_t day = 0;    // the first day (since 1970, UTC) of which the fleet may not know all
  int64_t at_ms = 0;  // when it was told last, unix time
  bool operator==(const Told&) const = default;
};

class Usage {
 public:
  explicit Usage(Store& store) : store_(store) {}

  // Returns the usage from the day FROM to the day UNTIL (since 1970, UTC), which is not part of
  // it; of today until now, with what lives. A day that is over stays as it is.
  base::Result<std::vector<UsageRow>> between(int64_t from, int64_t until);
  // Returns the refused starts of these days.
  base::Result<std::vector<RefusedRow>> refused(int64_t from, int64_t until);

  // How much room the pools had, by the same days.
  [[nodiscard]] Rooms rooms() { return Rooms(store_); }
  // How busy the IPUs of leases are. between() has it.
  [[nodiscard]] Busy busy() { return Busy(store_); }

  // What a fleet was told; unset: nothing.
  base::Result<std::optional<Told>> told();
  base::Status tell(const Told& told);

 private:
  Store& store_;
};

}  // namespace hook::ledger
