// SPDX-License-Identifier: Apache-2.0
#include "cmd/ipuctl/page/map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cmd/ipuctl/page/charts.h"
#include "cmd/ipuctl/page/html.h"

namespace ipuctl::page {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Pool pool_of(std::vector<Ipu> ipus) { return {"p", "", {{"IPU-Link domain 0", std::move(ipus)}}}; }

TEST(MapTest, TheTenantsWithTheMostIpusHaveColoursOfTheirOwn) {
  std::vector<Ipu> ipus;
  for (size_t tenant = 0; tenant < 30; ++tenant)
    for (size_t i = 0; i < (tenant == 20 ? 3U : tenant == 10 ? 2U : 1U); ++i)
      ipus.push_back({State::kHeld, std::string(1, static_cast<char>('A' + tenant))});
  const Marks marks = marks_of({pool_of(ipus)});
  ASSERT_EQ(marks.size(), 30U);
  EXPECT_EQ(marks.at("U").letter, "A");
  EXPECT_EQ(marks.at("U").colour, 0U);
  EXPECT_EQ(marks.at("K").letter, "B");
  EXPECT_EQ(marks.at("A").letter, "C");  // of those with as many, by name
  EXPECT_EQ(marks.at("E").colour, 6U);
  EXPECT_EQ(marks.at("F").colour, kColours);  // shared
  EXPECT_EQ(marks.at("Z").letter, "Z");
  EXPECT_EQ(marks.at("]").letter, "+");
}

TEST(MapTest, AColourIsNeverAllThatTellsWhatAnIpuIs) {
  const std::string html = maps_html({pool_of({{State::kHeld, "nlp", "c-1", "train"},
                                               {State::kReserved, "nlp", "r-1", "reservation x"},
                                               {State::kFree},
                                               {State::kWarm, "", "w-1"},
                                               {State::kDirty, "", "c-2"},
                                               {State::kUnhealthy, "", "", "", "hot"},
                                               {State::kHeld, "", "c-3", "job", "hot"}})});
  EXPECT_THAT(html, HasSubstr("aria-label=\"IPU 0: Held, tenant nlp, train, partition c-1\">A<"));
  EXPECT_THAT(html, HasSubstr("class=\"ipu reserved t0\" role=\"img\" tabindex=\"-1\" "
                              "aria-label=\"IPU 1: Reserved, tenant nlp, reservation x"));
  EXPECT_THAT(html, HasSubstr("aria-label=\"IPU 2: Free\">·<"));
  EXPECT_THAT(html, HasSubstr("aria-label=\"IPU 3: Warm, partition w-1\">w<"));
  EXPECT_THAT(html, HasSubstr("aria-label=\"IPU 4: Dirty, partition c-2\">~<"));
  EXPECT_THAT(html, HasSubstr("aria-label=\"IPU 5: Unhealthy, tainted: hot\">!<"));
  EXPECT_THAT(html, HasSubstr("ipu held t1 tainted"));
  EXPECT_THAT(html, HasSubstr("IPU 6: Held, no tenant, job, partition c-3, tainted: hot\">B!<"));
}

TEST(MapTest, TheTableHasRunsOfEqualIpusInLinkOrder) {
  Pool pool = pool_of({{State::kHeld, "a", "c-1", "x"},
                       {State::kHeld, "a", "c-1", "x"},
                       {State::kHeld, "a", "c-2", "x"},
                       {State::kFree}});
  pool.domains.push_back({"IPU-Link domain 1", {{State::kFree}, {State::kFree}}});
  const std::string html = maps_html({pool});
  EXPECT_THAT(html, HasSubstr("<th scope=\"row\">0–1</th><td>Held</td><td><bdi>a</bdi></td>"));
  EXPECT_THAT(html, HasSubstr("<th scope=\"row\">2</th>"));
  EXPECT_THAT(html, HasSubstr("<th scope=\"row\">3</th><td>Free</td>"));
  EXPECT_THAT(html, HasSubstr("<th scope=\"row\">4–5</th><td>Free</td>"));
  EXPECT_THAT(html, HasSubstr("6 IPUs, 3 free"));
}

TEST(MapTest, OneIpuOfAMapIsAStopOfTheTabKey) {
  const std::string html = maps_html({pool_of({{State::kFree}, {State::kFree}})});
  EXPECT_THAT(html, HasSubstr("tabindex=\"0\" aria-label=\"IPU 0"));
  EXPECT_THAT(html, HasSubstr("tabindex=\"-1\" aria-label=\"IPU 1"));
}

TEST(ChartsTest, ADayIsABarOfItsHeight) {
  const std::string html =
      utilisation_html({{"2026-11-25", true, 0.25}, {"2026-11-26", true, 1.0}});
  // 160 pixels are 100 %, below 14 of margin.
  EXPECT_THAT(
      html,
      HasSubstr("class=\"bar\" x=\"7.5000%\" width=\"35.0000%\" y=\"134.0\" height=\"40.0\""));
  EXPECT_THAT(
      html,
      HasSubstr("class=\"bar\" x=\"57.5000%\" width=\"35.0000%\" y=\"14.0\" height=\"160.0\""));
  EXPECT_THAT(html, HasSubstr("class=\"band\" x=\"0\" width=\"100%\" y=\"126.0\" height=\"8.0\""));
  EXPECT_THAT(html, HasSubstr("<th scope=\"row\">2026-11-25</th><td class=\"n\">25.0 %</td>"));
  EXPECT_THAT(html, HasSubstr("not measured"));
}

TEST(ChartsTest, WhatIsBeyondTheScaleStaysInTheDrawing) {
  const std::string html = utilisation_html({{"2026-11-25", true, 7.5, 3.0}});
  EXPECT_THAT(html, HasSubstr("y=\"14.0\" height=\"160.0\""));
  EXPECT_THAT(html, HasSubstr("750.0 %"));  // in the table
}

TEST(ChartsTest, ADayWithoutARecordIsNotADayOfNoUse) {
  const std::string html = utilisation_html({{"2026-11-24"}, {"2026-11-25", true, 0.0}});
  EXPECT_THAT(html, HasSubstr("<th scope=\"row\">2026-11-24</th><td class=\"n\">no record</td>"));
  EXPECT_THAT(html, HasSubstr("<th scope=\"row\">2026-11-25</th><td class=\"n\">0.0 %</td>"));
}

TEST(ChartsTest, ManyDaysHaveFewLabels) {
  std::vector<Day> days(400, Day{"2026-11-25", true, 0.5});
  const std::string html = utilisation_html(days);
  size_t labels = 0;
  for (size_t at = html.find("class=\"x\""); at != std::string::npos;
       at = html.find("class=\"x\"", at + 1))
    ++labels;
  EXPECT_GE(labels, 5U);
  EXPECT_LE(labels, 7U);
}

TEST(ChartsTest, CausesAreSummedUpOverNamesMostFrequentFirst) {
  const std::string html = refusals_html(
      {{"a", "full", 2}, {"b", "full", 3}, {"a", "limit", 4}, {"b", "", 1}}, "tenant");
  const size_t full = html.find("<bdi>full</bdi></th><td class=\"n\">5</td>");
  const size_t limit = html.find("<bdi>limit</bdi></th><td class=\"n\">4</td>");
  ASSERT_NE(full, std::string::npos) << html;
  ASSERT_NE(limit, std::string::npos) << html;
  EXPECT_LT(full, limit);
  EXPECT_THAT(html, HasSubstr("80.0 %"));
  EXPECT_THAT(html, HasSubstr("other causes"));
}

TEST(ChartsTest, TimesAreInTheUnitThatPeopleSay) {
  EXPECT_EQ(time_text(0), "0.00 s");
  EXPECT_EQ(time_text(1'234), "1.23 s");
  EXPECT_EQ(time_text(90'000), "90 s");
  EXPECT_EQ(time_text(600'000), "10 min");
  EXPECT_EQ(time_text(9'000'000), "2.5 h");
}

}  // namespace
}  // namespace ipuctl::page
