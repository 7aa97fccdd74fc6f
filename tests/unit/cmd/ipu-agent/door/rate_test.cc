// SPDX-License-Identifier: Apache-2.0
#include "cmd/ipu-agent/door/rate.h"

#include <gtest/gtest.h>

namespace agent {
namespace {

using std::chrono::seconds;

TEST(Rate, AllowsSoManyAtOnceAndThenOneAfterEachPause) {
  Rate rate(3, seconds(10));
  const auto start = Rate::Clock::now();
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(rate.take(start));
  EXPECT_FALSE(rate.take(start + seconds(9)));
  EXPECT_FALSE(rate.is_full(start + seconds(9)));
  EXPECT_TRUE(rate.take(start + seconds(11)));
  EXPECT_FALSE(rate.take(start + seconds(12)));
  EXPECT_TRUE(rate.take(start + seconds(21)));
}

TEST(Rate, SavesNoMoreThanItsNumber) {
  Rate rate(2, seconds(10));
  const auto later = Rate::Clock::now() + seconds(1000);
  EXPECT_TRUE(rate.is_full(later));
  EXPECT_TRUE(rate.take(later));
  EXPECT_TRUE(rate.take(later));
  EXPECT_FALSE(rate.take(later + seconds(9)));
}

}  // namespace
}  // namespace agent
