// SPDX-License-Identifier: Apache-2.0
// Other hosts that an operator declared dead, after which their partitions were removed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace hook::ledger {

struct Store;

struct Fence {
  std::string host;      // see tag_of()
  int64_t since_ms = 0;  // unix time
};

class Fences {
 public:
  explicit Fences(Store& store) : store_(store) {}

  // Records that HOST is fenced, or is so again.
  base::Status add(const std::string& host);
  // Forgets it. Returns whether it was recorded.
  base::Result<bool> remove(const std::string& host);
  base::Result<std::vector<Fence>> all();  // sorted by host

 private:
  Store& store_;
};

}  // namespace hook::ledger
