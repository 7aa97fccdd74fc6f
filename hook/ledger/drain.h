// SPDX-License-Identifier: Apache-2.0
// Whether this host is drained: no new container gets IPUs, so that an operator can end those that
// run, and upgrade or remove the toolkit. It survives a reboot.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"

namespace hook::ledger {

struct Store;

struct Drained {
  int64_t since_ms = 0;  // unix time
  std::string reason;    // in the words of the operator; may be empty
};

class Drain {
 public:
  explicit Drain(Store& store) : store_(store) {}

  // Begins to drain: each later acquire() fails. If the host is drained already, only the REASON
  // changes.
  base::Status begin(const std::string& reason);
  // Ends it. Returns whether the host was drained.
  base::Result<bool> end();
  base::Result<std::optional<Drained>> find();
  // Returns kDenied, with the time and the reason, if the host is drained. May run inside the
  // caller's transaction.
  base::Status check();

 private:
  Store& store_;
};

}  // namespace hook::ledger
