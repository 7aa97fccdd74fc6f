// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "base/text.h"

namespace base {
namespace {

constexpr size_t kMaxDepth = 128;
constexpr size_t kMaxKeys = 4096;
constexpr size_t kMaxValues = 1'000'000;

// Refuses texts that would take too long or too much stack to parse. Runs before any recursion.
Status check_shape(std::string_view text, std::string_view what) {
  std::vector<size_t> keys;  // of each open object or list
  size_t values = 1;
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
    if ((c == ',' || c == '{' || c == '[') && !in_string && ++values > kMaxValues) {
      return Error(Code::kInvalid, str(what, ": has more than ", kMaxValues, " values"));
    }
    if (keys.size() > kMaxDepth) {
      return Error(Code::kInvalid, str(what, ": nested deeper than ", kMaxDepth, " levels"));
    }
  }
  return {};
}

// Builds the document from the events of a parse, in linear time. The library's own builder
// compares each new key with all of its object, and its callbacks search a list again at the end of
// each element.
class Builder final : public nlohmann::json_sax<Json> {
 public:
  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(int64_t value) override { return add(value); }
  bool number_unsigned(uint64_t value) override { return add(value); }
  bool number_float(double value, const std::string& /*text*/) override { return add(value); }
  bool string(std::string& value) override { return add(std::move(value)); }
  bool binary(Json::binary_t& /*value*/) override { return false; }  // JSON has none

  bool start_object(size_t /*members*/) override { return open(Json::object()); }
  bool key(std::string& name) override {
    key_ = std::move(name);
    return true;
  }
  bool end_object() override {
    duplicate_ = duplicate_key(open_.back()->get_ref<const Json::object_t&>());
    open_.pop_back();
    return !duplicate_;
  }
  bool start_array(size_t /*elements*/) override { return open(Json::array()); }
  bool end_array() override {
    open_.pop_back();
    return true;
  }
  bool parse_error(size_t /*position*/, const std::string& /*token*/,
                   const nlohmann::detail::exception& error) override {
    reason_ = error.what();
    return false;
  }

  Json take() { return std::move(root_); }
  [[nodiscard]] const std::optional<std::string>& duplicate() const { return duplicate_; }
  [[nodiscard]] const std::string& reason() const { return reason_; }

 private:
  // The list or object that is open last grows only while no value inside it is open. So pointers
  // to open values stay valid.
  template <typename Value>
  Json& place(Value&& value) {
    if (open_.empty()) return root_ = std::forward<Value>(value);
    Json& parent = *open_.back();
    if (parent.is_array()) {
      return parent.get_ref<Json::array_t&>().emplace_back(std::forward<Value>(value));
    }
    Json::object_t::Container& members = parent.get_ref<Json::object_t&>();
    return members.emplace_back(std::move(key_), std::forward<Value>(value)).second;
  }
  template <typename Value>
  bool add(Value&& value) {
    place(std::forward<Value>(value));
    return true;
  }
  bool open(Json value) {
    open_.push_back(&place(std::move(value)));
    return true;
  }

  // Sorts, because an attacker can choose keys whose hashes are equal.
  static std::optional<std::string> duplicate_key(const Json::object_t& object) {
    std::vector<std::string_view> keys;
    keys.reserve(object.size());
    for (const auto& member : object) keys.emplace_back(member.first);
    std::sort(keys.begin(), keys.end());
    const auto twice = std::adjacent_find(keys.begin(), keys.end());
    if (twice == keys.end()) return std::nullopt;
    return std::string(*twice);
  }

  Json root_;
  std::vector<Json*> open_;
  std::string key_;
  std::optional<std::string> duplicate_;
  std::string reason_;
};

// Takes the library's name of the error off: "[json.exception.parse_error.101] parse error at ...".
std::string_view without_name(std::string_view reason) {
  const size_t end = reason.find("] ");
  return end == std::string_view::npos ? reason : reason.substr(end + 2);
}

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
  Builder builder;
  if (Json::sax_parse(text, &builder)) return builder.take();
  if (builder.duplicate()) {
    return Error(Code::kInvalid, str(what, ": key ", quote(*builder.duplicate()),
                                     " appears twice in one object; give it once"));
  }
  return Error(Code::kInvalid,
               str(what, ": not valid JSON: ", one_line(without_name(builder.reason()), 200)));
}

std::string to_text(const Json& value) {
  return value.dump(-1, ' ', true, Json::error_handler_t::replace);
}

std::string to_pretty_text(const Json& value) {
  return value.dump(2, ' ', true, Json::error_handler_t::replace) + "\n";
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
