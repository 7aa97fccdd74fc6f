// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"

#include <functional>
#include <limits>
#include <optional>
#include <unordered_set>
#include <vector>

#include "base/text.h"

namespace base {
namespace {

constexpr size_t kMaxDepth = 128;
constexpr size_t kMaxKeys = 4096;

// Refuses texts that would take too long or too much stack to parse. Runs before any recursion.
Status check_shape(std::string_view text, std::string_view what) {
  std::vector<size_t> keys;  // of each open object or list
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      in_string = c != '"';
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      keys.push_back(0);
    } else if ((c == '}' || c == ']') && !keys.empty()) {
      keys.pop_back();
    } else if (c == ':' && !keys.empty() && ++keys.back() > kMaxKeys) {
      return Error(Code::kInvalid, str(what, ": an object has more than ", kMaxKeys, " keys"));
    }
    if (keys.size() > kMaxDepth) {
      return Error(Code::kInvalid, str(what, ": nested deeper than ", kMaxDepth, " levels"));
    }
  }
  return {};
}

// Watches a parse for an object with a duplicate key.
class DuplicateKeys {
 public:
  bool operator()(int /*depth*/, Json::parse_event_t event, const Json& parsed) {
    using Event = Json::parse_event_t;
    if (event == Event::object_start) open_.emplace_back();
    if (event == Event::object_end) open_.pop_back();
    if (event == Event::key && !open_.back().insert(parsed.get<std::string>()).second && !found_) {
      found_ = parsed.get<std::string>();
    }
    return true;
  }
  [[nodiscard]] const std::optional<std::string>& found() const { return found_; }

 private:
  std::vector<std::unordered_set<std::string>> open_;
  std::optional<std::string> found_;
};

Error missing(const char* key, std::string_view type, std::string_view what) {
  return Error(Code::kInvalid, str(what, ": key '", key, "' is missing or not ", type));
}

}  // namespace

Result<Json> parse_json(std::string_view text, std::string_view what) {
  if (trim(text).empty())
    return Error(Code::kInvalid, str(what, ": empty, expected a JSON object"));
  if (text.starts_with("\xEF\xBB\xBF")) {
    return Error(Code::kInvalid, str(what, ": starts with a byte order mark; save it without one"));
  }
  TRY(check_shape(text, what));
  try {
    DuplicateKeys duplicates;
    Json json = Json::parse(text, std::ref(duplicates));
    if (!duplicates.found()) return json;
    return Error(Code::kInvalid, str(what, ": key ", quote(*duplicates.found()),
                                     " appears twice in one object; give it once"));
  } catch (const Json::exception& e) {  // the non-throwing parse reports no position
    std::string_view reason = e.what();
    if (const size_t end = reason.find("] "); end != std::string_view::npos) {
      reason.remove_prefix(end +
                           2);  // "[json.exception.parse_error.101] parse error at line 1 ..."
    }
    return Error(Code::kInvalid, str(what, ": not valid JSON: ", one_line(reason, 200)));
  }
}

std::string to_text(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string to_pretty_text(const Json& value) {
  return value.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<std::string> get_string(const Json& object, const char* key, std::string_view what) {
  if (!object.is_object() || !object.contains(key) || !object[key].is_string()) {
    return missing(key, "a string", what);
  }
  return object[key].get<std::string>();
}

Result<int64_t> get_int(const Json& object, const char* key, std::string_view what) {
  if (!object.is_object() || !object.contains(key) || !object[key].is_number_integer()) {
    return missing(key, "a whole number", what);
  }
  // The library would wrap larger numbers around.
  constexpr auto kLargest = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  if (object[key].is_number_unsigned() && object[key].get<uint64_t>() > kLargest) {
    return missing(key, "a whole number that fits in 64 bits", what);
  }
  return object[key].get<int64_t>();
}

}  // namespace base
