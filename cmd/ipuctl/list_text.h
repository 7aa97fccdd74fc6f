// SPDX-License-Identifier: Apache-2.0
// A list in the formats of --output.
#pragma once

#include <string>

#include "base/json.h"
#include "cmd/ipuctl/print.h"

namespace ipuctl {

// Returns LIST, an array of objects, or ROWS for people, as OUTPUT wants it.
[[nodiscard]] std::string list_text(const base::Json& list, const Rows& rows, Output output);

}  // namespace ipuctl
