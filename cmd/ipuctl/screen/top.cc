// SPDX-License-Identifier: Apache-2.0
#include "cmd/ipuctl/screen/top.h"

#include <algorithm>
#include <tuple>

#include "base/clock.h"
#include "base/text.h"

namespace ipuctl::screen {
namespace {

using base::str;

constexpr size_t kWide = 110;  // columns from which on the further ones have room
constexpr size_t kGap = 2;     // between two columns

// Colours of a terminal; none of their bytes comes from what is shown.
constexpr const char* kHeading = "\033[7m";
constexpr const char* kGood = "\033[32m";
constexpr const char* kWarning = "\033[33m";
constexpr const char* kBad = "\033[31m";
constexpr const char* kPlain = "\033[0m";

struct Cell {
  std::string text;
  const char* colour = "";
};

struct Column {
  const char* heading;
  size_t least;   // columns of the terminal
  bool is_right;  // numbers
};

std::string in_colour(const std::string& text, const char* colour, const TopLook& look) {
  return look.colour && *colour != '\0' ? str(colour, text, kPlain) : text;
}

std::string age_text(int64_t ms) {
  const int64_t seconds = std::max<int64_t>(0, ms / 1000);
  if (seconds < 120) return str(seconds, "s");
  if (seconds < 7200) return str(seconds / 60, "m");
  if (seconds < 172'800) return str(seconds / 3600, "h");
  return str(seconds / 86'400, "d");
}

std::string percent(uint64_t part, uint64_t whole) {
  return whole == 0 ? "-" : str(part * 100 / whole, "%");
}

// Returns the widths of COLUMNS, each as wide as its widest cell, cut so that all have room: of two
// columns the wider one is cut first, and none below its least.
std::vector<size_t> widths_of(const std::vector<Column>& columns,
                              const std::vector<std::vector<Cell>>& rows, size_t room) {
  std::vector<size_t> widths;
  size_t sum = columns.empty() ? 0 : kGap * (columns.size() - 1);
  for (size_t i = 0; i < columns.size(); ++i) {
    size_t width = std::max(columns[i].least, std::string_view(columns[i].heading).size());
    for (const std::vector<Cell>& row : rows) {
      // In columns, not bytes.
      const std::string fitted = fit(row[i].text, room);
      width = std::max(
          width, static_cast<size_t>(std::count_if(fitted.begin(), fitted.end(),
                                                   [](char c) { return (c & '\xc0') != '\x80'; })));
    }
    widths.push_back(width);
    sum += width;
  }
  for (; sum > room; --sum) {
    size_t widest = columns.size();
    for (size_t i = 0; i < columns.size(); ++i) {
      const bool may_shrink = widths[i] > columns[i].least;
      if (may_shrink && (widest == columns.size() || widths[i] > widths[widest])) widest = i;
    }
    if (widest == columns.size()) break;
    --widths[widest];
  }
  return widths;
}

// Returns one line of at most the terminal's width, whose escapes are ours.
std::string line_of(const std::vector<Column>& columns, const std::vector<size_t>& widths,
                    const std::vector<Cell>& row, const TopLook& look) {
  std::string line;
  size_t left = look.size.columns;
  for (size_t i = 0; i < row.size() && left > 0; ++i) {
    if (i > 0) {
      line += std::string(std::min(kGap, left), ' ');
      left -= std::min(kGap, left);
    }
    const size_t width = std::min(widths[i], left);
    std::string cell = columns[i].is_right ? fit(row[i].text, width) : padded(row[i].text, width);
    if (cell.size() < width) cell = std::string(width - cell.size(), ' ') + cell;
    line += in_colour(cell, row[i].colour, look);
    left -= width;
  }
  return line + '\n';
}

std::string heading_of(const std::vector<Column>& columns, const std::vector<size_t>& widths,
                       const TopLook& look) {
  std::vector<Cell> row;
  for (const Column& column : columns) row.push_back({column.heading});
  TopLook plain = look;
  plain.colour = false;
  std::string line = line_of(columns, widths, row, plain);
  line.pop_back();
  return in_colour(padded(line, look.size.columns), kHeading, look) + '\n';
}

// "[#####-----]"
std::string bar(uint32_t used, uint32_t ipus, size_t width) {
  if (ipus == 0 || width < 3) return "";
  const size_t full = std::min<size_t>((width - 2) * used / ipus, width - 2);
  return str('[', std::string(full, '#'), std::string(width - 2 - full, '-'), ']');
}

std::string pools_table(const TopFacts& facts, const TopLook& look) {
  const bool is_wide = look.size.columns >= kWide;
  const size_t bar_width = is_wide ? 34 : 18;
  const std::vector<Column> columns = {
      {"POOL", 4, false},   {"USED", 9, true},    {"USE", bar_width, false}, {"", 4, true},
      {"LARGEST", 7, true}, {"TAINTED", 7, true}, {"BUSY", 4, true}};
  std::vector<std::vector<Cell>> rows;
  for (const TopPool& pool : facts.pools) {
    const std::string busy = pool.busy ? str(*pool.busy, "%") : "-";
    if (!pool.answers) {
      rows.push_back({{pool.name}, {"?"}, {"does not answer", kBad}, {"?"}, {"?"}, {"?"}, {busy}});
      continue;
    }
    const char* const colour = pool.largest_free == 0 ? kBad : pool.used > 0 ? kGood : "";
    rows.push_back({{pool.name},
                    {str(pool.used, '/', pool.ipus)},
                    {bar(pool.used, pool.ipus, bar_width), colour},
                    {percent(pool.used, pool.ipus)},
                    {str(pool.largest_free)},
                    {str(pool.tainted), pool.tainted > 0 ? kWarning : ""},
                    {busy}});
  }
  const std::vector<size_t> widths = widths_of(columns, rows, look.size.columns);
  std::string text = heading_of(columns, widths, look);
  for (const std::vector<Cell>& row : rows) text += line_of(columns, widths, row, look);
  return text;
}

// Older ones, larger ones, and names from "a" on stand first.
bool is_before(const TopEntry& a, const TopEntry& b, Sort sort) {
  const auto by = [&](const auto& first, const auto& second) {
    return std::tie(first, a.since_ms, a.container) < std::tie(second, b.since_ms, b.container);
  };
  switch (sort) {
    case Sort::kIpus:
      return by(b.ipus, a.ipus);
    case Sort::kName:
      return by(a.name, b.name);
    case Sort::kTenant:
      return by(a.tenant, b.tenant);
    case Sort::kPool:
      return by(a.pool, b.pool);
    case Sort::kState:
      return by(a.state, b.state);
    case Sort::kAge:
      break;
  }
  return by(a.since_ms, b.since_ms);
}

const char* colour_of(const std::string& state) {
  if (state == "RUNNING") return kGood;
  return state == "RELEASING" ? kBad : kWarning;
}

std::string entries_table(const TopFacts& facts, const TopLook& look, size_t room) {
  const bool is_wide = look.size.columns >= kWide;
  std::vector<Column> columns = {{"CONTAINER", 12, false}, {"NAME", 6, false}, {"TENANT", 6, false},
                                 {"POOL", 5, false},       {"IPUS", 4, true},  {"STATE", 9, false},
                                 {"AGE", 4, true}};
  if (is_wide)
    columns.insert(columns.end(),
                   {{"LEASE", 12, false}, {"PARTITION", 10, false}, {"ADDRESS", 12, false}});
  std::vector<TopEntry> entries = facts.entries;
  std::sort(entries.begin(), entries.end(), [&](const TopEntry& a, const TopEntry& b) {
    return look.reversed ? is_before(b, a, look.sort) : is_before(a, b, look.sort);
  });
  const size_t shown = entries.size() + 1 <= room ? entries.size() : room < 2 ? 0 : room - 2;
  const auto or_dash = [](const std::string& text) { return text.empty() ? "-" : text; };
  std::vector<std::vector<Cell>> rows;
  for (size_t i = 0; i < shown; ++i) {
    const TopEntry& one = entries[i];
    rows.push_back({{base::short_id(one.container)},
                    {or_dash(one.name)},
                    {or_dash(one.tenant)},
                    {one.pool},
                    {one.ipus == 0 ? "-" : str(one.ipus)},
                    {one.state, colour_of(one.state)},
                    {age_text(facts.now_ms - one.since_ms)}});
    if (is_wide)
      rows.back().insert(
          rows.back().end(),
          {{or_dash(base::short_id(one.lease))}, {or_dash(one.partition)}, {or_dash(one.address)}});
  }
  const std::vector<size_t> widths = widths_of(columns, rows, look.size.columns);
  std::string text = heading_of(columns, widths, look);
  for (const std::vector<Cell>& row : rows) text += line_of(columns, widths, row, look);
  if (shown < entries.size() && room > 1)
    text += fit(str("... and ", entries.size() - shown, " more"), look.size.columns) + '\n';
  return text;
}

std::string summary(const TopFacts& facts) {
  uint64_t used = 0;
  uint64_t ipus = 0;
  for (const TopPool& pool : facts.pools) {
    used += pool.used;
    ipus += pool.ipus;
  }
  const auto waiting = static_cast<size_t>(
      std::count_if(facts.entries.begin(), facts.entries.end(),
                    [](const TopEntry& one) { return one.state.starts_with("WAITING"); }));
  const std::string time = base::rfc3339(facts.now_ms).substr(11, 8);
  return str("ipuctl top  ", time, "Z  ", used, " of ", ipus, " IPUs used (", percent(used, ipus),
             "), ", facts.entries.size() - waiting, " have some, ", waiting,
             waiting == 1 ? " waits" : " wait");
}

std::string first_lines(const std::string& text, size_t count) {
  size_t end = 0;
  for (; count > 0 && end < text.size(); --count) end = text.find('\n', end) + 1;
  return text.substr(0, end);
}

const char* word_of(Sort sort) {
  switch (sort) {
    case Sort::kIpus:
      return "IPUs";
    case Sort::kName:
      return "name";
    case Sort::kTenant:
      return "tenant";
    case Sort::kPool:
      return "pool";
    case Sort::kState:
      return "state";
    case Sort::kAge:
      break;
  }
  return "age";
}

std::string keys_text(const TopLook& look) {
  return str("by ", word_of(look.sort), look.reversed ? ", reversed" : "",
             "; keys: a age, i IPUs, n name, t tenant, p pool, s state, r reverse, q quit");
}

}  // namespace

std::optional<Sort> sort_of(char key) {
  switch (key) {
    case 'a':
      return Sort::kAge;
    case 'i':
      return Sort::kIpus;
    case 'n':
      return Sort::kName;
    case 't':
      return Sort::kTenant;
    case 'p':
      return Sort::kPool;
    case 's':
      return Sort::kState;
    default:
      return std::nullopt;
  }
}

std::string top_page(const TopFacts& facts, const TopLook& look) {
  const size_t columns = look.size.columns;
  std::string text = fit(summary(facts), columns) + '\n';
  text += fit(keys_text(look), columns) + "\n\n" + pools_table(facts, look);
  for (const std::string& trouble : facts.troubles)
    text += in_colour(fit(trouble, columns), kBad, look) + '\n';
  text += '\n';
  const auto used = static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
  if (used >= look.size.rows) return first_lines(text, look.size.rows);
  return text + entries_table(facts, look, look.size.rows - used);
}

}  // namespace ipuctl::screen
