// SPDX-License-Identifier: Apache-2.0
// Pages of text as a terminal is to draw them. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace ipuctl::screen {

struct Size {
  size_t columns = 80;
  size_t rows = 24;
};

// Returns TEXT as one line of at most COLUMNS, with '?' for each character that may not take
// exactly one column, and a space for each that controls a terminal.
[[nodiscard]] std::string fit(std::string_view text, size_t columns);
// The same, filled with spaces to COLUMNS.
[[nodiscard]] std::string padded(std::string_view text, size_t columns);

// Returns what draws PAGE, lines that fit() has passed, in place of what the terminal shows. Of a
// page with more lines than the terminal has, the first are drawn. Lines may have escapes of ours.
[[nodiscard]] std::string drawing(std::string_view page, const Size& size);

// Returns the lines of TEXT, each as fit() has it.
[[nodiscard]] std::string fit_lines(std::string_view text, size_t columns);

}  // namespace ipuctl::screen
