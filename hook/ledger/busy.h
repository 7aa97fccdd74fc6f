// SPDX-License-Identifier: Apache-2.0
// How busy the IPUs of leases are, from samples of a monitor. Usage has the sums.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace hook::ledger {

struct Store;

// What a sample says of the IPUs of one lease.
struct BusySample {
  std::string lease;  // its id
  int64_t ipus = 0;   // those of which it says something
  double busy = 0;    // the sum of their busy parts, from 0 to IPUS
};

// When a sample was tried last, and since when that fails. Unix time; 0: never, or it works.
struct BusyState {
  int64_t at_ms = 0;
  int64_t failing_ms = 0;
  bool operator==(const BusyState&) const = default;
};

class Busy {
 public:
  explicit Busy(Store& store) : store_(store) {}

  // Counts SAMPLES, each for the time since a sample was tried last, but no longer than LONGEST nor
  // before its lease got its IPUs. Leases that have ended, or that joined another, count nothing.
  base::Status record(const std::vector<BusySample>& samples, std::chrono::milliseconds longest);
  // Notes that nobody has IPUs. Whether the last sample failed stays as it is.
  base::Status skip();
  // Notes that there is no sample, so that the time until now stays unmeasured. Returns whether the
  // one before did not fail.
  base::Result<bool> fail();
  // When a sample was tried last.
  base::Result<BusyState> state();

 private:
  Store& store_;
};

}  // namespace hook::ledger
