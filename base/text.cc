// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"

#include <sys/random.h>

#include <cerrno>
#include <iterator>

namespace base {
namespace {

struct Unit {
  std::string_view suffix;
  std::chrono::milliseconds length;
};
constexpr Unit kUnits[] = {{"ms", std::chrono::milliseconds(1)},
                           {"s", std::chrono::seconds(1)},
                           {"m", std::chrono::minutes(1)},
                           {"h", std::chrono::hours(1)},
                           {"d", std::chrono::hours(24)}};

// One character at the start of a text.
struct Character {
  char32_t code = 0;
  size_t bytes = 0;  // 0: the text does not start with UTF-8
};

// Decodes the first character of TEXT, which is not empty. RFC 3629, section 4 has the ranges.
Character first_character(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return {first, 1};
  const size_t bytes = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < bytes) return {};
  char32_t code = first & (0xffU >> (bytes + 1));
  for (size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3fU);
  }
  constexpr char32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xd800 && code <= 0xdfff;
  if (code < kSmallest[bytes] || code > 0x10ffff || surrogate) return {};
  return {code, bytes};
}

bool is_safe(char32_t c) {
  const bool control = c < 0x20 || (c >= 0x7f && c <= 0x9f);
  const bool mark = c == 0x061c || c == 0x200e || c == 0x200f;  // of direction
  const bool separator_or_embedding = c >= 0x2028 && c <= 0x202e;
  const bool isolate = c >= 0x2066 && c <= 0x2069;
  return !control && !mark && !separator_or_embedding && !isolate;
}

// Returns TEXT, cut to MAX bytes, with REPLACEMENT for each unsafe character that is not in KEPT.
std::string safe(std::string_view text, size_t max, char replacement, std::string_view kept) {
  std::string out;
  while (!text.empty()) {
    const Character next = first_character(text);
    const size_t bytes = next.bytes == 0 ? 1 : next.bytes;
    const bool keep = (next.bytes > 0 && is_safe(next.code)) || kept.find(text[0]) != kept.npos;
    if (out.size() + (keep ? bytes : 1) > max) break;
    if (keep) {
      out += text.substr(0, bytes);
    } else {
      out += replacement;
    }
    text.remove_prefix(bytes);
  }
  return out;
}

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == text.npos;
}

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

}  // namespace

std::string quote(std::string_view text) {
  constexpr size_t kMax = 80;
  return str("'", safe(text, kMax, '?', ""), text.size() > kMax ? "...'" : "'");
}

std::string one_line(std::string_view text, size_t max) { return safe(text, max, ' ', ""); }

std::string safe_lines(std::string_view text) { return safe(text, text.size(), ' ', "\n"); }

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
  const auto hours = std::chrono::floor<std::chrono::hours>(longest).count();
  for (const Unit& unit : kUnits) {
    if (!text.ends_with(unit.suffix)) continue;
    const std::string_view digits = text.substr(0, text.size() - unit.suffix.size());
    const Result<int64_t> count = parse_int<int64_t>(digits, 0, longest / unit.length);
    if (count.ok()) return count.value() * unit.length;
    if (!is_number(digits)) continue;
    return Error(Code::kInvalid, str(quote(text), " is too long; give at most ", hours, "h"));
  }
  return Error(Code::kInvalid, str(quote(text), " is not a duration such as 250ms, 90s, 5m, 1h or",
                                   " 1d (at most ", hours, "h)"));
}

std::string format_duration(std::chrono::milliseconds time) {
  if (time.count() == 0) return "0s";
  const Unit* unit = std::begin(kUnits);
  for (const Unit& larger : kUnits) {
    if (time % larger.length == std::chrono::milliseconds(0)) unit = &larger;
  }
  return str(time / unit->length, unit->suffix);
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
