// SPDX-License-Identifier: Apache-2.0
// How much room the pools had for further requests: by day, from looks at them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace hook::ledger {

struct Store;

// A look at one pool, in IPUs.
struct RoomLook {
  std::string pool;
  int64_t free = 0;     // neither held nor tainted
  int64_t largest = 0;  // the largest request that had fitted (vipu/placement.h)
};

// What is known of one pool.
struct RoomRow {
  std::string pool;
  int64_t measured_ms = 0;  // how long it was looked at
  int64_t free = 0;         // IPU-milliseconds of that time, as RoomLook has them
  int64_t largest = 0;
  // The look at which the most free IPUs were beside the largest request; 0 ms: there is none.
  int64_t worst_ms = 0;  // unix time
  int64_t worst_free = 0;
  int64_t worst_largest = 0;
  bool operator==(const RoomRow&) const = default;
};

// A look counts until the next one, but no longer than this.
inline constexpr int64_t kLongestLookMs = 900'000;

class Rooms {
 public:
  explicit Rooms(Store& store) : store_(store) {}

  // Records what LOOKS saw now. Keeps kUsageDays, and one look at each pool.
  base::Status record(const std::vector<RoomLook>& looks);
  // Returns what is known from the day FROM to the day UNTIL (since 1970, UTC), which is not part
  // of it, by pool.
  base::Result<std::vector<RoomRow>> between(int64_t from, int64_t until);

 private:
  Store& store_;
};

}  // namespace hook::ledger
