// SPDX-License-Identifier: Apache-2.0
#include "base/histogram.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/support/outcome.h"

namespace base {
namespace {

Histogram of(const std::vector<int64_t>& times) {
  Histogram histogram;
  for (const int64_t time : times) histogram.add(time);
  return histogram;
}

TEST(Histogram, TheMedianIsRoundedUpButNotBeyondTheLargest) {
  EXPECT_EQ(of({}).count(), 0);
  EXPECT_EQ(of({}).median_ms(), 0);
  EXPECT_EQ(of({3}).median_ms(), 3);
  EXPECT_EQ(of({140, 160, 9000}).median_ms(), 200);
  EXPECT_EQ(of({140, 150, 9000}).median_ms(), 150);
  EXPECT_EQ(of({151, 152}).median_ms(), 152);
  EXPECT_EQ(of({140, 160, 9000}).largest_ms(), 9000);
  EXPECT_EQ(of({-5}).count(), 1);
  EXPECT_EQ(of({-5}).largest_ms(), 0);
}

TEST(Histogram, TwoAddUpToThatOfAllTheirTimes) {
  Histogram one = of({1, 20, 300});
  one.add(of({20, 4'000'000'000}));
  EXPECT_EQ(one, of({1, 20, 20, 300, 4'000'000'000}));
  EXPECT_EQ(one.count(), 5);
}

TEST(Histogram, IsReadAsItWasWritten) {
  for (const Histogram& one : {of({}), of({0}), of({1, 20, 300, 4'000'000'000})})
    EXPECT_EQ(Histogram::parse(one.to_text()).take(), one);
  EXPECT_EQ(of({16, 16, 25}).to_text(), "25 20:2 30:1");
}

TEST(Histogram, IsShortHoweverMuchItHas) {
  Histogram all;
  for (int64_t time = 1; time < 200'000'000; time += 1 + time / 50) all.add(time);
  EXPECT_LT(all.to_text().size(), Histogram::kMaxText);
}

TEST(Histogram, ReadsNothingElse) {
  for (const char* text : {" ", "5", "x 10:1", "5 10", "5 10:0", "5 11:1", "5 10:1 10:1", "5 10:1 ",
                           "-5 10:1", "5 10:1:1", "5 10:99999999999999999999"})
    EXPECT_TRUE(test::fails(Histogram::parse(text), Code::kInvalid, "no histogram")) << text;
}

}  // namespace
}  // namespace base
