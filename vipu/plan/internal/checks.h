// SPDX-License-Identifier: Apache-2.0
// The parts of make_plan() that nearest() asks for many splits. QUESTION is in its bounds.
#pragma once

#include <optional>
#include <vector>

#include "vipu/plan/plan.h"

namespace vipu::plan {

[[nodiscard]] Partitions partitions_for(const Question& question);
[[nodiscard]] std::optional<Memory> memory_for(const Question& question);
// Returns the micro-batches of a replica in one step; nothing if they are unknown or not whole.
[[nodiscard]] std::optional<uint64_t> accumulation_of(const Question& question);
// Returns all findings but W1 and W4.
[[nodiscard]] std::vector<Finding> check(const Question& question);

}  // namespace vipu::plan
