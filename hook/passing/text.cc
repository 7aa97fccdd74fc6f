// SPDX-License-Identifier: Apache-2.0
#include "hook/passing/text.h"

#include <unistd.h>

namespace hook::passing {

Text& Text::add(std::string_view part) {
  is_whole_ =
      is_whole_ && part.size() < sizeof bytes_ - size_ && part.find('\0') == std::string_view::npos;
  if (!is_whole_) return *this;
  for (const char c : part) bytes_[size_++] = c;
  bytes_[size_] = '\0';
  return *this;
}

Text& Text::add(uint64_t number) {
  constexpr size_t kDigits = 20;
  char digits[kDigits];
  size_t at = kDigits;
  do {
    digits[--at] = static_cast<char>('0' + number % 10);
    number /= 10;
  } while (number != 0);
  return add(std::string_view(digits + at, kDigits - at));
}

Text& Text::add(int64_t number) {
  if (number >= 0) return add(static_cast<uint64_t>(number));
  return add("-").add(uint64_t{0} - static_cast<uint64_t>(number));
}

void Text::read_link(const Text& path) {
  const ssize_t length = path.is_whole() ? ::readlink(path.c_str(), bytes_, sizeof bytes_ - 1) : -1;
  size_ = length > 0 ? static_cast<size_t>(length) : 0;
  bytes_[size_] = '\0';
  is_whole_ = true;
}

std::string_view take_part(std::string_view& text, char separator) {
  const size_t end = text.find(separator);
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return part;
}

}  // namespace hook::passing
