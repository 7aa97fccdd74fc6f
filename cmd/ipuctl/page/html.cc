// SPDX-License-Identifier: Apache-2.0
#include "cmd/ipuctl/page/html.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "base/names.h"
#include "base/text.h"
#include "cmd/ipuctl/page/page.h"

namespace ipuctl::page {
namespace {

using namespace base::names;

constexpr int64_t kSecondMs = 1000;
constexpr int64_t kMinuteMs = 60 * kSecondMs;
constexpr int64_t kHourMs = 60 * kMinuteMs;

std::string heading_cell(const Table::Column& column) {
  return str("<th scope=\"col\"", column.is_number ? " class=\"n\"" : "", ">", column.title,
             "</th>");
}

}  // namespace

std::string text(std::string_view raw) {
  std::string safe = base::one_line(raw, kMostOfText);
  if (raw.size() > kMostOfText) safe += "…";
  std::string html;
  for (const char c : safe) {
    switch (c) {
      case '&':
        html += "&amp;";
        break;
      case '<':
        html += "&lt;";
        break;
      case '>':
        html += "&gt;";
        break;
      case '"':
        html += "&quot;";
        break;
      case '\'':
        html += "&#39;";
        break;
      default:
        html += c;
    }
  }
  return html;
}

std::string name(std::string_view raw) {
  return raw.empty() ? "-" : str("<bdi>", text(raw), "</bdi>");
}

std::string number(double value, int digits) {
  std::array<char, 400> buffer{};
  (void)std::snprintf(buffer.data(), buffer.size(), "%.*f", digits,
                      std::isfinite(value) ? value : 0.0);
  return buffer.data();
}

std::string percent(double part) { return number(part * 100.0, 1) + " %"; }

std::string percent_or(const std::optional<double>& part, std::string_view none) {
  return part ? percent(*part) : std::string(none);
}

std::string coordinate(double part) {
  return number(std::isfinite(part) ? std::clamp(part * 100.0, 0.0, 100.0) : 0.0, 4) + "%";
}

std::string time_text(int64_t time_ms) {
  const auto of = [&](int64_t unit) {
    return static_cast<double>(time_ms) / static_cast<double>(unit);
  };
  if (time_ms < 10 * kSecondMs) return number(of(kSecondMs), 2) + " s";
  if (time_ms < 2 * kMinuteMs) return number(of(kSecondMs), 0) + " s";
  if (time_ms < 2 * kHourMs) return number(of(kMinuteMs), 0) + " min";
  return number(of(kHourMs), 1) + " h";
}

std::string counted(int64_t count, std::string_view one, std::string_view many) {
  return str(count, " ", count == 1 ? one : many);
}

std::string to_html(const Table& table) {
  if (table.rows.empty()) return str("<p class=\"none\">", table.none, "</p>\n");
  std::string html = str("<div class=\"box\" role=\"region\" aria-labelledby=\"", table.id,
                         "-c\" tabindex=\"0\">\n<table id=\"", table.id, "\"><caption id=\"",
                         table.id, "-c\"><span>", table.caption, "</span></caption>\n<thead><tr>");
  for (const Table::Column& column : table.columns) html += heading_cell(column);
  html += "</tr></thead>\n<tbody>\n";
  for (const std::vector<std::string>& row : table.rows) {
    html += "<tr>";
    for (size_t i = 0; i < row.size(); ++i) {
      const char* const how = table.columns[i].is_number ? " class=\"n\"" : "";
      html += i == 0 ? str("<th scope=\"row\"", how, ">", row[i], "</th>")
                     : str("<td", how, ">", row[i], "</td>");
    }
    html += "</tr>\n";
  }
  return html + "</tbody></table>\n</div>\n";
}

std::string folded(const Table& table, std::string_view summary) {
  return str("<details><summary>", summary, "</summary>\n", to_html(table), "</details>\n");
}

}  // namespace ipuctl::page
