// SPDX-License-Identifier: Apache-2.0
// Graphcore's logical device ids: the numbers that `gc-info -l` shows and --device-id takes.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"

namespace front {

// The cards of each logical id, in the order of the ids: single cards first, by number, then the
// aligned pairs of each group of linked cards, its fours, and so on. Of CARDS 0 to 3 that are all
// linked (no GROUPS): 0-3 single, 4 and 5 the pairs, 6 all four.
[[nodiscard]] std::vector<std::vector<uint32_t>> logical_devices(
    std::vector<uint32_t> cards, std::vector<std::vector<uint32_t>> groups);

// All cards that these IDS of DEVICES stand for, ascending, each once. kInvalid, with the ids that
// there are, if one is none.
base::Result<std::vector<uint32_t>> cards_of_ids(const std::vector<std::vector<uint32_t>>& devices,
                                                 const std::vector<uint32_t>& ids);

}  // namespace front
