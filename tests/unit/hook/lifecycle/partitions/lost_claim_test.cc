// SPDX-License-Identifier: Apache-2.0
// A start whose claim goes while its partition is read back.
#include "tests/unit/hook/lifecycle/partitions/fleet_fixture.h"

namespace hook::lifecycle::partitions {
namespace {

using LostClaimTest = FleetFixture;

// The answer of its controller came after etcd had gone back.
TEST_F(LostClaimTest, AStartWhoseClaimIsGoneDoesNotRun) {
  ASSERT_TRUE(test::succeeds(create(a_)));
  EXPECT_THAT(gc(b_), IsEmpty());
  const test::FakeStore before = store_;
  // After the claim, while the partition is read back.
  a_.before_wait = [&] { store_ = before; };
  EXPECT_TRUE(test::fails(start(a_, "one", 0), Code::kBusy, "was taken away while"));
  a_.before_wait = {};
  EXPECT_EQ(a_.live_leases(), 0U);
  EXPECT_TRUE(test::succeeds(start(b_, "two", 0)));
}

TEST_F(LostClaimTest, AStartWhoseHostIsFencedMeanwhileSaysSo) {
  ASSERT_TRUE(test::succeeds(create(a_)));
  a_.before_wait = [&] {
    EXPECT_TRUE(
        test::succeeds(fleet::fence(fleet(), a_.ledger.host().tag(), b_.ledger.host().tag(), 1)));
  };
  EXPECT_TRUE(test::fails(start(a_, "one", 0), Code::kDenied, "declared dead"));
  EXPECT_TRUE(test::succeeds(start(b_, "two", 0)));
}

}  // namespace
}  // namespace hook::lifecycle::partitions
