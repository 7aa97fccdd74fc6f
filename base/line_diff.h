// SPDX-License-Identifier: Apache-2.0
// Line differences between two texts, for people to read.
#pragma once

#include <string>
#include <string_view>

namespace base {

// Returns the differing lines, those of BEFORE prefixed with "-" and those of AFTER with "+", and
// up to three equal lines of context prefixed with " ". "@@" stands for omitted lines. With very
// many differing lines, returns all lines from the first to the last one that differs. Returns an
// empty text if the texts are equal.
[[nodiscard]] std::string line_diff(std::string_view before, std::string_view after);

}  // namespace base
