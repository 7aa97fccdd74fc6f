// SPDX-License-Identifier: Apache-2.0
#include "vipu/plan/count.h"

#include <cctype>
#include <optional>

#include "base/names.h"
#include "base/text.h"

namespace vipu::plan {
namespace {

using namespace base::names;

// The largest count has 20 digits, so that a larger exponent makes a number too large, or a
// fraction.
constexpr int kMaxExponent = 30;

struct Digits {
  uint64_t value = 0;
  int behind_point = 0;
};

// Returns VALUE * 10 + DIGIT, or nothing if that is too large.
std::optional<uint64_t> append(uint64_t value, uint64_t digit) {
  if (value > (UINT64_MAX - digit) / 10) return std::nullopt;
  return value * 10 + digit;
}

std::optional<Digits> parse_digits(std::string_view text) {
  Digits digits;
  bool has_point = false;
  bool has_digit = false;
  for (const char c : text) {
    if (c == '.' && !has_point) {
      has_point = true;
      continue;
    }
    if (c < '0' || c > '9') return std::nullopt;
    const std::optional<uint64_t> more = append(digits.value, static_cast<uint64_t>(c - '0'));
    if (!more) return std::nullopt;
    digits.value = *more;
    digits.behind_point += has_point ? 1 : 0;
    has_digit = true;
  }
  if (!has_digit || text.back() == '.' || text.front() == '.') return std::nullopt;
  return digits;
}

// Takes the exponent from the end of TEXT: that of "e9" or of "B".
std::optional<int> take_exponent(std::string_view& text) {
  const size_t e = text.find_first_of("eE");
  if (e != std::string_view::npos) {
    const auto exponent = base::parse_int<int>(text.substr(e + 1), 0, kMaxExponent);
    if (!exponent.ok()) return std::nullopt;
    text = text.substr(0, e);
    return exponent.value();
  }
  constexpr std::string_view kUnits = "KMBT";
  if (text.empty()) return 0;
  const int last = std::toupper(static_cast<unsigned char>(text.back()));
  const size_t unit = kUnits.find(static_cast<char>(last));
  if (unit == std::string_view::npos) return 0;
  text.remove_suffix(1);
  return 3 * static_cast<int>(unit + 1);
}

std::optional<uint64_t> parse(std::string_view text) {
  const std::optional<int> exponent = take_exponent(text);
  if (!exponent) return std::nullopt;
  const std::optional<Digits> digits = parse_digits(text);
  if (!digits) return std::nullopt;
  uint64_t value = digits->value;
  for (int zeros = *exponent - digits->behind_point; zeros != 0; zeros += zeros > 0 ? -1 : 1) {
    if (zeros < 0 && value % 10 != 0) return std::nullopt;
    const std::optional<uint64_t> next = zeros < 0 ? value / 10 : append(value, 0);
    if (!next) return std::nullopt;
    value = *next;
  }
  return value;
}

}  // namespace

Result<uint64_t> parse_count(std::string_view text, uint64_t most) {
  const std::optional<uint64_t> value = parse(text);
  if (value && *value >= 1 && *value <= most) return *value;
  return Error(Code::kInvalid, str(quote(text), " is not a whole number from 1 to ", most,
                                   ", such as 1536, 1.3e9 or 336M"));
}

}  // namespace vipu::plan
