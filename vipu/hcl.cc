// SPDX-License-Identifier: Apache-2.0
#include "vipu/hcl.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/names.h"
#include "base/text.h"

namespace vipu {
namespace {

using namespace base::names;

constexpr std::string_view kBlanks = " \t\r";

bool is_word_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '.';
}

class Scanner {
 public:
  explicit Scanner(std::string_view text) : rest_(text) {}

  // Returns the next assignment of a string or number; nothing at the end.
  Result<std::optional<HclAssignment>> next() {
    for (;;) {
      TRY(skip_space());
      if (rest_.empty()) return std::optional<HclAssignment>();
      std::optional<HclAssignment> found = TRY(statement());
      if (found.has_value()) return found;
    }
  }

 private:
  [[nodiscard]] bool at(std::string_view start) const { return rest_.starts_with(start); }
  Error wrong(std::string_view what) const {
    return {Code::kInvalid, str("line ", line_, ": ", what)};
  }

  // Skips COUNT bytes, at most to the end: npos is the end.
  void advance(size_t count) {
    const std::string_view passed = rest_.substr(0, count);
    line_ += static_cast<size_t>(std::count(passed.begin(), passed.end(), '\n'));
    rest_.remove_prefix(passed.size());
  }
  void skip_blanks() { advance(rest_.find_first_not_of(kBlanks)); }

  // Skips a comment of one line up to its newline, or one in /* */.
  Status skip_comment() {
    if (!at("/*")) {
      advance(rest_.find('\n'));
      return {};
    }
    const size_t end = rest_.find("*/", 2);
    if (end == std::string_view::npos) return wrong("a comment has no end");
    advance(end + 2);
    return {};
  }
  [[nodiscard]] bool at_comment() const { return at("#") || at("//") || at("/*"); }

  // Skips white space with newlines, and comments.
  Status skip_space() {
    for (;;) {
      skip_blanks();
      if (at("\n")) {
        advance(1);
      } else if (at_comment()) {
        TRY(skip_comment());
      } else {
        return {};
      }
    }
  }

  // Reads `key = value`, or skips a block: `key "label" {...}`.
  Result<std::optional<HclAssignment>> statement() {
    HclAssignment found;
    found.line = line_;
    found.key = TRY(quoted_or("a key"));
    skip_blanks();
    if (!at("=")) {
      TRY(skip_block());
      return std::optional<HclAssignment>();
    }
    advance(1);
    skip_blanks();
    if (at("{") || at("[")) {
      TRY(skip_nested());
      return std::optional<HclAssignment>();
    }
    found.value = TRY(quoted_or("a string or a number"));
    TRY(end_line());
    return std::optional<HclAssignment>(std::move(found));
  }

  // Reads a string in quotes, or a word; otherwise the error says what was EXPECTED.
  Result<std::string> quoted_or(std::string_view expected) {
    return at("\"") ? quoted() : word(expected);
  }

  Result<std::string> word(std::string_view expected) {
    const auto* const end = std::find_if_not(rest_.begin(), rest_.end(), is_word_character);
    std::string text(rest_.begin(), end);
    if (text.empty()) return wrong(str("expected ", expected));
    advance(text.size());
    return text;
  }

  // Reads a string in quotes, on one line. Keeps all escapes except those of a quote and a
  // backslash.
  Result<std::string> quoted() {
    std::string text;
    for (size_t i = 1; i < rest_.size() && rest_[i] != '\n'; ++i) {
      if (rest_[i] == '"') {
        advance(i + 1);
        return text;
      }
      const bool escape =
          rest_[i] == '\\' && i + 1 < rest_.size() && (rest_[i + 1] == '"' || rest_[i + 1] == '\\');
      text += rest_[escape ? ++i : i];
    }
    return wrong("a string has no end");
  }

  // Skips the labels and the body of a block.
  Status skip_block() {
    while (at("\"") || (!rest_.empty() && is_word_character(rest_.front()))) {
      TRY(quoted_or("a label"));
      skip_blanks();
    }
    if (!at("{")) return wrong("expected 'key = value' or a block");
    return skip_nested();
  }

  // Skips from a bracket to the one that closes it.
  Status skip_nested() {
    size_t depth = 0;
    const size_t first_line = line_;
    while (!rest_.empty()) {
      if (at_comment()) {
        TRY(skip_comment());
        continue;
      }
      if (at("\"")) {
        TRY(quoted());
        continue;
      }
      if (at("{") || at("[")) ++depth;
      if (at("}") || at("]")) --depth;
      advance(1);
      if (depth == 0) return {};
    }
    return Error(Code::kInvalid, str("line ", first_line, ": a bracket is not closed"));
  }

  Status end_line() {
    skip_blanks();
    if (at_comment()) return skip_comment();
    if (!rest_.empty() && !at("\n")) return wrong("there is more text after the value");
    return {};
  }

  std::string_view rest_;
  size_t line_ = 1;
};

}  // namespace

Result<std::vector<HclAssignment>> parse_hcl(std::string_view text) {
  std::vector<HclAssignment> all;
  Scanner scanner(text);
  for (;;) {
    std::optional<HclAssignment> found = TRY(scanner.next());
    if (!found.has_value()) return all;
    all.push_back(std::move(*found));
  }
}

}  // namespace vipu
