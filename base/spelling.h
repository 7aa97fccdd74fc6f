// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace base {

// Returns whether who wrote TEXT may have meant WORD: whether few characters, one in five of WORD
// and at least one, are inserted, left out, replaced or swapped with their neighbour. A TEXT or
// WORD of more than 64 characters is no misspelling.
[[nodiscard]] bool is_misspelled(std::string_view text, std::string_view word);

}  // namespace base
