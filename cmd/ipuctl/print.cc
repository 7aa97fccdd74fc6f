// SPDX-License-Identifier: Apache-2.0
#include "cmd/ipuctl/print.h"

#include <algorithm>

#include "base/clock.h"
#include "base/text.h"

namespace ipuctl {
namespace {

using base::str;

std::vector<size_t> widths_of(const Rows& rows) {
  std::vector<size_t> widths;
  for (const std::vector<std::string>& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  return widths;
}

// Returns START and the cells, each as wide as its column, with BETWEEN in between.
std::string line_of(const std::vector<std::string>& row, const std::vector<size_t>& widths,
                    std::string_view start, std::string_view between) {
  std::string line(start);
  for (size_t i = 0; i < row.size(); ++i) {
    if (i > 0) line += between;
    line += row[i] + std::string(widths[i] - row[i].size(), ' ');
  }
  return line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
}

}  // namespace

std::string table(const Rows& rows) {
  const std::vector<size_t> widths = widths_of(rows);
  std::string text;
  for (const std::vector<std::string>& row : rows) text += line_of(row, widths, "", "  ");
  return text;
}

std::string vipu_table(const Rows& rows) {
  const std::vector<size_t> widths = widths_of(rows);
  size_t width = 0;
  for (const size_t column : widths) width += column + 3;  // a blank on either side, and a bar
  std::string text = line_of(rows.front(), widths, " ", " | ") + std::string(width - 1, '-') + "\n";
  for (size_t i = 1; i < rows.size(); ++i) text += line_of(rows[i], widths, " ", " | ");
  return text;
}

std::string short_time(int64_t time_ms) {
  const int64_t seconds = std::max<int64_t>(0, time_ms / 1000);
  if (seconds < 120) return str(seconds, "s");
  if (seconds < 7200) return str(seconds / 60, "m");
  if (seconds < 172'800) return str(seconds / 3600, "h");
  return str(seconds / 86'400, "d");
}

std::string or_dash(const std::string& text) { return text.empty() ? "-" : text; }

std::string age(int64_t since_ms) { return short_time(base::unix_millis() - since_ms); }

}  // namespace ipuctl
