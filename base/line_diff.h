// SPDX-License-Identifier: Apache-2.0
// What changes from one text to another, for people.
#pragma once

#include <string>
#include <string_view>

namespace base {

// The lines from the first one that differs to the last one, those of BEFORE with "-" in front and
// those of AFTER with "+", between up to three equal ones with " ". Empty if the texts are equal.
[[nodiscard]] std::string line_diff(std::string_view before, std::string_view after);

}  // namespace base
