// SPDX-License-Identifier: Apache-2.0
// Where a partition fits in a POD. Pure: best-fit buddy over the IPUs of one IPU-Link domain, in
// the order of their numbers, four to an IPU-Machine.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "vipu/types.h"

namespace vipu {

// IPUs of one IPU-Link domain: a POD64 is one domain, a POD128 is two.
inline constexpr uint32_t kIpusPerDomain = 64;

// Element n: whether IPU n is taken.
using Occupied = std::vector<bool>;

// The first IPU of a free block of SIZE IPUs that starts at a multiple of SIZE. Taken from the
// smallest free buddy block that is large enough, the lowest one of these, so that large blocks
// stay whole. Nothing if there is none, or if SIZE is not a power of two.
[[nodiscard]] std::optional<uint32_t> find_block(const Occupied& occupied, uint32_t size);

// The largest SIZE for which find_block finds one; 0 if no IPU is free.
[[nodiscard]] uint32_t largest_free_block(const Occupied& occupied);

// What PARTITIONS leave free in a POD of TOTAL IPUs, whose domains are numbered from 0. An IPU
// whose place is outside of the POD counts as used, but blocks no place.
[[nodiscard]] Capacity capacity_of(uint32_t total, const std::vector<Partition>& partitions);

}  // namespace vipu
