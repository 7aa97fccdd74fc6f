// SPDX-License-Identifier: Apache-2.0
#include "hook/container/oci/powers.h"

#include <algorithm>

#include "base/json.h"
#include "base/names.h"
#include "base/text.h"
#include "hook/container/oci/capability.h"
#include "hook/container/oci/fold.h"

namespace hook::oci {
namespace {

using namespace base::names;

constexpr size_t kMaxDepth = 10'000;  // of Go's decoder

// What a value is. kOther: nothing of interest, nor anything in it.
enum class Role {
  kOther,
  kSpec,
  kLinux,
  kNamespaces,
  kNamespace,
  kNamespacePath,
  kProcess,
  kCapabilities,
  kSet,
  kCapability,
};

Role role_of_member(Role object, const std::string& key) {
  switch (object) {
    case Role::kSpec:
      return key == "linux" ? Role::kLinux : key == "process" ? Role::kProcess : Role::kOther;
    case Role::kLinux:
      return key == "namespaces" ? Role::kNamespaces : Role::kOther;
    case Role::kNamespace:
      return key == "path" ? Role::kNamespacePath : Role::kOther;
    case Role::kProcess:
      return key == "capabilities" ? Role::kCapabilities : Role::kOther;
    case Role::kCapabilities:
      return Role::kSet;
    default:
      return Role::kOther;
  }
}

Role role_of_item(Role list) {
  if (list == Role::kNamespaces) return Role::kNamespace;
  return list == Role::kSet ? Role::kCapability : Role::kOther;
}

// Returns TEXT, between the quotes of a string, up to an escaped NUL, where strings end for crun.
std::string_view before_nul(std::string_view text) {
  for (size_t at = 0; at < text.size(); at += text[at] == '\\' ? 2U : 1U) {
    if (text.substr(at).starts_with("\\u0000")) return text.substr(0, at);
  }
  return text;
}

// Returns what TOKEN, a string with its quotes, stands for up to a NUL; "" if it is not valid.
std::string decoded(std::string_view token) {
  const std::string_view text = before_nul(token.substr(1, token.size() - 2));
  if (text.find('\\') == std::string_view::npos) return std::string(text);
  const Result<base::Json> value = base::parse_json(str('"', text, '"'), "string");
  return value.ok() && value.value().is_string() ? value.value().get<std::string>() : "";
}

// A comment, which crun ignores, could hide in anything longer.
bool is_literal(std::string_view token) {
  return token == "null" || token == "true" || token == "false" ||
         (!token.empty() && token.find_first_not_of("-+.0123456789eE") == std::string_view::npos);
}

class Scanner {
 public:
  Scanner(std::string_view text, const std::vector<std::string>& names)
      : text_(text), names_(names) {}

  Result<Powers> run(Role document) {
    next_ = document;
    skip_space();
    if (at_ >= text_.size() || text_[at_] != '{') return malformed();
    do {
      skip_space();
      if (at_ >= text_.size()) return malformed();
      TRY(take(text_[at_]));
    } while (!stack_.empty());
    return std::move(powers_);
  }

 private:
  // An object or a list that has begun.
  struct Frame {
    Role place;
    bool is_object;
    bool wants_key;  // the next string is a key
  };
  struct Item {
    Powers::Cut range;
    bool is_named;
  };

  [[nodiscard]] Error malformed() const {
    return {Code::kInvalid, str("config.json: malformed at byte ", at_)};
  }

  void skip_space() { at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size()); }

  Status take(char c) {
    switch (c) {
      case '{':
      case '[':
        return open(c == '{');
      case '}':
      case ']':
        return close(c == '}');
      case ',':
        return separate();
      case ':':
        ++at_;
        return {};
      case '"':
        return take_string();
      default:
        return take_literal();
    }
  }

  Status open(bool is_object) {
    if (stack_.size() >= kMaxDepth) return malformed();
    stack_.push_back({next_, is_object, is_object});
    if (next_ == Role::kSet) items_.clear();
    next_ = is_object ? Role::kOther : role_of_item(next_);
    ++at_;
    return {};
  }

  Status close(bool is_object) {
    if (stack_.empty() || stack_.back().is_object != is_object) return malformed();
    const Role role = stack_.back().place;
    stack_.pop_back();
    ++at_;
    if (role == Role::kSet) end_set();
    return {};
  }

  Status separate() {
    if (stack_.empty()) return malformed();
    Frame& frame = stack_.back();
    frame.wants_key = frame.is_object;
    next_ = frame.is_object ? Role::kOther : role_of_item(frame.place);
    ++at_;
    return {};
  }

  Status take_string() {
    const size_t begin = at_;
    for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
      if (text_[at_] == '\\') ++at_;
    }
    if (at_ >= text_.size()) return malformed();
    ++at_;
    const std::string_view token = text_.substr(begin, at_ - begin);
    if (stack_.empty() || !stack_.back().wants_key) {
      take_value(token, begin);
      return {};
    }
    Frame& frame = stack_.back();
    frame.wants_key = false;
    const bool matters = frame.place != Role::kOther;
    next_ = matters ? role_of_member(frame.place, folded(decoded(token))) : Role::kOther;
    return {};
  }

  void take_value(std::string_view token, size_t begin) {
    if (next_ == Role::kNamespacePath) powers_.namespaces.push_back(decoded(token));
    if (next_ != Role::kCapability) return;
    items_.push_back({{begin, at_}, may_be_one_of(decoded(token), names_)});
  }

  // A number, or null, true, false.
  Status take_literal() {
    const size_t end = std::min(text_.find_first_of(" \t\r\n,:]}[{\"", at_), text_.size());
    if (!is_literal(text_.substr(at_, end - at_))) return malformed();
    if (next_ == Role::kCapability) items_.push_back({{at_, end}, false});
    at_ = end;
    return {};
  }

  // Cuts an item with the comma before it, or with what is after it if no item stays before it.
  void end_set() {
    bool stays = false;
    for (size_t i = 0; i < items_.size(); ++i) {
      const Item& item = items_[i];
      if (!item.is_named) {
        stays = true;
        continue;
      }
      const bool is_last = i + 1 == items_.size();
      const size_t end = stays || is_last ? item.range.end : items_[i + 1].range.begin;
      powers_.cuts.push_back({stays ? items_[i - 1].range.end : item.range.begin, end});
    }
    items_.clear();
  }

  const std::string_view text_;
  const std::vector<std::string>& names_;
  size_t at_ = 0;
  Role next_ = Role::kOther;  // of the value that comes next
  std::vector<Frame> stack_;
  std::vector<Item> items_;  // of a set of capabilities
  Powers powers_;
};

}  // namespace

Result<Powers> find_powers(std::string_view text, Document document,
                           const std::vector<std::string>& names) {
  return Scanner(text, names).run(document == Document::kSpec ? Role::kSpec : Role::kProcess);
}

std::string without(std::string_view text, const std::vector<Powers::Cut>& cuts) {
  std::string rest;
  size_t from = 0;
  for (const Powers::Cut& cut : cuts) {
    rest += text.substr(from, cut.begin - from);
    from = cut.end;
  }
  rest += text.substr(from);
  return rest;
}

}  // namespace hook::oci
