// SPDX-License-Identifier: Apache-2.0
#include "hook/ledger/fences.h"

#include <gmock/gmock.h>

#include "base/names.h"
#include "tests/unit/hook/ledger/ledger_fixture.h"

namespace hook::ledger {
namespace {

using namespace base::names;

class FencesTest : public LedgerFixture {
 protected:
  size_t events() { return ledger_.events().after(0, 100).take().size(); }
};

TEST_F(FencesTest, KnowsTheOwnFenceFromItsFirstSightOn) {
  EXPECT_FALSE(ledger_.fences().own().take());
  const int64_t since = now_;
  EXPECT_EQ(ledger_.fences().see_own(7, "1f2e3d4c").take().seen_ms, since);
  now_ += 1000;
  const OwnFence again = open().fences().see_own(7, "1f2e3d4c").take();
  EXPECT_EQ(again.seen_ms, since);
  EXPECT_EQ(again.by, "1f2e3d4c");
  EXPECT_EQ(ledger_.fences().own().take()->revision, 7);
  EXPECT_EQ(events(), 1U);
  EXPECT_EQ(ledger_.fences().see_own(9, "").take().seen_ms, now_);
  EXPECT_EQ(ledger_.fences().own().take()->by, "");
}

TEST_F(FencesTest, ForgetsTheOwnFence) {
  ASSERT_TRUE(test::succeeds(ledger_.fences().end_own()));
  EXPECT_EQ(events(), 0U);
  ASSERT_TRUE(test::succeeds(ledger_.fences().see_own(7, "1f2e3d4c")));
  ASSERT_TRUE(test::succeeds(ledger_.fences().end_own()));
  EXPECT_FALSE(ledger_.fences().own().take());
  EXPECT_EQ(events(), 2U);
  EXPECT_TRUE(ledger_.fences().all().take().empty());
}

}  // namespace
}  // namespace hook::ledger
