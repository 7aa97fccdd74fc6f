// SPDX-License-Identifier: Apache-2.0
#include "cmd/ipuctl/page/page.h"

#include "base/names.h"
#include "base/text.h"
#include "cmd/ipuctl/page/assets.h"
#include "cmd/ipuctl/page/charts.h"
#include "cmd/ipuctl/page/html.h"
#include "cmd/ipuctl/page/map.h"

namespace ipuctl::page {
namespace {

using namespace base::names;

// A table with more rows than this has a field that looks for text in it.
constexpr size_t kManyRows = 12;
constexpr size_t kShortId = 12;

struct Section {
  const char* id;
  const char* title;
  std::string html;
  const char* more = "";  // what the title alone does not say
  const char* style = "";
};

std::string time_html(const std::string& time) {
  // Without the milliseconds, which tell nobody anything.
  const size_t dot = time.find('.');
  const std::string shown = dot == std::string::npos ? time : time.substr(0, dot) + "Z";
  return time.empty() ? "-" : str("<time datetime=\"", text(time), "\">", text(shown), "</time>");
}

std::string searched(const Table& table) {
  if (table.rows.size() <= kManyRows) return to_html(table);
  return str("<p class=\"filter\" hidden><label for=\"", table.id,
             "-filter\">Show only rows with</label> <input type=\"search\" id=\"", table.id,
             "-filter\" data-filter=\"", table.id,
             "\" autocomplete=\"off\" spellcheck=\"false\"> <output for=\"", table.id, "-filter\">",
             table.rows.size(), " of ", table.rows.size(), "</output></p>\n", to_html(table));
}

std::string holdings_html(const Page& page) {
  const bool in_fleet = !page.host.empty();
  Table table{"holdings",
              "Containers and reservations that have IPUs",
              {{"Who"},
               {"Tenant"},
               {"IPUs", true},
               {"Pool"},
               {"Partition"},
               {"State"},
               {"Since, UTC"},
               {"Until, UTC"}}};
  if (in_fleet) table.columns.push_back({"Host"});
  table.none = "Nobody has IPUs.";
  for (const Holding& one : page.holdings) {
    const std::string id = one.id.substr(0, kShortId);
    std::vector<std::string> row = {
        one.id.empty() || one.who == one.id
            ? name(one.id.empty() ? one.who : id)
            : str(name(one.who), " <span class=\"id\">", name(id), "</span>"),
        name(one.tenant),
        one.ipus == 0 ? "-" : str(one.ipus),
        name(one.pool),
        name(one.partition),
        text(one.state),
        time_html(one.since),
        time_html(one.until)};
    if (in_fleet)
      row.push_back(one.host.empty() ? str(name(page.host), " (this one)") : name(one.host));
    table.rows.push_back(std::move(row));
  }
  return searched(table);
}

std::string queue_html(const Page& page) {
  Table table{"queue",
              "Requests that wait, in the order in which each pool serves them",
              {{"Place"},
               {"Who"},
               {"Tenant"},
               {"IPUs", true},
               {"For"},
               {"Why it waits"},
               {"Since, UTC"},
               {"Until, UTC"}}};
  table.none = "Nobody waits.";
  for (const Waiting& one : page.queue) {
    table.rows.push_back({str(one.position, " of ", one.length), name(one.who), name(one.tenant),
                          one.ipus == 0 ? "-" : str(one.ipus), name(one.resource),
                          one.reason.empty() ? "-" : text(one.reason), time_html(one.since),
                          time_html(one.until)});
  }
  return searched(table);
}

std::string sums_html(const Page& page) {
  Table table{"sums", str("From ", time_html(page.from), " to ", time_html(page.until)), {}};
  for (size_t i = 0; i < page.sums.headings.size(); ++i)
    table.columns.push_back({page.sums.headings[i], i > 0});
  table.none = "Nothing was recorded yet.";
  for (const std::vector<std::string>& cells : page.sums.rows) {
    std::vector<std::string> row;
    for (const std::string& cell : cells) row.push_back(name(cell == "-" ? "" : cell));
    table.rows.push_back(std::move(row));
  }
  return searched(table);
}

std::string figure(std::string_view title, const std::string& value, const std::string& more) {
  return str("<div><dt>", title, "</dt><dd><b>", value, "</b> ", more, "</dd></div>\n");
}

int64_t count_of(const Page& page, State state) {
  int64_t count = 0;
  for (const Pool& pool : page.pools)
    for (const Domain& domain : pool.domains)
      for (const Ipu& ipu : domain.ipus) count += ipu.state == state ? 1 : 0;
  return count;
}

std::string compared(const std::optional<double>& used) {
  if (!used) return "of all IPUs: their number is not known";
  const char* const how = *used > kBaselineTo     ? "above"
                          : *used < kBaselineFrom ? "below"
                                                  : "as much as";
  return str("of all IPUs, ", how, " the 25 to 30 % of sites that do not share");
}

std::string figures_html(const Page& page) {
  int64_t refused = 0;
  for (const Refusal& refusal : page.refusals) refused += refusal.count;
  size_t on_map = 0;
  for (const Pool& pool : page.pools)
    for (const Domain& domain : pool.domains) on_map += domain.ipus.size();
  const bool has_map = on_map > 0;
  std::string html = "<dl class=\"figures\">\n";
  html += figure("Held now", has_map ? str(count_of(page, State::kHeld)) : "-",
                 has_map ? str("of ", on_map, " IPUs on the map, and ",
                               count_of(page, State::kFree), " are free")
                         : std::string("no pool told what it has"));
  html += figure("Held on average", percent_or(page.used, "-"), compared(page.used));
  html += figure("Busy", percent_or(page.busy, "-"),
                 page.busy ? "of the time that a monitor measured" : "no monitor measured it");
  html += figure("Waiting now", str(page.queue.size()),
                 page.queue.size() == 1 ? "request" : "requests");
  const bool has_waits = page.starts > 0;
  html += figure("Median wait", has_waits ? time_text(page.median_wait_ms) : "-",
                 has_waits ? str("of ", counted(page.starts, "start", "starts"), ", the longest ",
                                 time_text(page.longest_wait_ms))
                           : std::string("no start got IPUs"));
  html += figure("Refused", str(refused), refused == 1 ? "start" : "starts");
  return html + "</dl>\n";
}

std::string notes_html(const Page& page) {
  std::string html;
  if (!page.drained.empty())
    html += str("<p class=\"note\">This host is drained: ", text(page.drained), "</p>\n");
  if (page.troubles.empty()) return html;
  html += "<div class=\"note\"><p>This page is not whole:</p>\n<ul>\n";
  for (const std::string& trouble : page.troubles) html += str("<li>", text(trouble), "</li>\n");
  return html + "</ul></div>\n";
}

std::string hosts_html(const Page& page) {
  std::string html = "<ul>\n";
  for (const std::string& host : page.hosts) html += str("<li>", name(host), "</li>\n");
  return html + "</ul>\n";
}

std::vector<Section> sections_of(const Page& page) {
  std::vector<Section> sections = {
      {"map", "Map of the IPUs", maps_html(page.pools), "", "wide"},
      {"now", "Who has what now", holdings_html(page), "", "wide"},
      {"waiting", "Queue", queue_html(page), "", "wide"},
      {"use", "Utilisation by day", utilisation_html(page.days),
       "By the number of IPUs that the pools have today."},
      {"waits", "Waiting by day", waits_html(page.days),
       "From the request to the IPUs, on a logarithmic scale."},
      {"room", "Fragmentation by day", rooms_html(page.days),
       "Where the inner bar is much lower than the outer one, free IPUs lie in small pieces."},
      {"refused", "Refusals by cause", refusals_html(page.refusals, page.by)},
      {"all", "Sums", sums_html(page), "What 'ipuctl report' prints.", "wide"},
  };
  if (!page.hosts.empty())
    sections.push_back({"hosts", "Hosts of the fleet", hosts_html(page),
                        "Until when each has told what it had.", "wide"});
  return sections;
}

std::string section_html(const Section& section) {
  const std::string more =
      *section.more == '\0' ? std::string() : str("<p class=\"more\">", section.more, "</p>\n");
  return str("<section id=\"", section.id, "\" class=\"", section.style, "\" aria-labelledby=\"",
             section.id, "-h\">\n<h2 id=\"", section.id, "-h\">", section.title, "</h2>\n", more,
             section.html, "</section>\n");
}

// default-src 'none' stands for all that the page could load, and the hashes name all that it runs.
std::string head_html() {
  return str(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
      "style-src '",
      kStyleHash, "'; script-src '", kScriptHash,
      "'; base-uri 'none'; form-action 'none'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"referrer\" content=\"no-referrer\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n"
      "<title>IPUs: who uses what</title>\n<style>",
      kStyle, "</style>\n</head>\n");
}

}  // namespace

std::string to_html(const Page& page) {
  const std::vector<Section> sections = sections_of(page);
  std::string links;
  std::string html;
  for (const Section& section : sections) {
    links += str("<li><a href=\"#", section.id, "\">", section.title, "</a></li>\n");
    html += section_html(section);
  }
  const std::string host = page.host.empty() ? "this host" : "this host and its fleet";
  return str(head_html(), "<body>\n<a class=\"skip\" href=\"#main\">Skip to the figures</a>\n",
             "<header>\n<h1>IPUs: who uses what</h1>\n<p>As ", host, " had it at ",
             time_html(page.until), ". What is by day is from ", time_html(page.from),
             " on.</p>\n</header>\n<nav aria-label=\"Parts of the page\">\n<ul>\n", links,
             "</ul>\n</nav>\n<main id=\"main\" tabindex=\"-1\">\n", notes_html(page),
             figures_html(page), "<div class=\"parts\">\n", html,
             "</div>\n</main>\n<footer><p>Made by <code>ipuctl report --output html</code>. This "
             "file loads nothing.</p></footer>\n<script>",
             kScript, "</script>\n</body>\n</html>\n");
}

}  // namespace ipuctl::page
