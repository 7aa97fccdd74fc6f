// SPDX-License-Identifier: Apache-2.0
// Pieces of HTML. Whatever comes from outside goes through text() or name() before it is in one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ipuctl::page {

// Returns RAW for use between tags and in attributes in double quotes: as one line of at most
// kMostOfText bytes of UTF-8, without characters that change the direction of text.
[[nodiscard]] std::string text(std::string_view raw);
// Returns RAW so that its own direction does not reach what stands beside it; "-" if it is empty.
[[nodiscard]] std::string name(std::string_view raw);

// Return "12.5", and "12.5 %" of 0.125. What is not finite is 0.
[[nodiscard]] std::string number(double value, int digits);
[[nodiscard]] std::string percent(double part);
[[nodiscard]] std::string percent_or(const std::optional<double>& part, std::string_view none);
// Returns PART as a coordinate, "12.5000%", at least 0 and at most 100.
[[nodiscard]] std::string coordinate(double part);
// Returns "0.4 s", "90 s", "12 min" or "3.5 h".
[[nodiscard]] std::string time_text(int64_t time_ms);
// Returns the first of WORDS for one, "1 lease", and the second for all other numbers.
[[nodiscard]] std::string counted(int64_t count, std::string_view one, std::string_view many);

// A table. Cells are HTML already; the first of a row names it.
struct Table {
  std::string id;
  std::string caption;  // HTML
  struct Column {
    std::string_view title;
    bool is_number = false;
  };
  std::vector<Column> columns;
  std::vector<std::vector<std::string>> rows = {};
  std::string_view none = "None.";  // stands in place of a table without rows
};
// Returns it in a box that scrolls by itself, also by keyboard.
[[nodiscard]] std::string to_html(const Table& table);
// Does so for the table behind a chart, folded.
[[nodiscard]] std::string folded(const Table& table, std::string_view summary);

}  // namespace ipuctl::page
