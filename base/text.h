// SPDX-License-Identifier: Apache-2.0
// Text: building messages, and parsing untrusted input.
#pragma once

#include <charconv>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/result.h"

namespace base {

namespace internal {
inline void append(std::string& out, std::string_view part) { out += part; }
inline void append(std::string& out, char part) { out += part; }
template <typename T>
requires(std::is_integral_v<T> && !std::is_same_v<T, char> &&
         !std::is_same_v<T, bool>) void append(std::string& out, T part) {
  out += std::to_string(part);
}
}  // namespace internal

// Concatenates all parts: str("partition '", id, "' has ", n, " IPUs").
template <typename... Parts>
[[nodiscard]] std::string str(const Parts&... parts) {
  std::string out;
  (internal::append(out, parts), ...);
  return out;
}

// The next three functions make a text safe for terminals and log lines. They replace control
// characters (C0, DEL, C1), the line and paragraph separators U+2028 and U+2029, characters that
// change the direction of text (Unicode TR 9), and bytes that are not UTF-8. They cut only between
// characters.

// Returns TEXT in single quotes, cut to 80 bytes, with '?' for each unsafe character.
[[nodiscard]] std::string quote(std::string_view text);

// Returns TEXT as one line of at most MAX bytes, with a space for each unsafe character.
[[nodiscard]] std::string one_line(std::string_view text, size_t max);

// Returns TEXT with its newlines, and with a space for each other unsafe character.
[[nodiscard]] std::string safe_lines(std::string_view text);

// Returns TEXT without spaces, tabs and newlines at either end.
[[nodiscard]] std::string_view trim(std::string_view text);

// Returns the pieces of TEXT between SEPARATORs. An empty text has one empty piece.
[[nodiscard]] std::vector<std::string_view> split(std::string_view text, char separator);

[[nodiscard]] std::string join(const std::vector<std::string>& parts, std::string_view separator);

// Parses all of TEXT as a decimal integer in [min, max], or returns kInvalid. Accepts no '+' and no
// spaces.
template <typename T>
Result<T> parse_int(std::string_view text, T min, T max) {
  T value{};
  const auto [end, err] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (err != std::errc{} || end != text.data() + text.size() || value < min || value > max) {
    return Error(Code::kInvalid,
                 str(quote(text), " is not a whole number from ", min, " to ", max));
  }
  return value;
}

// Parses "250ms", "90s", "5m", "1h" or "7d", at most LONGEST (whole hours), or returns kInvalid,
// which says whether TEXT is no duration or too long a one.
Result<std::chrono::milliseconds> parse_duration(
    std::string_view text, std::chrono::milliseconds longest = std::chrono::hours(24));

// Returns TIME as parse_duration() takes it, in the largest unit that divides it: "90s", "5m".
[[nodiscard]] std::string format_duration(std::chrono::milliseconds time);

// Returns COUNT random bytes from the kernel as lower-case hexadecimal (2 * COUNT characters).
Result<std::string> random_hex(size_t count);

// The first 12 characters of ID, as docker shows ids.
[[nodiscard]] std::string short_id(std::string_view id);

}  // namespace base
