// SPDX-License-Identifier: Apache-2.0
// Large whole numbers as people write them.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace vipu::plan {

// Parses "175000000000", "175e9", "1.3e9", "336M" or "7b" as a whole number from 1 to MOST, or
// returns kInvalid. K, M, B and T stand for 1e3, 1e6, 1e9 and 1e12. What remains of a fraction is
// refused, never rounded.
base::Result<uint64_t> parse_count(std::string_view text, uint64_t most);

}  // namespace vipu::plan
