// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"

#include <sys/random.h>

#include <cerrno>

namespace base {
namespace {

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

}  // namespace

std::string quote(std::string_view text) {
  constexpr size_t kMax = 80;
  std::string out = "'";
  for (const char c : text.substr(0, kMax)) out += is_control(c) ? '?' : c;
  out += text.size() > kMax ? "...'" : "'";
  return out;
}

std::string one_line(std::string_view text, size_t max) {
  std::string out(text.substr(0, max));
  for (char& c : out) {
    if (is_control(c)) c = ' ';
  }
  return out;
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> pieces;
  for (size_t at = text.find(separator); at != std::string_view::npos; at = text.find(separator)) {
    pieces.push_back(text.substr(0, at));
    text.remove_prefix(at + 1);
  }
  pieces.push_back(text);
  return pieces;
}

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  std::string out;
  for (const std::string& part : parts) {
    if (&part != &parts.front()) out += separator;
    out += part;
  }
  return out;
}

Result<std::chrono::milliseconds> parse_duration(std::string_view text,
                                                 std::chrono::milliseconds longest) {
  using std::chrono::milliseconds;
  struct Unit {
    std::string_view suffix;
    milliseconds length;
  };
  constexpr Unit kUnits[] = {{"ms", milliseconds(1)},
                             {"s", milliseconds(1000)},
                             {"m", milliseconds(60'000)},
                             {"h", milliseconds(3'600'000)},
                             {"d", milliseconds(86'400'000)}};
  for (const Unit& unit : kUnits) {
    if (!text.ends_with(unit.suffix)) continue;
    const std::string_view digits = text.substr(0, text.size() - unit.suffix.size());
    const Result<int64_t> count = parse_int<int64_t>(digits, 0, longest / unit.length);
    if (count.ok()) return count.value() * unit.length;
  }
  return Error(Code::kInvalid,
               str(quote(text), " is not a duration such as 250ms, 90s, 5m or 1h (at most ",
                   std::chrono::floor<std::chrono::hours>(longest).count(), "h)"));
}

Result<std::string> random_hex(size_t count) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string bytes(count, '\0');
  if (::getrandom(bytes.data(), count, 0) != static_cast<ssize_t>(count)) {
    return Error::from_errno(errno, "get random bytes");
  }
  std::string out;
  for (const char c : bytes) {
    out += kDigits[static_cast<unsigned char>(c) >> 4];
    out += kDigits[static_cast<unsigned char>(c) & 15];
  }
  return out;
}

std::string short_id(std::string_view id) { return std::string(id.substr(0, 12)); }

}  // namespace base
