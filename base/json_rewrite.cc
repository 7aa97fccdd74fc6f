// SPDX-License-Identifier: Apache-2.0
#include "base/json_rewrite.h"

#include <algorithm>
#include <map>
#include <vector>

#include "base/text.h"

namespace base {
namespace {

constexpr std::string_view kSpace = " \t\r\n";

// A value in the text: [begin, end). Its members are in the order of the parsed ones; each starts
// at its key.
struct Piece {
  size_t begin = 0;
  size_t end = 0;
  size_t value = 0;  // start of a member's value; otherwise same as begin
  std::vector<Piece> members = {};
};

// Finds the pieces of a text that is known to be valid JSON.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  Piece value() {
    skip_space();
    Piece piece{at_, at_, at_};
    const char first = text_[at_];
    if (first == '{' || first == '[') {
      piece.members = members(first == '{');
    } else if (first == '"') {
      skip_string();
    } else {
      at_ = std::min(text_.find_first_of(" \t\r\n,]}", at_), text_.size());
    }
    piece.end = at_;
    return piece;
  }

 private:
  void skip_space() { at_ = std::min(text_.find_first_not_of(kSpace, at_), text_.size()); }

  void skip_string() {
    for (++at_; text_[at_] != '"'; ++at_) {
      if (text_[at_] == '\\') ++at_;
    }
    ++at_;
  }

  std::vector<Piece> members(bool has_keys) {
    std::vector<Piece> found;
    for (++at_;;) {
      skip_space();
      if (text_[at_] == '}' || text_[at_] == ']') break;
      if (text_[at_] == ',') {
        ++at_;
        continue;
      }
      const size_t begin = at_;
      if (has_keys) {
        skip_string();
        skip_space();
        ++at_;  // the colon
      }
      Piece piece = value();
      piece.begin = begin;
      found.push_back(std::move(piece));
    }
    ++at_;
    return found;
  }

  std::string_view text_;
  size_t at_ = 0;
};

// The white space around new members of a value.
struct Layout {
  std::string before;  // before each member
  std::string after;   // after the last member
};

struct Member {
  std::string before;
  std::string text;
};

class Rewriter {
 public:
  explicit Rewriter(std::string_view text) : text_(text) {}

  // Returns EDITED as it is written at PIECE, or as it would be in a place with this LAYOUT around
  // it.
  std::string value(const Piece& piece, const Json& original, const Json& edited,
                    const Layout& around) {
    if (original == edited) return std::string(text_.substr(piece.value, piece.end - piece.value));
    const bool objects = original.is_object() && edited.is_object();
    const bool lists = original.is_array() && edited.is_array();
    if (!objects && !lists) return fresh(edited, around);
    const Layout inside = layout_of(piece, around);
    return objects ? object(piece, original, edited, inside)
                   : list(piece, original, edited, inside);
  }

 private:
  [[nodiscard]] std::string_view space_before(size_t position) const {
    const size_t last = text_.substr(0, position).find_last_not_of(kSpace);
    return text_.substr(last + 1, position - last - 1);
  }

  // Returns the layout of a value. For an empty value it comes from its surroundings.
  [[nodiscard]] Layout layout_of(const Piece& piece, const Layout& around) const {
    if (!piece.members.empty()) {
      return {std::string(space_before(piece.members.back().begin)),
              std::string(space_before(piece.end - 1))};
    }
    if (around.before.find('\n') == std::string::npos) return {};
    return {around.before + step_of(around), around.before};
  }

  // Returns how much further a value's members are indented than the value.
  static std::string step_of(const Layout& around) {
    const bool starts = around.before.starts_with(around.after);
    const std::string step = starts ? around.before.substr(around.after.size()) : std::string();
    return step.empty() ? "  " : step;
  }

  // Returns the text of a new value.
  [[nodiscard]] static std::string fresh(const Json& value, const Layout& around) {
    if (around.before.find('\n') == std::string::npos) return to_text(value);
    const std::string step = step_of(around);
    const std::string text = value.dump(static_cast<int>(step.size()), step.front(), true,
                                        Json::error_handler_t::replace);
    std::string indented;
    for (const char character : text) {
      indented += character == '\n' ? around.before.substr(around.before.rfind('\n'))
                                    : std::string(1, character);
    }
    return indented;
  }

  // The members of an object by key. The object's own search goes through all of them.
  using Index = std::map<std::string_view, const Json*>;
  static Index index_of(const Json& object) {
    Index index;
    for (const auto& [key, value] : object.get_ref<const Json::object_t&>()) index[key] = &value;
    return index;
  }

  std::string object(const Piece& piece, const Json& original, const Json& edited,
                     const Layout& layout) {
    std::vector<Member> members;
    Index added_ones = index_of(edited);
    size_t i = 0;
    for (const auto& [key, old] : original.get_ref<const Json::object_t&>()) {
      const Piece& member = piece.members[i++];
      const auto found = added_ones.extract(key);
      if (found.empty()) continue;
      const std::string_view start = text_.substr(member.begin, member.value - member.begin);
      members.push_back(kept(member, str(start, value(member, old, *found.mapped(), layout))));
    }
    const std::string colon = layout.before.empty() ? ":" : ": ";
    for (const auto& [key, added] : edited.get_ref<const Json::object_t&>()) {
      if (!added_ones.contains(key)) continue;
      members.push_back({layout.before, str(to_text(key), colon, fresh(added, layout))});
    }
    return joined('{', members, layout, '}');
  }

  // Remaining elements keep their order: each element of EDITED is either the next equal one of the
  // original, or new.
  std::string list(const Piece& piece, const Json& original, const Json& edited,
                   const Layout& layout) {
    std::vector<Member> members;
    size_t next = 0;
    for (const Json& element : edited) {
      size_t at = next;
      while (at < original.size() && original[at] != element) ++at;
      if (at == original.size()) {
        members.push_back({layout.before, fresh(element, layout)});
        continue;
      }
      const Piece& old = piece.members[at];
      members.push_back(kept(old, std::string(text_.substr(old.begin, old.end - old.begin))));
      next = at + 1;
    }
    return joined('[', members, layout, ']');
  }

  [[nodiscard]] Member kept(const Piece& piece, std::string text) const {
    return {std::string(space_before(piece.begin)), std::move(text)};
  }

  static std::string joined(char open, const std::vector<Member>& members, const Layout& layout,
                            char close) {
    std::string text(1, open);
    for (const Member& member : members) {
      text += str(text.size() == 1 ? "" : ",", member.before, member.text);
    }
    if (!members.empty()) text += layout.after;
    return text + close;
  }

  std::string_view text_;
};

}  // namespace

std::string rewrite_json(std::string_view text, const Json& original, const Json& edited) {
  const Piece root = Scanner(text).value();
  return str(text.substr(0, root.begin), Rewriter(text).value(root, original, edited, {"\n", "\n"}),
             text.substr(root.end));
}

}  // namespace base
