// SPDX-License-Identifier: Apache-2.0
// How ipuctl shows things: tables for people, JSON for programs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ipuctl {

enum class Output {
  kTable,
  kWide,  // a table with further columns; the lists alone have this one and the next two
  kJson,
  kYaml,
  kCsv,
};

using Rows = std::vector<std::vector<std::string>>;

// Rows of cells below a heading, in columns as wide as they need.
[[nodiscard]] std::string table(const Rows& rows);
// The same as Graphcore's vipu prints it: cells between bars, a dashed line below the heading.
[[nodiscard]] std::string vipu_table(const Rows& rows);

// "90s", "5m", "3h" or "2d": of TIME_MS the part that people look at. Nothing is less than 0s.
[[nodiscard]] std::string short_time(int64_t time_ms);
// The same of the time since the unix time SINCE_MS.
[[nodiscard]] std::string age(int64_t since_ms);
// Returns TEXT, or "-" if it is empty.
[[nodiscard]] std::string or_dash(const std::string& text);

}  // namespace ipuctl
