// SPDX-License-Identifier: Apache-2.0
#include "hook/config/section.h"

#include <algorithm>

#include "base/names.h"
#include "base/text.h"
#include "hook/config/toml.h"

namespace hook::config {

using namespace base::names;

struct Section::Table {
  toml::table values;
};

namespace {

// Returns the first line at which TEXT fails the assertion.
size_t line_of_assertion(std::string_view text) {
  size_t line = 1;
  for (size_t end = text.find('\n'); end != std::string_view::npos;
       end = text.find('\n', end + 1)) {
    try {
      (void)toml::parse(text.substr(0, end));
    } catch (const toml::parse_error&) {  // the text is only cut short
    } catch (const std::logic_error&) {
      return line;
    }
    ++line;
  }
  return line;
}

std::string_view line_at(std::string_view text, size_t number) {
  for (; number > 1 && !text.empty(); --number) {
    const size_t end = text.find('\n');
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return text.substr(0, text.find('\n'));
}

// Returns what is wrong in TEXT. toml++ reports a missing quote as the newline in the string.
std::string reason_of(const toml::parse_error& error, std::string_view text) {
  const std::string_view said = error.description();
  const toml::source_position& at = error.source().begin;
  const bool is_at_end = at.column > line_at(text, at.line).size();
  if (is_at_end && said.find("string") != std::string_view::npos)
    return "the closing quote of a text is missing";
  if (said.ends_with("could not determine value type"))
    return "the value is no number, and neither true nor false; put a text into quotes";
  return base::one_line(said, 200);
}

// The numbers of an array; nothing if it holds anything else.
std::optional<std::vector<uint32_t>> numbers_of(const toml::node& node) {
  const toml::array* array = node.as_array();
  if (array == nullptr) return std::nullopt;
  std::vector<uint32_t> numbers;
  for (const toml::node& element : *array) {
    const int64_t number = element.value_exact<int64_t>().value_or(-1);
    if (number < 0 || number > UINT32_MAX) return std::nullopt;
    numbers.push_back(static_cast<uint32_t>(number));
  }
  return numbers;
}

}  // namespace

Result<toml::table> parse_toml(std::string_view text, const std::string& file) {
  try {
    return toml::parse(text);
  } catch (const toml::parse_error& e) {
    return Error(Code::kInvalid,
                 str(file, " line ", e.source().begin.line, ": ", reason_of(e, text)));
  } catch (const std::logic_error&) {
    return Error(Code::kInvalid, str(file, " line ", line_of_assertion(text), ": not valid TOML"));
  }
}

Result<Section> Section::parse(std::string_view text, const std::string& file) {
  toml::table values = TRY(parse_toml(text, file));
  return Section(std::make_shared<const Table>(Table{std::move(values)}), "", file);
}

std::string Section::full_name(std::string_view key) const {
  return name_.empty() ? std::string(key) : str(name_, ".", key);
}

std::string Section::place(std::string_view key) const { return str(file_, ": ", full_name(key)); }

Error Section::wrong(std::string_view key, std::string_view expected) const {
  return Error(Code::kInvalid, str(place(key), " must be ", expected));
}

bool Section::has(std::string_view key) const { return table_->values.contains(key); }

std::vector<std::string> Section::keys() const {
  std::vector<std::string> keys;
  for (const auto& [key, node] : table_->values) keys.emplace_back(key.str());
  return keys;
}

Status Section::refuse_unknown(std::initializer_list<std::string_view> known) const {
  for (const auto& [key, node] : table_->values) {
    if (std::find(known.begin(), known.end(), key.str()) != known.end()) continue;
    std::string accepted;
    for (const std::string_view name : known) accepted += str(accepted.empty() ? "" : ", ", name);
    return Error(Code::kInvalid, str(file_, " line ", key.source().begin.line, ": unknown key '",
                                     full_name(key.str()), "'; accepted here: ", accepted));
  }
  return {};
}

Result<std::optional<std::string>> Section::find_text(std::string_view key,
                                                      std::string_view expected) const {
  const toml::node* node = table_->values.get(key);
  if (node == nullptr) return std::optional<std::string>();
  const std::optional<std::string> value = node->value_exact<std::string>();
  if (!value || value->empty()) return wrong(key, expected);
  return value;
}

Result<std::string> Section::get_text(std::string_view key, std::string_view expected) const {
  std::optional<std::string> value = TRY(find_text(key, expected));
  if (!value) return wrong(key, str("set: ", expected));
  return std::move(*value);
}

Result<std::optional<int64_t>> Section::find_number(std::string_view key, int64_t min, int64_t max,
                                                    std::string_view expected) const {
  const toml::node* node = table_->values.get(key);
  if (node == nullptr) return std::optional<int64_t>();
  const std::optional<int64_t> value = node->value_exact<int64_t>();
  if (!value || *value < min || *value > max) return wrong(key, expected);
  return value;
}

Result<std::optional<bool>> Section::find_flag(std::string_view key) const {
  const toml::node* node = table_->values.get(key);
  if (node == nullptr) return std::optional<bool>();
  const std::optional<bool> value = node->value_exact<bool>();
  if (!value) return wrong(key, "true or false");
  return value;
}

Result<std::optional<std::chrono::milliseconds>> Section::find_duration(
    std::string_view key, std::chrono::milliseconds longest) const {
  using std::chrono::milliseconds;
  const std::optional<std::string> text = TRY(find_text(key, "a duration, such as \"120s\""));
  if (!text) return std::optional<milliseconds>();
  const auto parse = [&](const std::string& value) { return base::parse_duration(value, longest); };
  const milliseconds time = TRY(parse_key(key, *text, parse));
  return std::optional<milliseconds>(time);
}

Result<std::vector<std::string>> Section::find_texts(std::string_view key,
                                                     std::string_view expected) const {
  std::vector<std::string> values;
  const toml::node* node = table_->values.get(key);
  if (node == nullptr) return values;
  const toml::array* array = node->as_array();
  if (array == nullptr || array->empty()) return wrong(key, expected);
  for (const toml::node& element : *array) {
    const std::optional<std::string> value = element.value_exact<std::string>();
    if (!value) return wrong(key, expected);
    values.push_back(*value);
  }
  return values;
}

Result<std::vector<uint32_t>> Section::find_numbers(std::string_view key,
                                                    std::string_view expected) const {
  const toml::node* node = table_->values.get(key);
  if (node == nullptr) return std::vector<uint32_t>();
  std::optional<std::vector<uint32_t>> numbers = numbers_of(*node);
  if (!numbers) return wrong(key, expected);
  return std::move(*numbers);
}

Result<std::vector<std::vector<uint32_t>>> Section::find_number_lists(
    std::string_view key, std::string_view expected) const {
  std::vector<std::vector<uint32_t>> lists;
  const toml::node* node = table_->values.get(key);
  if (node == nullptr) return lists;
  const toml::array* array = node->as_array();
  if (array == nullptr || array->empty()) return wrong(key, expected);
  for (const toml::node& element : *array) {
    std::optional<std::vector<uint32_t>> list = numbers_of(element);
    if (!list || list->empty()) return wrong(key, expected);
    lists.push_back(std::move(*list));
  }
  return lists;
}

Result<std::optional<Section>> Section::find_table(std::string_view key) const {
  const toml::node* node = table_->values.get(key);
  if (node == nullptr) return std::optional<Section>();
  const toml::table* table = node->as_table();
  if (table == nullptr) return wrong(key, str("a table, such as [", full_name(key), "]"));
  return std::optional<Section>(
      Section(std::make_shared<const Table>(Table{*table}), full_name(key), file_));
}

Result<std::vector<Section>> Section::find_tables(std::string_view key) const {
  std::vector<Section> sections;
  const toml::node* node = table_->values.get(key);
  if (node == nullptr) return sections;
  const toml::array* array = node->as_array();
  if (array == nullptr) {
    std::optional<Section> one = TRY(find_table(key));
    sections.push_back(std::move(*one));
    return sections;
  }
  for (const toml::node& element : *array) {
    const toml::table* table = element.as_table();
    if (table == nullptr) return wrong(key, str("a table, such as [[", full_name(key), "]]"));
    sections.push_back(
        Section(std::make_shared<const Table>(Table{*table}), full_name(key), file_));
  }
  return sections;
}

}  // namespace hook::config
