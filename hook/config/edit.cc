// SPDX-License-Identifier: Apache-2.0
#include "hook/config/edit.h"

#include <algorithm>
#include <optional>
#include <sstream>
#include <vector>

#include "base/names.h"
#include "base/text.h"
#include "hook/config/toml.h"

namespace hook::config {
namespace {

using namespace base::names;

Error wrong_key(const std::string& key, std::string_view why) {
  return {Code::kInvalid, str("key ", base::quote(key), " ", why)};
}

Error by_hand(const std::string& file, const std::string& key) {
  return wrong_key(key, str("cannot be changed alone; change it in ", file, " by an editor"));
}

// Splits KEY at the dots that are not in double quotes.
Result<std::vector<std::string>> words_of(const std::string& key) {
  std::vector<std::string> words(1);
  bool is_quoted = false;
  for (const char c : key) {
    if (c == '"') {
      is_quoted = !is_quoted;
    } else if (c == '.' && !is_quoted) {
      words.emplace_back();
    } else {
      words.back() += c;
    }
  }
  const bool has_empty =
      std::any_of(words.begin(), words.end(), [](const std::string& word) { return word.empty(); });
  if (is_quoted || has_empty || words.size() < 2)
    return wrong_key(key, "is not like \"policy.max_ipus\"");
  return words;
}

std::string to_text(const toml::node& node) {
  std::ostringstream text;
  node.visit([&](const auto& each) { text << each; });
  return text.str();
}

// Writes WORD as a key of TOML.
std::string in_toml(const std::string& word) {
  const bool is_bare = std::all_of(word.begin(), word.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == '_';
  });
  return is_bare ? word : to_text(toml::value<std::string>(word));
}

bool has_name(const toml::table& table, const std::string& name) {
  for (const char* key : {"name", "parent"}) {
    const toml::node* node = table.get(key);
    if (node != nullptr && node->value_exact<std::string>() == name) return true;
  }
  return false;
}

// A table, how many words led there, and the words of its header.
struct Place {
  toml::table* table;
  size_t used;
  std::vector<std::string> header = {};
};

// Returns the table of ARRAY that WORD selects; null if none is.
toml::table* select(toml::array& array, const std::string& word) {
  for (toml::node& node : array)
    if (node.is_table() && has_name(*node.as_table(), word)) return node.as_table();
  const Result<size_t> number = base::parse_int<size_t>(word, 0, SIZE_MAX);
  if (!number.ok() || number.value() >= array.size()) return nullptr;
  return array[number.value()].as_table();
}

Error not_selected(const std::string& key, toml::array& array) {
  std::string names;
  for (toml::node& node : array) {
    for (const char* word : {"name", "parent"}) {
      const toml::node* name = node.is_table() ? node.as_table()->get(word) : nullptr;
      if (name != nullptr) names += str(names.empty() ? "" : ", ", to_text(*name));
    }
  }
  return wrong_key(key, str("has to say which one: ", names, " or a number from 0 on"));
}

// Goes from ROOT as far as there are tables; the last word is that of the value.
Result<Place> find_place(toml::table& root, const std::string& key,
                         const std::vector<std::string>& words) {
  Place place{&root, 0};
  while (place.used + 1 < words.size()) {
    const std::string& word = words[place.used];
    toml::node* node = place.table->get(word);
    if (node == nullptr) return place;
    place.header.push_back(word);
    ++place.used;
    if (toml::array* array = node->as_array()) {
      const bool has_selector = place.used + 1 < words.size();
      toml::table* table = has_selector ? select(*array, words[place.used]) : nullptr;
      if (table != nullptr) ++place.used;
      if (table == nullptr && array->size() == 1) table = array->front().as_table();
      if (table == nullptr) return not_selected(key, *array);
      place.table = table;
    } else if (toml::table* table = node->as_table()) {
      const bool is_named = place.used + 1 < words.size() && has_name(*table, words[place.used]);
      if (is_named) ++place.used;
      place.table = table;
    } else {
      return wrong_key(key, str("goes on after ", base::quote(word), ", which is a value"));
    }
  }
  return place;
}

// Returns where POSITION is in TEXT: toml++ counts lines and characters from 1.
size_t offset_of(std::string_view text, const toml::source_position& position) {
  size_t at = 0;
  for (toml::source_index line = 1; line < position.line && at < text.size(); ++line) {
    const size_t end = text.find('\n', at);
    at = end == text.npos ? text.size() : end + 1;
  }
  const auto is_inside = [&](size_t byte) {
    return byte < text.size() && (static_cast<unsigned char>(text[byte]) & 0xc0U) == 0x80U;
  };
  for (toml::source_index column = 1; column < position.column && at < text.size(); ++column) do
      ++at;
    while (is_inside(at));
  return at;
}

size_t line_begin(std::string_view text, size_t at) {
  const size_t end = at == 0 ? text.npos : text.rfind('\n', at - 1);
  return end == text.npos ? 0 : end + 1;
}

size_t line_end(std::string_view text, size_t at) {
  const size_t end = text.find('\n', at);
  return end == text.npos ? text.size() : end + 1;
}

bool is_blank(std::string_view text) { return text.find_first_not_of(" \t\r\n") == text.npos; }

// Returns VALUE as TOML: as it is, if it is a value, else as a text.
Result<std::string> value_text(const std::string& key, const std::string& value) {
  if (std::any_of(value.begin(), value.end(), [](unsigned char c) { return c < ' ' || c == 127; }))
    return Error(Code::kInvalid, str("the value of ", base::quote(key), " has control characters"));
  const std::string line = str("v = ", value, '\n');
  const Result<toml::table> parsed = parse_toml(line, "VALUE");
  // What follows a value is a comment, and VALUE is none: "4 # x" is a text.
  const bool is_toml = parsed.ok() && is_blank(std::string_view(line).substr(
                                          offset_of(line, parsed.value().get("v")->source().end)));
  return is_toml ? value : to_text(toml::value<std::string>(value));
}

// Returns where the line after the header of PLACE begins; nothing if its table has no header of
// its own, as "network" has none in a text with [[network.rail]] only.
std::optional<size_t> below_header(std::string_view text, const Place& place) {
  const size_t at = offset_of(text, place.table->source().begin);
  const size_t begin = line_begin(text, at);
  const size_t end = line_end(text, at);
  const Result<toml::table> header = parse_toml(text.substr(begin, end - begin), "header");
  if (at >= text.size() || text[at] != '[' || !header.ok()) return std::nullopt;
  size_t depth = 0;
  const toml::table* table = &header.value();
  for (; !table->empty(); ++depth) {
    const toml::node& next = table->begin()->second;
    table = next.is_array() ? next.as_array()->front().as_table() : next.as_table();
    if (table == nullptr) return std::nullopt;  // an inline table
  }
  return depth == place.header.size() ? std::optional<size_t>(end) : std::nullopt;
}

// Puts LINE into the table of PLACE: below its header, or below a new one at the end.
std::string with_line(std::string text, const Place& place, const std::string& line,
                      const std::vector<std::string>& words) {
  if (!text.empty() && text.back() != '\n') text += '\n';
  const bool is_whole = place.used + 1 == words.size();
  const std::optional<size_t> at = is_whole ? below_header(text, place) : std::nullopt;
  if (at) return text.insert(*at, line);
  std::vector<std::string> header;
  for (const std::string& word : place.header) header.push_back(in_toml(word));
  for (size_t i = place.used; i + 1 < words.size(); ++i) header.push_back(in_toml(words[i]));
  return text + str(text.empty() ? "" : "\n", '[', base::join(header, "."), "]\n", line);
}

// Returns NEW_TEXT, if it is EXPECTED.
Result<std::string> checked(std::string text, const toml::table& expected, const std::string& file,
                            const std::string& key) {
  const Result<toml::table> parsed = parse_toml(text, file);
  if (!parsed.ok() || parsed.value() != expected) return by_hand(file, key);
  return text;
}

// Returns the table that PLACE and WORDS mean, which is made if it is not there.
toml::table& table_of(const Place& place, const std::vector<std::string>& words) {
  toml::table* table = place.table;
  for (size_t i = place.used; i + 1 < words.size(); ++i)
    table = table->insert(words[i], toml::table()).first->second.as_table();
  return *table;
}

Error not_set(const std::string& file, const std::string& key) {
  return {Code::kNotFound, str(file, " does not set ", base::quote(key),
                               "; ipu-container-toolkit(5) has the default")};
}

}  // namespace

