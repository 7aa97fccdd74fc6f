// SPDX-License-Identifier: Apache-2.0
#include "cmd/ipuctl/page/map.h"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "base/names.h"
#include "base/text.h"
#include "cmd/ipuctl/page/html.h"

namespace ipuctl::page {
namespace {

using namespace base::names;

constexpr size_t kIpusOfMachine = 4;
constexpr size_t kLetters = 26;

// How a state looks. An empty mark stands for the letter of the tenant.
struct Look {
  const char* name;
  const char* style;
  const char* mark;
  const char* meaning;
};
// By State.
constexpr std::array<Look, 9> kLooks = {{
    {"Free", "free", "·", "the next request may get it"},
    {"Held", "held", "", "a container has it; the letter and the colour are its tenant's"},
    {"Reserved", "reserved", "", "a reservation, whose containers have not come"},
    {"Kept", "kept", "n", "a named partition that no container has"},
    {"Warm", "warm", "w", "a partition that waits for any container"},
    {"Dirty", "dirty", "~", "it is being given back, or waits for its reset"},
    {"Other", "other", "?", "a partition that this host and its fleet do not know"},
    {"Unhealthy", "unhealthy", "!", "tainted: no partition gets it"},
    {"Drained", "drained", "d", "free, but its host takes no new containers"},
}};

const Look& look_of(State state) { return kLooks[static_cast<size_t>(state)]; }

bool has_tenant(const Ipu& ipu) {
  return ipu.state == State::kHeld || ipu.state == State::kReserved;
}

// Returns what the mark of an IPU says, in words.
std::string described(const Ipu& ipu) {
  std::string words = look_of(ipu.state).name;
  if (has_tenant(ipu))
    words += ipu.tenant.empty() ? std::string(", no tenant") : ", tenant " + ipu.tenant;
  if (!ipu.who.empty()) words += ", " + ipu.who;
  if (!ipu.partition.empty()) words += ", partition " + ipu.partition;
  if (!ipu.taint.empty()) words += ", tainted: " + ipu.taint;
  return words;
}

std::string colour_class(const Mark& mark) {
  return mark.colour < kColours ? str(" t", mark.colour) : std::string(" tx");
}

// The cell of IPU. Script makes one cell of a map the stop of the tab key; FIRST is it before.
std::string ipu_html(const Ipu& ipu, size_t number, const Marks& marks, bool first) {
  const Look& look = look_of(ipu.state);
  std::string colour;
  std::string mark = look.mark;
  if (has_tenant(ipu)) {
    const Mark& of_tenant = marks.at(ipu.tenant);
    colour = colour_class(of_tenant);
    mark = of_tenant.letter;
  }
  const bool is_marked = !ipu.taint.empty() && ipu.state != State::kUnhealthy;
  return str("<span class=\"ipu ", look.style, colour, is_marked ? " tainted" : "",
             "\" role=\"img\" tabindex=\"", first ? "0" : "-1", "\" aria-label=\"IPU ", number,
             ": ", text(described(ipu)), "\">", mark, is_marked ? "!" : "", "</span>");
}

std::string machine_html(const Domain& domain, size_t from, size_t first_number, const Marks& marks,
                         bool is_first) {
  const size_t until = std::min(from + kIpusOfMachine, domain.ipus.size());
  std::string html =
      str("<div class=\"machine\"><span class=\"label\" aria-hidden=\"true\">", first_number + from,
          until - from > 1 ? str("–", first_number + until - 1) : "", "</span>");
  for (size_t i = from; i < until; ++i)
    html += ipu_html(domain.ipus[i], first_number + i, marks, is_first && i == from);
  return html + "</div>";
}

// Rows of consecutive IPUs that are the same.
Table map_table(const Pool& pool, size_t number) {
  Table table{str("map-", number, "-table"),
              str("IPUs of pool ", name(pool.name), " in link order"),
              {{"IPUs"}, {"State"}, {"Tenant"}, {"Partition"}, {"Who"}, {"Tainted"}}};
  size_t first_number = 0;
  for (const Domain& domain : pool.domains) {
    for (size_t i = 0, next = 0; i < domain.ipus.size(); i = next) {
      const Ipu& ipu = domain.ipus[i];
      for (next = i; next < domain.ipus.size() && domain.ipus[next] == ipu;) ++next;
      const size_t from = first_number + i;
      const size_t to = first_number + next - 1;
      table.rows.push_back({from == to ? str(from) : str(from, "–", to), look_of(ipu.state).name,
                            name(ipu.tenant), name(ipu.partition), name(ipu.who), name(ipu.taint)});
    }
    first_number += domain.ipus.size();
  }
  return table;
}

std::string pool_html(const Pool& pool, size_t number, const Marks& marks) {
  size_t all = 0;
  size_t free = 0;
  for (const Domain& domain : pool.domains) {
    all += domain.ipus.size();
    free += static_cast<size_t>(
        std::count_if(domain.ipus.begin(), domain.ipus.end(),
                      [](const Ipu& ipu) { return ipu.state == State::kFree; }));
  }
  std::string html =
      str("<div class=\"pool\">\n<h3 id=\"pool-", number, "\">Pool ", name(pool.name), "</h3>\n");
  if (!pool.trouble.empty())
    return str(html, "<p class=\"trouble\">There is no map of this pool: ", text(pool.trouble),
               "</p>\n</div>\n");
  html += str("<p>", counted(static_cast<int64_t>(all), "IPU", "IPUs"), ", ", free,
              " free, and the largest request that fits now is for ", pool.largest_free, ".",
              pool.source.empty() ? "" : str(" Source: ", name(pool.source), "."), "</p>\n");
  html += str("<div class=\"map\" role=\"group\" aria-labelledby=\"pool-", number,
              "\" aria-describedby=\"map-help\" data-map=\"map-line-", number, "\">\n");
  size_t first_number = 0;
  for (const Domain& domain : pool.domains) {
    html +=
        str("<div class=\"domain\"><h4>", text(domain.title), "</h4>\n<div class=\"machines\">\n");
    for (size_t i = 0; i < domain.ipus.size(); i += kIpusOfMachine)
      html += machine_html(domain, i, first_number, marks, first_number + i == 0) + "\n";
    html += "</div></div>\n";
    first_number += domain.ipus.size();
  }
  // What is said here is the label of an IPU, which a screen reader says.
  html += str("</div>\n<p class=\"line\" id=\"map-line-", number, "\" aria-hidden=\"true\"></p>\n");
  return html + folded(map_table(pool, number), "Map as a table") + "</div>\n";
}

// What the marks on the maps of POOLS mean, with the number of IPUs of each.
std::string legend_html(const std::vector<Pool>& pools, const Marks& marks) {
  std::map<std::string, std::pair<int64_t, int64_t>> held;  // and reserved, by tenant
  std::array<int64_t, kLooks.size()> states{};
  for (const Pool& pool : pools) {
    for (const Domain& domain : pool.domains) {
      for (const Ipu& ipu : domain.ipus) {
        ++states[static_cast<size_t>(ipu.state)];
        if (ipu.state == State::kHeld) ++held[ipu.tenant].first;
        if (ipu.state == State::kReserved) ++held[ipu.tenant].second;
      }
    }
  }
  std::vector<std::pair<std::string, std::string>> tenants;  // by letter
  for (const auto& [tenant, mark] : marks) tenants.emplace_back(mark.letter, tenant);
  std::sort(tenants.begin(), tenants.end(), [&](const auto& a, const auto& b) {
    const bool last_a = a.first == "+";
    const bool last_b = b.first == "+";
    return std::tie(last_a, a.first, a.second) < std::tie(last_b, b.first, b.second);
  });
  std::string html =
      "<h3 id=\"legend\">What the marks mean</h3>\n<ul class=\"legend\" "
      "aria-labelledby=\"legend\">\n";
  for (size_t i = 0; i < kLooks.size(); ++i) {
    const Look& look = kLooks[i];
    const char* const mark = *look.mark == '\0' ? "A" : look.mark;
    html += str("<li><span class=\"ipu ", look.style, *look.mark == '\0' ? " t0" : "",
                "\" aria-hidden=\"true\">", mark, "</span><span class=\"text\"><b>", look.name,
                "</b> (", states[i], "): ", look.meaning, "</span></li>\n");
  }
  html += "</ul>\n";
  if (tenants.empty()) return html;
  html +=
      "<h3 id=\"tenants\">Tenants on the map</h3>\n<ul class=\"legend tenants\" "
      "aria-labelledby=\"tenants\">\n";
  for (const auto& [letter, tenant] : tenants) {
    const auto& [of_held, of_reserved] = held[tenant];
    html += str("<li><span class=\"ipu held", colour_class(marks.at(tenant)),
                "\" aria-hidden=\"true\">", letter, "</span><span class=\"text\"><b>", letter,
                "</b> ", tenant.empty() ? std::string("no tenant") : name(tenant), ": ",
                counted(of_held, "IPU", "IPUs"), " held",
                of_reserved == 0 ? "" : str(", ", of_reserved, " reserved"), "</span></li>\n");
  }
  return html + "</ul>\n";
}

}  // namespace

const char* name_of(State state) { return look_of(state).name; }

Marks marks_of(const std::vector<Pool>& pools) {
  std::map<std::string, int64_t> ipus;
  for (const Pool& pool : pools)
    for (const Domain& domain : pool.domains)
      for (const Ipu& ipu : domain.ipus)
        if (has_tenant(ipu)) ++ipus[ipu.tenant];
  std::vector<std::pair<int64_t, std::string>> order;
  for (const auto& [tenant, count] : ipus) order.emplace_back(-count, tenant);
  std::sort(order.begin(), order.end());
  Marks marks;
  for (size_t i = 0; i < order.size(); ++i) {
    const std::string letter =
        i < kLetters ? std::string(1, static_cast<char>('A' + i)) : std::string("+");
    marks[order[i].second] = {letter, std::min(i, kColours)};
  }
  return marks;
}

std::string maps_html(const std::vector<Pool>& pools) {
  const Marks marks = marks_of(pools);
  std::string html =
      "<p id=\"map-help\">Each row of four is an IPU-Machine or four cards. The arrow "
      "keys, Home and End go from IPU to IPU, and the line below the map says what "
      "it is.</p>\n";
  if (pools.empty()) return html + "<p class=\"none\">The configuration has no pool.</p>\n";
  html += legend_html(pools, marks);
  for (size_t i = 0; i < pools.size(); ++i) html += pool_html(pools[i], i, marks);
  return html;
}

}  // namespace ipuctl::page
