// SPDX-License-Identifier: Apache-2.0
#include "hook/ledger/internal/audit_fields.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "base/json.h"
#include "base/names.h"
#include "base/text.h"

namespace hook::ledger {
namespace {

using namespace base::names;

// Reads one JSON object whose keys and values are of a plain kind: ASCII without escapes but for
// one character, whole numbers, the three words, and lists of strings; without blanks. Each method
// returns false where the text is of another kind, which may be valid all the same.
class PlainReader {
 public:
  explicit PlainReader(std::string_view text) : rest_(text) {}

  std::optional<AuditFields> read() {
    if (rest_.size() > kLongest || !take('{')) return std::nullopt;
    do {
      if (!member()) return std::nullopt;
    } while (take(','));
    if (!take('}') || !rest_.empty() || number_.empty()) return std::nullopt;
    if (!is_text(time_) || !is_text(previous_)) return std::nullopt;
    const Result<int64_t> number = base::parse_int<int64_t>(number_, 0, INT64_MAX);
    if (!number.ok()) return std::nullopt;
    return AuditFields{number.value(), std::string(*time_), std::string(*previous_)};
  }

 private:
  static constexpr size_t kLongest = 1 << 16;
  static constexpr size_t kMostKeys = 24;  // twice those of audit_line()
  static constexpr std::string_view kEscaped = "\"\\/bfnrt";

  // An escape stands for something else.
  static bool is_text(const std::optional<std::string_view>& value) {
    return value && value->find('\\') == std::string_view::npos;
  }
  [[nodiscard]] bool next_is(char c) const { return !rest_.empty() && rest_.front() == c; }
  bool take(char c) {
    if (!next_is(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool take_word(std::string_view word) {
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }

  bool string(std::string_view& value) {
    if (!take('"')) return false;
    size_t end = 0;
    for (; end < rest_.size() && rest_[end] != '"'; ++end) {
      if (rest_[end] < ' ' || rest_[end] > '~') return false;
      if (rest_[end] != '\\') continue;
      if (++end == rest_.size() || kEscaped.find(rest_[end]) == std::string_view::npos) {
        return false;
      }
    }
    value = rest_.substr(0, end);
    rest_.remove_prefix(end);
    return take('"');
  }
  bool whole_number(std::string_view& value) {
    const size_t end = std::min(rest_.find_first_not_of("0123456789"), rest_.size());
    value = rest_.substr(0, end);
    rest_.remove_prefix(end);
    return end == 1 || (end > 1 && value.front() != '0');
  }
  bool list() {
    std::string_view ignored;
    do {
      if (!string(ignored)) return false;
    } while (take(','));
    return take(']');
  }

  bool member() {
    std::string_view key;
    std::string_view value;
    if (keys_ == known_.size() || !string(key) || !take(':')) return false;
    const auto end = known_.begin() + static_cast<std::ptrdiff_t>(keys_);
    if (!is_text(key) || std::find(known_.begin(), end, key) != end) return false;
    known_[keys_++] = key;
    if (next_is('"')) {
      if (!string(value)) return false;
      if (key == "time") time_ = value;
      if (key == "previous") previous_ = value;
      return true;
    }
    if (take('[')) return list();
    if (take_word("null") || take_word("true") || take_word("false")) return true;
    if (!whole_number(value)) return false;
    if (key == "number") number_ = value;
    return true;
  }

  std::string_view rest_;
  std::array<std::string_view, kMostKeys> known_{};
  size_t keys_ = 0;
  std::string_view number_;  // empty: not seen
  std::optional<std::string_view> time_;
  std::optional<std::string_view> previous_;
};

}  // namespace

Result<AuditFields> read_audit_fields(const std::string& line) {
  std::optional<AuditFields> plain = PlainReader(line).read();
  if (plain) return std::move(*plain);
  const base::Json json = TRY(base::parse_json(line, "the line"));
  AuditFields fields;
  fields.number = TRY(base::get_int(json, "number", "the line"));
  fields.time = TRY(base::get_string(json, "time", "the line"));
  fields.previous = TRY(base::get_string(json, "previous", "the line"));
  return fields;
}

}  // namespace hook::ledger
