// SPDX-License-Identifier: Apache-2.0
// Drawings have no view box: their widths are in percent and their heights in pixels, so text stays
// as large as it is, however wide the page.
#include "cmd/ipuctl/page/charts.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "base/names.h"
#include "base/text.h"
#include "cmd/ipuctl/page/html.h"

namespace ipuctl::page {
namespace {

using namespace base::names;

// Pixels: the drawing has some above and below for text.
constexpr double kTop = 14;
constexpr double kHeight = 160;
constexpr double kBottom = 26;
constexpr double kWholeHeight = kTop + kHeight + kBottom;
constexpr size_t kMostLabels = 5;
constexpr size_t kMonthAt = 5;  // in "2026-11-26"

struct Tick {
  double part;  // of the height, from below
  std::string label;
};

// Returns the place of PART of the height, in pixels from above.
std::string at_height(double part) {
  return number(kTop + kHeight * (1.0 - std::clamp(part, 0.0, 1.0)), 1);
}

std::string tall(double part) { return number(kHeight * std::clamp(part, 0.0, 1.0), 1); }

// The days from left to right.
struct Axis {
  size_t days;
  [[nodiscard]] double middle(size_t day) const {
    return (static_cast<double>(day) + 0.5) / static_cast<double>(days);
  }
  // Returns the left end of a bar that takes PART of its day.
  [[nodiscard]] double left(size_t day, double part) const {
    return middle(day) - width(part) / 2.0;
  }
  [[nodiscard]] double width(double part) const { return part / static_cast<double>(days); }
};

std::string bar(const Axis& axis, size_t day, double part_of_day, double height,
                std::string_view style) {
  return str("<rect class=\"", style, "\" x=\"", coordinate(axis.left(day, part_of_day)),
             "\" width=\"", coordinate(axis.width(part_of_day)), "\" y=\"", at_height(height),
             "\" height=\"", tall(height), "\"/>");
}

std::string day_labels(const std::vector<Day>& days) {
  const Axis axis{days.size()};
  const size_t step = (days.size() + kMostLabels - 1) / kMostLabels;
  std::string svg;
  // The newest day has a label.
  for (size_t day = days.size() - 1;; day -= step) {
    svg += str("<text class=\"x\" x=\"", coordinate(axis.middle(day)), "\" y=\"",
               number(kTop + kHeight + 18, 0), "\">", text(days[day].date.substr(kMonthAt)),
               "</text>");
    if (day < step) return svg;
  }
}

// A drawing of BODY over lines at TICKS, with what it says in words.
std::string drawing(const std::vector<Day>& days, const std::vector<Tick>& ticks,
                    std::string_view words, const std::string& body) {
  const std::string height = number(kWholeHeight, 0);
  std::string labels;
  std::string lines;
  for (const Tick& tick : ticks) {
    const std::string y = at_height(tick.part);
    labels += str("<text class=\"y\" x=\"52\" y=\"", y, "\" dy=\"4\">", tick.label, "</text>");
    lines += str("<line class=\"grid\" x1=\"0\" x2=\"100%\" y1=\"", y, "\" y2=\"", y, "\"/>");
  }
  return str("<div class=\"plot\"><svg class=\"axis\" width=\"56\" height=\"", height,
             "\" aria-hidden=\"true\">", labels, "</svg><svg class=\"chart\" height=\"", height,
             "\" role=\"img\" aria-label=\"", words, "\">", lines, body, day_labels(days),
             "</svg></div>\n");
}

std::string key_item(std::string_view style, std::string_view words) {
  return str("<li><svg width=\"18\" height=\"14\" aria-hidden=\"true\"><rect class=\"", style,
             "\" x=\"1\" y=\"1\" width=\"16\" height=\"12\"/></svg> ", words, "</li>");
}

constexpr std::string_view kNoDays =
    "<p class=\"none\">Nothing was recorded yet: this fills with the first containers.</p>\n";

bool is_drawn(const std::vector<Day>& days) {
  return std::any_of(days.begin(), days.end(), [](const Day& day) { return day.is_known; });
}

// ---- waits: their logarithm is drawn, for a start that finds IPUs and one that waits a day differ
// by five powers of ten

constexpr double kLeastLog = 2;  // 0.1 s
constexpr double kMostLog = 8;   // 27.8 h

double log_part(int64_t time_ms) {
  const double log = time_ms <= 0 ? 0.0 : std::log10(static_cast<double>(time_ms));
  return std::clamp((log - kLeastLog) / (kMostLog - kLeastLog), 0.0, 1.0);
}

std::string wait_marks(const std::vector<Day>& days) {
  const Axis axis{days.size()};
  std::string svg;
  for (size_t i = 0; i < days.size(); ++i) {
    if (days[i].starts == 0) continue;
    const std::string x = coordinate(axis.middle(i));
    const std::string longest = at_height(log_part(days[i].longest_wait_ms));
    const std::string median = at_height(log_part(days[i].median_wait_ms));
    svg += str("<line class=\"span\" x1=\"", x, "\" x2=\"", x, "\" y1=\"", longest, "\" y2=\"",
               median, "\"/><rect class=\"longest\" x=\"", x, "\" y=\"", longest,
               "\" width=\"10\" height=\"3\" transform=\"translate(-5 -1)\"/><circle "
               "class=\"median\" cx=\"",
               x, "\" cy=\"", median, "\" r=\"4\"/>");
  }
  return svg;
}

// ---- room

// Returns the least of 1, 2, 4, 8 and so on that is not less than what POOL had free.
double top_of(const std::vector<Day>& days, const std::string& pool) {
  double most = 1;
  for (const Day& day : days) {
    const auto room = day.rooms.find(pool);
    while (room != day.rooms.end() && most < room->second.free && most < 1e9) most *= 2;
  }
  return most;
}

std::string room_html(const std::vector<Day>& days, const std::string& pool, size_t number_of) {
  const Axis axis{days.size()};
  const double top = top_of(days, pool);
  std::string bars;
  Table table{str("room-", number_of),
              str("Free IPUs of pool ", name(pool), " by day, UTC"),
              {{"Day"},
               {"Mean free", true},
               {"Mean largest request that fits", true},
               {"Part of the free IPUs in it", true}}};
  for (size_t i = 0; i < days.size(); ++i) {
    const auto found = days[i].rooms.find(pool);
    if (found == days[i].rooms.end()) continue;
    const Room& room = found->second;
    bars +=
        bar(axis, i, 0.7, room.free / top, "space") + bar(axis, i, 0.44, room.largest / top, "fit");
    table.rows.push_back({text(days[i].date), number(room.free, 1), number(room.largest, 1),
                          room.free > 0 ? percent(room.largest / room.free) : std::string("-")});
  }
  const std::vector<Tick> ticks = {
      {0, "0"}, {0.5, number(top / 2, top < 2 ? 1 : 0)}, {1, number(top, 0)}};
  return str("<h3>Pool ", name(pool), "</h3>\n",
             drawing(days, ticks,
                     str("Mean free IPUs, and mean largest request that fits, of pool ", text(pool),
                         " by day. The table below has the figures."),
                     bars),
             folded(table, str("Table: room in pool ", name(pool))));
}

}  // namespace

std::string utilisation_html(const std::vector<Day>& days) {
  if (!is_drawn(days)) return std::string(kNoDays);
  const Axis axis{days.size()};
  std::string bars;
  Table table{"use-days",
              "Part of all IPUs that was held, by day, UTC",
              {{"Day"}, {"Held", true}, {"Busy, where measured", true}}};
  for (size_t i = 0; i < days.size(); ++i) {
    const Day& day = days[i];
    table.rows.push_back({text(day.date),
                          day.is_known ? percent_or(day.used, "not known") : "no record",
                          percent_or(day.busy, "not measured")});
    if (day.is_known && day.used) bars += bar(axis, i, 0.7, *day.used, "bar");
    if (day.busy)
      bars += str("<rect class=\"busy\" x=\"", coordinate(axis.left(i, 0.9)), "\" width=\"",
                  coordinate(axis.width(0.9)), "\" y=\"", at_height(*day.busy),
                  "\" height=\"4\" transform=\"translate(0 -2)\"/>");
  }
  // Over the bars, so that they do not hide it.
  bars += str("<rect class=\"band\" x=\"0\" width=\"100%\" y=\"", at_height(kBaselineTo),
              "\" height=\"", tall(kBaselineTo - kBaselineFrom), "\"/>");
  const std::vector<Tick> ticks = {{0, "0 %"}, {0.5, "50 %"}, {1, "100 %"}};
  return str(drawing(days, ticks,
                     "Part of all IPUs that was held, by day, over a band from 25 to 30 percent. "
                     "The table below has the figures.",
                     bars),
             "<ul class=\"key\">", key_item("bar", "held by containers"),
             key_item("busy", "busy, of the measured time"),
             key_item("band", "25 to 30 %: sites that do not share"), "</ul>\n",
             folded(table, "Table: utilisation by day"));
}

std::string waits_html(const std::vector<Day>& days) {
  if (!is_drawn(days)) return std::string(kNoDays);
  Table table{"wait-days",
              "How long starts waited for IPUs, by the day on which they got them, UTC",
              {{"Day"},
               {"Starts", true},
               {"Median wait", true},
               {"Longest wait", true},
               {"Refused", true}}};
  for (const Day& day : days) {
    const bool has_waits = day.starts > 0;
    table.rows.push_back({text(day.date), day.is_known ? str(day.starts) : "no record",
                          has_waits ? time_text(day.median_wait_ms) : "-",
                          has_waits ? time_text(day.longest_wait_ms) : "-",
                          day.is_known ? str(day.refused) : "no record"});
  }
  const std::vector<Tick> ticks = {{log_part(100), "0.1 s"},      {log_part(1'000), "1 s"},
                                   {log_part(10'000), "10 s"},    {log_part(60'000), "1 min"},
                                   {log_part(600'000), "10 min"}, {log_part(3'600'000), "1 h"},
                                   {log_part(36'000'000), "10 h"}};
  return str(drawing(days, ticks,
                     "Median and longest wait of starts by day, on a logarithmic scale. The table "
                     "below has the figures.",
                     wait_marks(days)),
             "<ul class=\"key\">",
             "<li><svg width=\"18\" height=\"14\" aria-hidden=\"true\"><circle class=\"median\" "
             "cx=\"9\" cy=\"7\" r=\"4\"/></svg> median</li>"
             "<li><svg width=\"18\" height=\"14\" aria-hidden=\"true\"><rect class=\"longest\" "
             "x=\"4\" y=\"5\" width=\"10\" height=\"3\"/></svg> longest</li></ul>\n",
             folded(table, "Table: waiting by day"));
}

std::string rooms_html(const std::vector<Day>& days) {
  std::set<std::string> pools;
  for (const Day& day : days)
    for (const auto& [pool, room] : day.rooms) pools.insert(pool);
  if (pools.empty())
    return "<p class=\"none\">Nobody looked at the pools yet: 'ipuctl gc' does, by its "
           "timer.</p>\n";
  std::string html = str("<ul class=\"key\">", key_item("space", "free IPUs, mean of the day"),
                         key_item("fit", "the largest request that would have fitted"), "</ul>\n");
  size_t number_of = 0;
  for (const std::string& pool : pools) html += room_html(days, pool, number_of++);
  return html;
}

std::string refusals_html(const std::vector<Refusal>& refusals, const std::string& by) {
  std::map<std::string, int64_t> causes;
  int64_t most = 0;
  for (const Refusal& refusal : refusals)
    most = std::max(most, causes[refusal.cause] += refusal.count);
  std::vector<std::pair<int64_t, std::string>> order;
  for (const auto& [cause, count] : causes) order.emplace_back(-count, cause);
  std::sort(order.begin(), order.end());
  const auto cause_cell = [](const std::string& cause) {
    return cause.empty() ? std::string("other causes") : name(cause);
  };
  Table table{"causes",
              "Refused starts by cause",
              {{"Cause"}, {"Starts", true}, {"Part of the most frequent"}}};
  table.none = "No start was refused.";
  for (const auto& [minus, cause] : order) {
    const double part = most == 0 ? 0.0 : static_cast<double>(-minus) / static_cast<double>(most);
    table.rows.push_back(
        {cause_cell(cause), str(-minus),
         str("<svg class=\"strip\" width=\"100%\" height=\"12\" aria-hidden=\"true\"><rect "
             "class=\"bar\" width=\"",
             coordinate(part), "\" height=\"12\"/></svg><span class=\"unseen\">", percent(part),
             "</span>")});
  }
  const std::string of = text(by);
  const std::string caption = str("Refused starts by ", of, " and cause");
  Table all{"refusals", caption, {{"Name"}, {"Cause"}, {"Starts", true}}};
  for (const Refusal& refusal : refusals)
    all.rows.push_back({name(refusal.name), cause_cell(refusal.cause), str(refusal.count)});
  if (all.rows.empty()) return to_html(table);
  return to_html(table) + folded(all, str("Table: refusals by ", of));
}

}  // namespace ipuctl::page
