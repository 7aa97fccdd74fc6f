// SPDX-License-Identifier: Apache-2.0
#include "base/clock.h"

#include <gtest/gtest.h>

#include "tests/support/outcome.h"

namespace base {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

TEST(Deadline, HasTimeLeftUntilItPasses) {
  const auto deadline = Deadline::after(hours(1));
  EXPECT_GT(deadline.left(), milliseconds(3'590'000));
  EXPECT_LE(deadline.left(), hours(1));
  EXPECT_FALSE(deadline.passed());
}

TEST(Deadline, HasPassedWithNoTimeLeftAndNeverLess) {
  for (const milliseconds time : {milliseconds(0), milliseconds(-5000)}) {
    EXPECT_TRUE(Deadline::after(time).passed());
    EXPECT_EQ(Deadline::after(time).left().count(), 0);
  }
}

TEST(Deadline, IsCappedByTheEarlierMoment) {
  EXPECT_LE(Deadline::after(hours(2)).capped(hours(1)).left(), hours(1));
  EXPECT_LE(Deadline::after(hours(1)).capped(hours(2)).left(), hours(1));
  EXPECT_TRUE(Deadline::after(milliseconds(0)).capped(hours(1)).passed());
}

TEST(SleepFor, EndsAtTheDeadline) {
  const auto limit = Deadline::after(milliseconds(5000));
  sleep_for(hours(1), Deadline::after(milliseconds(1)));
  EXPECT_FALSE(limit.passed());
}

TEST(Rfc3339, PrintsUtcWithMilliseconds) {
  EXPECT_EQ(rfc3339(0), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(rfc3339(1'000'000'000'007), "2001-09-09T01:46:40.007Z");
}

TEST(UnixMillis, IsAfterThisWasWritten) { EXPECT_GT(unix_millis(), 1'700'000'000'000); }

TEST(BootId, IsTheSameEachTimeAndOneWord) {
  const Result<std::string> first = boot_id();
  ASSERT_TRUE(test::succeeds(first));
  EXPECT_EQ(first.value().size(), 36U);
  EXPECT_EQ(boot_id().value(), first.value());
}

}  // namespace
}  // namespace base
