// SPDX-License-Identifier: Apache-2.0
#include "cmd/ipuctl/screen/screen.h"

#include <algorithm>
#include <vector>

#include "base/text.h"

namespace ipuctl::screen {
namespace {

// Below this, characters that are left after one_line() take one column each. Above are combining,
// wide and ambiguous ones, on which terminals differ.
constexpr char32_t kFirstOdd = 0x300;

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

// Returns the length in bytes of the character that begins TEXT, which is valid UTF-8.
size_t length_of(std::string_view text) {
  size_t length = 1;
  while (length < text.size() && is_continuation(text[length])) ++length;
  return length;
}

// A character of two bytes is below 0x800: its first byte tells the rest.
bool is_odd(std::string_view character) {
  if (character.size() == 1) return false;
  const auto first = static_cast<unsigned char>(character[0]);
  return character.size() > 2 || char32_t{first & 0x1fU} << 6 >= kFirstOdd;
}

}  // namespace

std::string fit(std::string_view text, size_t columns) {
  const std::string line = base::one_line(text, 4 * columns + 4);
  std::string fitted;
  size_t used = 0;
  for (std::string_view rest = line; !rest.empty() && used < columns; ++used) {
    const std::string_view character = rest.substr(0, length_of(rest));
    fitted += is_odd(character) ? "?" : character;
    rest.remove_prefix(character.size());
  }
  return fitted;
}

std::string padded(std::string_view text, size_t columns) {
  std::string line = fit(text, columns);
  const auto used = static_cast<size_t>(
      std::count_if(line.begin(), line.end(), [](char c) { return !is_continuation(c); }));
  return line + std::string(columns - used, ' ');
}

std::string drawing(std::string_view page, const Size& size) {
  std::string text = "\033[H";
  if (page.ends_with('\n')) page.remove_suffix(1);
  const std::vector<std::string_view> lines = base::split(page, '\n');
  const size_t count = std::min(lines.size(), size.rows);
  for (size_t i = 0; i < count; ++i) {
    if (i > 0) text += "\r\n";
    text += base::str(lines[i], "\033[K");
  }
  return text + "\033[J";
}

std::string fit_lines(std::string_view text, size_t columns) {
  std::string fitted;
  if (text.ends_with('\n')) text.remove_suffix(1);
  for (const std::string_view line : base::split(text, '\n'))
    fitted += base::str(fit(line, columns), '\n');
  return fitted;
}

}  // namespace ipuctl::screen
