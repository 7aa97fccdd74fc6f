// SPDX-License-Identifier: Apache-2.0
// Hosts that were declared dead, after which their partitions were removed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace hook::ledger {

struct Store;

struct Fence {
  std::string host;      // see tag_of()
  int64_t since_ms = 0;  // unix time
};

// The fence of this host itself, which another host of its fleet made.
struct OwnFence {
  int64_t revision = 0;  // of the fleet's store, at which it was made
  int64_t seen_ms = 0;   // when this host was told first, unix time
  std::string by;        // tag of the other host; empty: it did not say
};

class Fences {
 public:
  explicit Fences(Store& store) : store_(store) {}

  // Records that HOST is fenced, or is so again.
  base::Status add(const std::string& host);
  // Forgets it. Returns whether it was recorded.
  base::Result<bool> remove(const std::string& host);
  base::Result<std::vector<Fence>> all();  // sorted by host

  // Records that this host is fenced. Returns the record: of the same fence, when it was seen
  // first.
  base::Result<OwnFence> see_own(int64_t revision, const std::string& by);
  // Forgets it, if there is one: the fleet allows this host again.
  base::Status end_own();
  base::Result<std::optional<OwnFence>> own();

  // What this host saw of suspect hosts until now, as one text; empty: nothing. It is no history.
  base::Result<std::string> observed();
  base::Status observe(const std::string& text);

 private:
  Store& store_;
};

}  // namespace hook::ledger
