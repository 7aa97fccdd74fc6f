// SPDX-License-Identifier: Apache-2.0
#include "hook/ledger/rooms.h"

#include <gmock/gmock.h>

#include "hook/ledger/usage.h"
#include "tests/support/sql.h"
#include "tests/unit/hook/ledger/ledger_fixture.h"

namespace hook::ledger {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

class RoomsTest : public LedgerFixture {
 protected:
  void look(int64_t free, int64_t largest) {
    ASSERT_TRUE(test::succeeds(ledger_.usage().rooms().record({{"pod64", free, largest}})));
  }
  RoomRow on(int64_t day) {
    const std::vector<RoomRow> rows = ledger_.usage().rooms().between(day, day + 1).take();
    return rows.empty() ? RoomRow{} : rows.front();
  }
  const int64_t today_ = now_ / kDayMs;
};

TEST_F(RoomsTest, ALookCountsUntilTheNextOneAndTheWorstIsKept) {
  now_ = today_ * kDayMs + 1000;
  look(64, 64);
  now_ += 10'000;
  look(40, 8);
  const int64_t worst = now_;
  now_ += 5'000;
  look(20, 16);
  EXPECT_EQ(on(today_),
            (RoomRow{"pod64", 15'000, 640'000 + 200'000, 640'000 + 40'000, worst, 40, 8}));
}

TEST_F(RoomsTest, AFullPoolIsNotFragmented) {
  look(0, 0);
  now_ += 1000;
  look(0, 0);
  EXPECT_EQ(on(now_ / kDayMs).worst_free, 0);
  EXPECT_EQ(on(now_ / kDayMs).measured_ms, 1000);
}

TEST_F(RoomsTest, ATimeWithoutALookIsNotMeasured) {
  now_ = today_ * kDayMs;
  look(64, 64);
  now_ += 10 * kLongestLookMs;
  look(64, 64);
  EXPECT_EQ(on(today_).measured_ms, kLongestLookMs);
  now_ -= 5000;  // the clock is set back
  look(64, 64);
  EXPECT_EQ(on(today_).measured_ms, kLongestLookMs);
}

TEST_F(RoomsTest, IsDividedIntoDays) {
  now_ = (today_ + 1) * kDayMs - 1000;
  look(4, 4);
  now_ += 3000;
  look(4, 4);
  EXPECT_EQ(on(today_).free, 4000);
  EXPECT_EQ(on(today_ + 1).free, 8000);
  const std::vector<RoomRow> both = ledger_.usage().rooms().between(today_, INT64_MAX).take();
  ASSERT_THAT(both, SizeIs(1));
  EXPECT_EQ(both[0].free, 12'000);
}

TEST_F(RoomsTest, IsForgottenInTheEndAndWithItAPoolThatIsNoMore) {
  look(4, 4);
  for (int64_t day = 0; day <= kUsageDays; ++day) {
    now_ += kDayMs;
    ASSERT_TRUE(test::succeeds(ledger_.usage().rooms().record({{"other", 1, 1}})));
  }
  EXPECT_THAT(test::query_sql(path_, "SELECT day FROM room"), SizeIs(kUsageDays + 1));
  EXPECT_THAT(test::query_sql(path_, "SELECT pool FROM room_look"), SizeIs(1));
  EXPECT_THAT(ledger_.usage().rooms().between(0, today_ + 1).take(), IsEmpty());
}

// A host whose clock was wrong for a moment keeps what it knew.
TEST_F(RoomsTest, AClockThatIsYearsAheadForgetsNothing) {
  look(4, 4);
  const int64_t right = now_;
  for (int i = 0; i < 3; ++i) {
    now_ += 3 * kUsageDays * kDayMs;
    look(4, 4);
  }
  now_ = right + kDayMs;
  look(4, 4);
  EXPECT_THAT(ledger_.usage().rooms().between(today_, today_ + 1).take(), SizeIs(1));
}

}  // namespace
}  // namespace hook::ledger
