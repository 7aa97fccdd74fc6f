// SPDX-License-Identifier: Apache-2.0
#include "cmd/ipuctl/formats/formats.h"

#include <algorithm>
#include <cstdio>

#include "base/names.h"
#include "base/text.h"

namespace ipuctl::formats {
namespace {

using namespace base::names;
using base::Json;

// ---- CSV, as RFC 4180 has it, with lines that end as those of text files do

bool is_formula(const std::string& text) {
  return !text.empty() && std::string_view("=+-@\t\r").find(text.front()) != std::string_view::npos;
}

std::string csv_cell(const Json& value) {
  if (value.is_null()) return "";
  const std::string text = value.is_string() ? value.get<std::string>() : base::to_text(value);
  const bool is_plain = text.find_first_of(",\"\n\r") == std::string::npos;
  return is_plain && !(value.is_string() && is_formula(text)) ? text : csv_quoted(text);
}

// ---- YAML: blocks of plain keys, and each text in double quotes, so that no text is taken for
// anything else

unsigned hex_of(std::string_view text) {
  unsigned value = 0;
  (void)std::from_chars(text.data(), text.data() + text.size(), value, 16);
  return value;
}

// YAML has "\UHHHHHHHH" where JSON has a pair of surrogates.
std::string without_surrogates(const std::string& json) {
  std::string text;
  for (size_t i = 0; i < json.size();) {
    const bool is_escape = json[i] == '\\' && i + 1 < json.size();
    const unsigned high = is_escape && json[i + 1] == 'u' && i + 12 <= json.size()
                              ? hex_of(json.substr(i + 2, 4))
                              : 0;
    if (high >= 0xd800 && high < 0xdc00) {
      const unsigned low = hex_of(json.substr(i + 8, 4));
      char escape[16];
      (void)std::snprintf(escape, sizeof escape, "\\U%08x",
                          0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00));
      text += escape;
      i += 12;
      continue;
    }
    const size_t length = is_escape ? 2 : 1;
    text += json.substr(i, length);
    i += length;
  }
  return text;
}

void add_yaml(const Json& value, size_t indent, std::string& text);

// Adds what stands behind "KEY:" or "-".
void add_yaml_value(const Json& value, size_t indent, bool in_list, std::string& text) {
  if (!value.is_structured() || value.empty()) {
    text += str(' ', without_surrogates(base::to_text(value)), '\n');
    return;
  }
  if (!in_list) text += '\n';
  std::string block;
  add_yaml(value, indent, block);
  // The first line of a block in a list stands behind its dash.
  text += in_list ? str(' ', block.substr(indent)) : block;
}

void add_yaml(const Json& value, size_t indent, std::string& text) {
  const std::string start(indent, ' ');
  if (value.is_object()) {
    for (const auto& [key, member] : value.items()) {
      const bool is_plain = std::all_of(key.begin(), key.end(), [](char c) {
        return ('a' <= c && c <= 'z') || ('0' <= c && c <= '9') || c == '_';
      });
      text += str(start, is_plain && key.size() > 1 ? key : without_surrogates(base::to_text(key)),
                  ':');
      add_yaml_value(member, indent + 2, false, text);
    }
    return;
  }
  for (const Json& member : value) {
    text += str(start, '-');
    add_yaml_value(member, indent + 2, true, text);
  }
}

}  // namespace

std::string csv_quoted(const std::string& text) {
  std::string cell = is_formula(text) ? "\"'" : "\"";
  for (const char c : text) cell += c == '"' ? std::string("\"\"") : std::string(1, c);
  return cell + '"';
}

std::string csv_text(const base::Json& list) {
  std::vector<std::string> columns;
  for (const base::Json& one : list) {
    for (const auto& [key, value] : one.items())
      if (std::find(columns.begin(), columns.end(), key) == columns.end()) columns.push_back(key);
  }
  std::string text = columns.empty() ? "" : base::join(columns, ",") + '\n';
  for (const base::Json& one : list) {
    std::vector<std::string> cells;
    for (const std::string& column : columns)
      cells.push_back(one.contains(column) ? csv_cell(one[column]) : "");
    text += base::join(cells, ",") + '\n';
  }
  return text;
}

std::string yaml_text(const base::Json& value) {
  if (!value.is_structured() || value.empty()) return base::to_text(value) + '\n';
  std::string text;
  add_yaml(value, 0, text);
  return text;
}

}  // namespace ipuctl::formats
