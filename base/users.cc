// SPDX-License-Identifier: Apache-2.0
#include "base/users.h"

#include <cstdint>
#include <vector>

#include "base/fs.h"
#include "base/text.h"

namespace base {
namespace {

// Enough for tens of thousands of users; larger sites have a name service.
constexpr size_t kMaxFile = size_t{4} << 20;

// Parses a line that is known to start with the name and a colon.
Result<Credentials> parse_line(std::string_view line) {
  constexpr size_t kFields = 7;
  const std::vector<std::string_view> fields = split(line, ':');
  if (fields.size() != kFields) {
    return Error(Code::kInvalid,
                 str("the line has ", fields.size(), " fields instead of ", kFields));
  }
  // To the kernel, the largest number means "unchanged".
  constexpr uint32_t kLargest = UINT32_MAX - 1;
  const uid_t uid = TRY_CTX("uid", parse_int<uint32_t>(fields[2], 1, kLargest));
  const gid_t gid = TRY_CTX("gid", parse_int<uint32_t>(fields[3], 1, kLargest));
  return Credentials{uid, gid};
}

}  // namespace

Result<std::optional<Credentials>> find_user(std::string_view name,
                                             const std::string& passwd_file) {
  const std::optional<std::string> text = TRY(read_file_if_exists(passwd_file, kMaxFile));
  if (!text.has_value()) return std::optional<Credentials>();
  const std::string start = str(name, ':');
  size_t number = 0;
  for (const std::string_view line : split(*text, '\n')) {
    ++number;
    if (!line.starts_with(start)) continue;
    const std::string where = str(quote(passwd_file), ", line ", number, ": user ", quote(name));
    return std::optional<Credentials>(TRY_CTX(where, parse_line(line)));
  }
  return std::optional<Credentials>();
}

}  // namespace base
