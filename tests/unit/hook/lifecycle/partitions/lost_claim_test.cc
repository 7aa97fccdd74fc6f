// SPDX-License-Identifier: Apache-2.0
// What a process has read, and another one has changed meanwhile: a start whose claim goes while
// its partition is read back, and a copy of a partition that is made again.
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

// A start has read that the fleet has the partition no more, when somebody makes another one of the
// same name here.
TEST_F(LostClaimTest, WhoeverForgetsACopyLeavesTheNewPartitionAlone) {
  ASSERT_TRUE(test::succeeds(create(a_)));
  ASSERT_TRUE(test::succeeds(start(b_, "one", 0)));
  ASSERT_TRUE(test::succeeds(stop(b_, "one")));
  const auto copy = b_.ledger.partitions().find("pod16", "p0").take();
  ASSERT_TRUE(copy);
  ASSERT_TRUE(remove_partition(a_.env, a_.config.pools[0], "p0", vipu::Force::kNo, soon()).ok());
  const auto forget = [&] { return b_.ledger.partitions().unlearn(*copy); };
  a_.before_create = [&] {
    EXPECT_TRUE(test::fails(forget(), Code::kBusy, "changed by another process"));
  };
  ASSERT_TRUE(test::succeeds(create(b_)));
  EXPECT_TRUE(test::fails(forget(), Code::kBusy, "changed by another process"));
  ledger::PartitionRecord older = *copy;
  --older.created_ms;
  EXPECT_TRUE(test::succeeds(b_.ledger.partitions().finish_removal(older)));
  EXPECT_EQ(view()->phase, fleet::PartitionPhase::kReady);
  EXPECT_TRUE(test::succeeds(start(b_, "two", 0)));
}

}  // namespace
}  // namespace hook::lifecycle::partitions
