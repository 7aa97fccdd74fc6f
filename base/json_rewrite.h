// SPDX-License-Identifier: Apache-2.0
// Edits of a JSON document that leave the rest of its text untouched. Include this only from .cc
// files, as base/json.h.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"

namespace base {

// Returns the text of EDITED, an edited copy of ORIGINAL, which parse_json() made from TEXT. An
// unchanged value keeps its bytes: a number stays as it was written, and a file keeps its layout.
// New values take the layout of their surroundings.
[[nodiscard]] std::string rewrite_json(std::string_view text, const Json& original,
                                       const Json& edited);

}  // namespace base
