// SPDX-License-Identifier: Apache-2.0
// What changes from one text to another, for people.
#pragma once

#include <string>
#include <string_view>

namespace base {

// The lines that differ, those of BEFORE with "-" in front and those of AFTER with "+", with up to
// three equal ones around them with " "; "@@" where others are left out in between. Of texts with
// very many differing lines, all from the first to the last one. Empty if the texts are equal.
[[nodiscard]] std::string line_diff(std::string_view before, std::string_view after);

}  // namespace base
