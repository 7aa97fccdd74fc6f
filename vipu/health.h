// SPDX-License-Identifier: Apache-2.0
// The health of a pool's IPUs: what was seen of them, and which of them no partition gets. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace vipu {

// Why an IPU is given to no partition. A taint by a check clears itself; one by an operator never.
enum class Taint { kNone, kCheck, kOperator };
[[nodiscard]] const char* name_of(Taint taint);  // "NONE", "CHECK", "OPERATOR"

struct IpuHealth {
  std::string ipu;  // its identity in the pool: "10.5.1.1:3", "0000:35:00.0"
  Taint taint = Taint::kNone;
  std::string reason = {};
  std::string seen = {};  // the last observations, 'g' or 'b', the newest last
  int64_t bad_ms = 0;     // when it was seen bad last; unix time, as below
  int64_t since_ms = 0;   // when TAINT became as it is
  bool operator==(const IpuHealth&) const = default;
};

// A tainted IPU, by its name in the pool.
struct BadIpu {
  std::string ipu;
  std::string reason;
};

// One look at one IPU.
struct Observation {
  std::string ipu;
  bool is_good = true;
  std::string reason = {};  // if it is bad
  bool operator==(const Observation&) const = default;
};

// An IPU that was bad in BAD of its last LOOKS observations is tainted. It is clean again when it
// is seen good HOLD after it was seen bad last, or later. So one that flaps stays tainted, and one
// wrong observation taints nothing.
struct Damping {
  uint32_t looks = 5;
  uint32_t bad = 3;  // at most LOOKS
  std::chrono::milliseconds hold = std::chrono::hours(1);
  bool operator==(const Damping&) const = default;
};

// Returns the health after the observation at NOW_MS. Leaves an operator's taint as it is.
[[nodiscard]] IpuHealth after(IpuHealth before, const Observation& observation,
                              const Damping& damping, int64_t now_ms);

// Reads what a health command printed, as observations of IPUS, the IPUs of the pool:
// - {"ipus":[{"ipu":"10.5.1.1:3","good":false,"reason":"parity error"}]}. IPUs that it does not
// name
//   are not observed; those that are not in the pool are ignored.
// - what `gc-monitor -j` prints. Each IPU of IPUS that it lists is good, each other one is bad.
// Returns kInvalid for anything else, and if gc-monitor lists no IPU of the pool: then no partition
// is active, which says nothing of the IPUs.
base::Result<std::vector<Observation>> parse_health(std::string_view text,
                                                    const std::vector<std::string>& ipus);

}  // namespace vipu
