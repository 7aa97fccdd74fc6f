// SPDX-License-Identifier: Apache-2.0
#include "cmd/ipuctl/noted.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cinttypes>
#include <cstdio>
#include <string_view>
#include <vector>

#include "base/fs.h"
#include "base/text.h"

namespace ipuctl {

std::optional<Noted> read_noted(const std::string& file) {
  const auto text = base::read_trusted_file(file, 64);
  if (!text.ok() || !text.value()) return std::nullopt;
  const std::vector<std::string_view> words = base::split(*text.value(), ' ');
  const auto at = base::parse_int<int64_t>(words.front(), 0, INT64_MAX);
  const auto number = base::parse_int<int64_t>(words.back(), 0, INT64_MAX);
  if (words.size() != 2 || !at.ok() || !number.ok()) return std::nullopt;
  return Noted{at.value(), number.value()};
}

void note(const std::string& file, const Noted& noted) {
  const auto fd = base::open_at(AT_FDCWD, file, O_WRONLY | O_CREAT | O_NOFOLLOW, 0600);
  if (!fd.ok()) return;
  std::array<char, 64> text{};
  const int length = std::snprintf(text.data(), text.size(), "%019" PRId64 " %019" PRId64,
                                   noted.at_ms, noted.number);
  (void)base::write_all(fd.value().get(), {text.data(), static_cast<size_t>(length)}, file);
  (void)!::ftruncate(fd.value().get(), length);  // of a file that is not ours
  (void)::fchmod(fd.value().get(), 0600);
}

}  // namespace ipuctl
