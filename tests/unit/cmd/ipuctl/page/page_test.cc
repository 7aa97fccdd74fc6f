// SPDX-License-Identifier: Apache-2.0
#include "cmd/ipuctl/page/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <regex>
#include <set>

#include "cmd/ipuctl/page/assets.h"
#include "cmd/ipuctl/page/html.h"
#include "tests/support/sample_page.h"

namespace ipuctl::page {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

size_t count_of(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

// Returns the names of all tags, with "/" before those that end one.
std::multiset<std::string> tags_of(std::string html) {
  // The style and the script are ours, and no markup.
  for (const char* const own : {kStyle, kScript})
    html.replace(html.find(own), std::strlen(own), "");
  std::multiset<std::string> tags;
  for (size_t at = html.find('<'); at != std::string::npos; at = html.find('<', at + 1))
    tags.insert(html.substr(at + 1, html.find_first_of(" >", at) - at - 1));
  return tags;
}

Page empty_page() {
  Page page;
  page.from = "2026-11-20T00:00:00.000Z";
  page.until = "2026-11-27T00:44:05.250Z";
  return page;
}

Page page_with_name(const std::string& name) {
  Page page = empty_page();
  page.host = name;
  page.drained = name;
  page.troubles = {name};
  page.pools = {{name, name, {{name, {{State::kHeld, name, name, name, name}}}}, 1, ""},
                {name, name, {}, 0, name}};
  page.days = {{"2026-11-26", true, 0.5, 0.5, 1, 10, 10, 1, {{name, {4, 2}}}}};
  page.queue = {{1, 1, name, name, name, 4, name, name, name}};
  page.refusals = {{name, name, 3}};
  page.holdings = {{name, name, name, name, name, name, 4, name, name, name}};
  page.sums = {{"TENANT", "HELD IPU-H"}, {{name, name}}};
  page.hosts = {name};
  return page;
}

TEST(PageTest, ANameIsNeverMarkup) {
  const std::multiset<std::string> tags = tags_of(to_html(page_with_name("plain")));
  for (const std::string& name :
       {std::string(test::kScriptName), std::string(test::kQuotesName),
        std::string(test::kImageName), std::string("</style></script><!--"), std::string("&lt;b"),
        std::string("a\nb\rc\0d", 7), std::string("\xff\xfe<"), std::string("]]>"),
        std::string("x\" tabindex=\"1")}) {
    const std::string html = to_html(page_with_name(name));
    EXPECT_EQ(tags_of(html), tags) << name;
    EXPECT_EQ(count_of(html, "onmouseover='"), 0U) << name;
    EXPECT_EQ(count_of(html, "\" tabindex=\"1\""), 0U) << name;
    // An ampersand from outside never begins an entity.
    EXPECT_THAT(html, Not(HasSubstr("<bdi>&lt;b</bdi>")));
  }
}

TEST(PageTest, ANameIsShownAsItIs) {
  const std::string html = to_html(page_with_name("<b>\"R&D's\"</b>"));
  EXPECT_GE(count_of(html, "<bdi>&lt;b&gt;&quot;R&amp;D&#39;s&quot;&lt;/b&gt;</bdi>"), 12U);
}

TEST(PageTest, ANameDoesNotTurnTheTextBesideIt) {
  for (const char* const turn : {"\u202E", "\u202D", "\u2066", "\u2067", "\u200F", "\u2028"})
    EXPECT_THAT(to_html(page_with_name(std::string("a") + turn + "b")), Not(HasSubstr(turn)));
}

TEST(PageTest, ALongNameIsCutWhereACharacterEnds) {
  std::string longer;
  for (size_t i = 0; i < kMostOfText; ++i) longer += "é";
  const std::string shown = text(longer);
  EXPECT_LE(shown.size(), kMostOfText + 3);
  EXPECT_TRUE(shown.ends_with("é…")) << shown.substr(shown.size() - 8);
  EXPECT_EQ(text(std::string(200, 'W')), std::string(200, 'W'));
}

TEST(PageTest, WithoutDataThereIsAPage) {
  const std::string html = to_html(empty_page());
  EXPECT_THAT(html, HasSubstr("The configuration has no pool."));
  EXPECT_THAT(html, HasSubstr("Nobody has IPUs."));
  EXPECT_THAT(html, HasSubstr("Nobody waits."));
  EXPECT_THAT(html, HasSubstr("No start was refused."));
  EXPECT_THAT(html, HasSubstr("Nothing was recorded yet"));
  EXPECT_THAT(html, HasSubstr("their number is not known"));
  for (const char* const wrong : {"nan", "NaN", "inf%", "-nan"})
    EXPECT_THAT(html.substr(html.find("<body>")), Not(HasSubstr(std::string(">") + wrong)));
}

TEST(PageTest, DaysAndPoolsWithoutFiguresDivideByNothing) {
  Page page = empty_page();
  page.pools = {{"none", "", {}, 0, ""}, {"empty", "", {{"IPU-Link domain 0", {}}}, 0, ""}};
  page.days = {{"2026-11-25"}, {"2026-11-26", true}};
  page.days[1].rooms["p"] = {0, 0};
  page.days[1].used = std::numeric_limits<double>::quiet_NaN();
  page.days[1].busy = std::numeric_limits<double>::infinity();
  page.refusals = {{"a", "b", 0}};
  const std::string html = to_html(page);
  const std::regex coordinates(" (?:x|x1|x2|y|y1|y2|cx|cy|r|width|height)=\"([^\"]*)\"");
  for (std::sregex_iterator at(html.begin(), html.end(), coordinates), end; at != end; ++at)
    EXPECT_TRUE(std::regex_match((*at)[1].str(), std::regex("[0-9.]+%?|device-width")))
        << at->str();
  EXPECT_THAT(html, HasSubstr("<th scope=\"row\">2026-11-25</th><td class=\"n\">no record</td>"));
}

TEST(PageTest, ACoordinateIsInItsDrawing) {
  EXPECT_EQ(coordinate(0.125), "12.5000%");
  EXPECT_EQ(coordinate(-1), "0.0000%");
  EXPECT_EQ(coordinate(7.5), "100.0000%");
  for (const double odd :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    EXPECT_EQ(coordinate(odd), "0.0000%");
    EXPECT_EQ(percent(odd), "0.0 %");
  }
}

TEST(PageTest, TheSameDataIsTheSamePage) {
  EXPECT_EQ(to_html(test::sample_page(1000)), to_html(test::sample_page(1000)));
  Page later = test::sample_page(10);
  later.until = "2027-01-01T00:00:00.000Z";
  std::string html = to_html(later);
  const std::regex dates("2027-01-01T00:00:00(.000)?Z");
  html = std::regex_replace(html, dates, "2026-11-27T00:44:05$1Z");
  std::string before = to_html(test::sample_page(10));
  before = std::regex_replace(before, std::regex("05\\.250Z"), "05.000Z");
  EXPECT_EQ(std::regex_replace(html, std::regex("05\\.250Z"), "05.000Z"), before);
}

TEST(PageTest, ThePolicyAllowsItsOwnStyleAndScriptAlone) {
  const std::string html = to_html(test::sample_page(10));
  EXPECT_THAT(html, HasSubstr(std::string("default-src 'none'; style-src '") + kStyleHash +
                              "'; script-src '" + kScriptHash + "'; base-uri 'none'"));
  EXPECT_TRUE(std::regex_match(kStyleHash, std::regex("sha256-[A-Za-z0-9+/]{43}=")));
  EXPECT_THAT(html, HasSubstr(std::string("<style>") + kStyle + "</style>"));
  EXPECT_THAT(html, HasSubstr(std::string("<script>") + kScript + "</script>"));
  EXPECT_EQ(count_of(html, " style=\""), 0U);  // the policy would refuse it
  EXPECT_EQ(count_of(html, " src="), count_of(html, "&lt;img src="));
  EXPECT_EQ(count_of(html, "url("), 0U);
  EXPECT_EQ(count_of(html, "@import"), 0U);
}

TEST(PageTest, EachIdIsThereOnceAndEachReferenceHasOne) {
  const std::string html = to_html(test::sample_page(1000));
  std::set<std::string> ids;
  const std::regex id_of(" id=\"([^\"]*)\"");
  for (std::sregex_iterator at(html.begin(), html.end(), id_of), end; at != end; ++at)
    EXPECT_TRUE(ids.insert((*at)[1].str()).second) << at->str();
  const std::regex reference(
      " (?:aria-labelledby|aria-describedby|for|data-map|data-filter)=\"([^\"]*)\"|href=\"#([^\"]*)"
      "\"");
  for (std::sregex_iterator at(html.begin(), html.end(), reference), end; at != end; ++at) {
    const std::string to = (*at)[1].matched ? (*at)[1].str() : (*at)[2].str();
    EXPECT_TRUE(ids.contains(to)) << at->str();
  }
}

TEST(PageTest, AControllerThatIsAwayLeavesItsMapOutWithASentence) {
  Page page = empty_page();
  page.pools = {{"near", "", {{"IPU-Link domain 0", {{State::kFree}}}}, 1, ""},
                {"far", "", {}, 0, "its controller did not answer"}};
  const std::string html = to_html(page);
  EXPECT_THAT(html, HasSubstr("There is no map of this pool: its controller did not answer"));
  EXPECT_EQ(count_of(html, "data-map="), 1U);
}

}  // namespace
}  // namespace ipuctl::page
