// SPDX-License-Identifier: Apache-2.0
// Whether this host is drained, or one pool on it: no new container gets IPUs, so that an operator
// can end those that run, and then work on the host, or on what the pool's IPUs are. It survives a
// reboot.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace hook::ledger {

struct Store;

struct Drained {
  int64_t since_ms = 0;  // unix time
  std::string reason;    // in the words of the operator; may be empty
};

class Drain {
 public:
  // Of POOL; empty: of the host.
  Drain(Store& store, std::string pool) : store_(store), pool_(std::move(pool)) {}

  // Begins to drain: each later acquire() there fails. If it is drained already, only the REASON
  // changes.
  base::Status begin(const std::string& reason);
  // Ends it. Returns whether it was drained.
  base::Result<bool> end();
  base::Result<std::optional<Drained>> find();
  // Returns the pools that are drained alone, sorted.
  base::Result<std::vector<std::string>> pools();
  // Returns kDenied, with the time and the reason, if the host is drained, or else the pool. May
  // run inside the caller's transaction.
  base::Status check();

 private:
  [[nodiscard]] std::string what() const;
  Store& store_;
  std::string pool_;
};

}  // namespace hook::ledger
