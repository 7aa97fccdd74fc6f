// SPDX-License-Identifier: Apache-2.0
// Changing a JSON document without touching the rest of its text. Include from .cc files only, as
// base/json.h.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"

namespace base {

// The text of EDITED, an edited copy of ORIGINAL, which parse_json() made of TEXT. Each value that
// is equal to the one it comes from keeps its bytes, so that a number stays as it was written and a
// file its layout. What is new looks like what is around it.
[[nodiscard]] std::string rewrite_json(std::string_view text, const Json& original,
                                       const Json& edited);

}  // namespace base
