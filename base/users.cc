// SPDX-License-Identifier: Apache-2.0
#include "base/users.h"

#include <sys/stat.h>
#include <unistd.h>

#include <climits>
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

// Returns whether a uid_map (see user_namespaces(7)) omits users, as it does in every namespace but
// the first.
bool is_partial(std::string_view uid_map) {
  constexpr std::string_view kAll = "4294967295";
  return !trim(uid_map).ends_with(kAll);
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

Result<std::optional<gid_t>> find_group(std::string_view name, const std::string& group_file) {
  const std::optional<std::string> text = TRY(read_file_if_exists(group_file, kMaxFile));
  if (!text.has_value()) return std::optional<gid_t>();
  const std::string start = str(name, ':');
  size_t number = 0;
  for (const std::string_view line : split(*text, '\n')) {
    ++number;
    if (!line.starts_with(start)) continue;
    const std::vector<std::string_view> fields = split(line, ':');
    const std::string where = str(quote(group_file), ", line ", number, ": group ", quote(name));
    const std::string_view gid = fields.size() > 2 ? fields[2] : "";
    return std::optional<gid_t>(TRY_CTX(where, parse_int<uint32_t>(gid, 1, UINT32_MAX - 1)));
  }
  return std::optional<gid_t>();
}

std::string name_of_user(uid_t uid, const std::string& passwd_file) {
  const Result<std::optional<std::string>> text = read_file_if_exists(passwd_file, kMaxFile);
  if (!text.ok() || !text.value()) return "";
  for (const std::string_view line : split(*text.value(), '\n')) {
    const std::vector<std::string_view> fields = split(line, ':');
    if (fields.size() > 2 && fields[2] == str(uid)) return std::string(fields[0]);
  }
  return "";
}

std::optional<uid_t> user_who_logged_in() {
  constexpr uint32_t kUnset = UINT32_MAX;
  const Result<std::string> text = read_file("/proc/self/loginuid", 64);
  if (!text.ok()) return std::nullopt;  // a kernel without audit
  const Result<uint32_t> uid = parse_int<uint32_t>(trim(text.value()), 0, kUnset);
  return uid.ok() && uid.value() != kUnset ? std::optional<uid_t>(uid.value()) : std::nullopt;
}

bool is_lent(uid_t uid, const std::string& subuid_file) {
  const Result<std::optional<std::string>> text = read_file_if_exists(subuid_file, kMaxFile);
  if (!text.ok()) return true;
  if (!text.value()) return false;
  for (const std::string_view line : split(*text.value(), '\n')) {
    const std::vector<std::string_view> fields = split(line, ':');
    if (fields.size() != 3) continue;
    const Result<uint64_t> first = parse_int<uint64_t>(fields[1], 0, UINT32_MAX);
    const Result<uint64_t> count = parse_int<uint64_t>(fields[2], 0, UINT32_MAX);
    if (!first.ok() || !count.ok()) continue;
    if (uid >= first.value() && uid - first.value() < count.value()) return true;
  }
  return false;
}

bool is_root(uid_t uid) {
  if (uid == 0) return true;
  constexpr size_t kMaxText = 4096;
  const Result<std::string> map = read_file("/proc/self/uid_map", kMaxText);
  const Result<std::string> overflow = read_file("/proc/sys/kernel/overflowuid", kMaxText);
  if (!map.ok() || !overflow.ok() || !is_partial(map.value())) return false;
  const Result<uid_t> unmapped = parse_int<uid_t>(trim(overflow.value()), 0, UINT_MAX);
  return unmapped.ok() && unmapped.value() == uid;
}

uid_t user_outside(uid_t uid, std::string_view uid_map) {
  for (const std::string_view line : split(uid_map, '\n')) {
    std::vector<uint32_t> numbers;
    for (const std::string_view word : split(line, ' ')) {
      const Result<uint32_t> number = parse_int<uint32_t>(word, 0, UINT32_MAX);
      if (number.ok()) numbers.push_back(number.value());
    }
    const bool is_range = numbers.size() == 3;
    if (is_range && uid >= numbers[0] && uid - numbers[0] < numbers[2])
      return numbers[1] + (uid - numbers[0]);
  }
  return uid;
}

bool has_all_users(std::string_view uid_map) {
  std::vector<std::string_view> words;
  for (const std::string_view word : split(trim(uid_map), ' ')) {
    if (!word.empty()) words.push_back(word);
  }
  return words == std::vector<std::string_view>{"0", "0", "4294967295"};
}

bool has_users_of_host() {
  constexpr ino_t kFirstUserNamespace = 0xEFFFFFFD;  // PROC_USER_INIT_INO of the kernel
  constexpr size_t kMaxText = 64 << 10;
  struct stat status {};
  if (::stat("/proc/self/ns/user", &status) != 0 || status.st_ino == kFirstUserNamespace)
    return true;
  const Result<std::string> map = read_file("/proc/self/uid_map", kMaxText);
  return map.ok() && has_all_users(map.value());
}

uid_t user_of_host() {
  constexpr size_t kMaxText = 64 << 10;
  const Result<std::string> map = read_file("/proc/self/uid_map", kMaxText);
  return user_outside(::geteuid(), map.ok() ? map.value() : "");
}

}  // namespace base