Result<std::string> value_in(std::string_view text, const std::string& file,
                             const std::string& key) {
  const std::vector<std::string> words = TRY(words_of(key));
  toml::table root = TRY(parse_toml(text, file));
  const Place place = TRY(find_place(root, key, words));
  const toml::node* node =
      place.used + 1 == words.size() ? place.table->get(words.back()) : nullptr;
  if (node == nullptr) return not_set(file, key);
  return to_text(*node);
}

Result<std::string> with_value(std::string_view text, const std::string& file,
                               const std::string& key, const std::string& value) {
  const std::vector<std::string> words = TRY(words_of(key));
  const std::string written = TRY(value_text(key, value));
  toml::table root = TRY(parse_toml(text, file));
  const Place place = TRY(find_place(root, key, words));
  toml::node* node = place.used + 1 == words.size() ? place.table->get(words.back()) : nullptr;
  std::string changed(text);
  if (node == nullptr) {
    changed = with_line(std::move(changed), place, str(in_toml(words.back()), " = ", written, '\n'),
                        words);
  } else if (node->is_table() || node->is_array_of_tables()) {
    return by_hand(file, key);
  } else {
    const size_t begin = offset_of(text, node->source().begin);
    changed.replace(begin, offset_of(text, node->source().end) - begin, written);
  }
  const toml::table parsed = TRY(parse_toml("v = " + written, "VALUE"));
  table_of(place, words).insert_or_assign(words.back(), *parsed.get("v"));
  return checked(std::move(changed), root, file, key);
}

Result<std::string> without_key(std::string_view text, const std::string& file,
                                const std::string& key) {
  const std::vector<std::string> words = TRY(words_of(key));
  toml::table root = TRY(parse_toml(text, file));
  const Place place = TRY(find_place(root, key, words));
  if (place.used + 1 < words.size()) return not_set(file, key);
  const auto found = place.table->find(words.back());
  if (found == place.table->end()) return not_set(file, key);
  const size_t begin = offset_of(text, found->first.source().begin);
  const size_t end = offset_of(text, found->second.source().end);
  const size_t first = line_begin(text, begin);
  const size_t next = line_end(text, end);
  const std::string_view after = text.substr(end, next - end);
  const bool is_alone = is_blank(text.substr(first, begin - first)) &&
                        (is_blank(after) || after[after.find_first_not_of(" \t")] == '#');
  if (!is_alone) return by_hand(file, key);
  std::string changed(text);
  changed.erase(first, next - first);
  place.table->erase(words.back());
  return checked(std::move(changed), root, file, key);
}

}  // namespace hook::config
