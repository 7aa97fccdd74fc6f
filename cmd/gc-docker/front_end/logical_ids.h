// SPDX-License-Identifier: Apache-2.0
// Graphcore's logical device ids: the numbers that `gc-info -l` shows and --device-id takes.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"

namespace front {

// Returns the cards of each logical id, in the order of the ids: single cards by number, then the
// aligned pairs of each group of linked cards, its fours, and so on. For CARDS 0 to 3, all linked
// (no GROUPS): 0-3 are single cards, 4 and 5 the pairs, 6 all four.
[[nodiscard]] std::vector<std::vector<uint32_t>> logical_devices(
    std::vector<uint32_t> cards, std::vector<std::vector<uint32_t>> groups);

// Returns all cards of these IDS of DEVICES, ascending, each once. Returns kInvalid, with the known
// ids, for an unknown id.
base::Result<std::vector<uint32_t>> cards_of_ids(const std::vector<std::vector<uint32_t>>& devices,
                                                 const std::vector<uint32_t>& ids);

}  // namespace front
