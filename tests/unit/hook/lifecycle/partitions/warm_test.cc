// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/partitions/warm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/hook_host.h"

namespace hook::lifecycle::partitions {
namespace {

using base::Code;
using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

class WarmTest : public testing::Test {
 protected:
  WarmTest() { pool().warm = {{4, 2}}; }
  config::PoolConfig& pool() { return host_.config.pools[0]; }
  static base::Deadline soon() { return test::HookHost::soon(); }
  Refilled fill() { return refill(host_.env, pool(), soon()).take(); }

  test::HookHost host_;
};

TEST_F(WarmTest, IsFilledToWhatIsConfiguredAndNoFurther) {
  EXPECT_THAT(fill().made, AllOf(SizeIs(2), Each(StartsWith("w-"))));
  EXPECT_THAT(host_.partitions(), SizeIs(2));
  EXPECT_THAT(fill().made, IsEmpty());
  EXPECT_THAT(host_.partitions(), SizeIs(2));
}

TEST_F(WarmTest, IsTakenByAStartWhichMakesNone) {
  const std::vector<std::string> warm = fill().made;
  bool created = false;
  host_.before_create = [&] { created = true; };
  const ledger::Lease lease = host_.start("web", 4);
  EXPECT_FALSE(created);
  EXPECT_THAT(warm, testing::Contains(lease.partition));
  EXPECT_EQ(lease.origin, ledger::Origin::kOwn);
  EXPECT_THAT(host_.refills, ElementsAre("pod16"));
  EXPECT_THAT(host_.partitions(), SizeIs(2));
  EXPECT_THAT(fill().made, SizeIs(1));
}

TEST_F(WarmTest, IsRemovedWithTheContainerThatTookIt) {
  fill();
  const ledger::Lease lease = host_.start("web", 4);
  ASSERT_TRUE(test::succeeds(end::release_by_id(host_.env, lease.id, soon())));
  EXPECT_THAT(host_.partitions(),
              AllOf(SizeIs(1), testing::Not(testing::Contains(lease.partition))));
}

TEST_F(WarmTest, IsNotForOtherSizesAndWishes) {
  fill();
  EXPECT_THAT(host_.start("small", 2).partition, StartsWith("c-"));
  request::Request request;
  request.ipus = 4;
  request.reconfigurable = true;
  ASSERT_TRUE(test::succeeds(host_.prepare("reconfigurable", request)));
  EXPECT_THAT(host_.lease_of("reconfigurable").partition, StartsWith("c-"));
}

TEST_F(WarmTest, IsGivenBackWhereItStandsInTheWay) {
  fill();
  const ledger::Lease lease = host_.start("large", 16);
  EXPECT_THAT(host_.partitions(), ElementsAre(lease.partition));
}

TEST_F(WarmTest, IsKeptWhereGivingItBackWouldNotHelp) {
  host_.start("a", 8);
  fill();
  EXPECT_TRUE(test::fails(host_.prepare("large", 16), Code::kBusy, "no free block of 16"));
  EXPECT_THAT(host_.partitions(), SizeIs(3));
}

TEST_F(WarmTest, IsGivenBackNoMoreThanNeeded) {
  host_.start("a", 8);
  fill();
  host_.start("b", 2);  // takes one of the two blocks of 4 only
  EXPECT_THAT(host_.partitions(), SizeIs(3));
}

TEST_F(WarmTest, IsNotFilledWhileSomebodyWaits) {
  ledger::Waiter waiter;
  waiter.resource = "pod16";
  waiter.owner = base::current_process().take();
  waiter.boot_id = base::boot_id().take();
  waiter.until_ms = base::unix_millis() + 60'000;
  const int64_t ticket = host_.ledger.queue().enter(waiter).take();
  EXPECT_THAT(fill().made, IsEmpty());
  ASSERT_TRUE(test::succeeds(host_.ledger.queue().leave(ticket)));
  EXPECT_THAT(fill().made, SizeIs(2));
}

TEST_F(WarmTest, IsReplacedWhenItIsNotActiveAnyMore) {
  const std::vector<std::string> warm = fill().made;
  host_.controller.tear(warm[0], "an IPU failed");
  const Refilled again = fill();
  EXPECT_THAT(again.removed, ElementsAre(warm[0]));
  EXPECT_THAT(again.made, SizeIs(1));
  EXPECT_THAT(host_.partitions(), SizeIs(2));
}

TEST_F(WarmTest, ThatFailedUnnoticedIsMadeAnewForTheContainer) {
  for (const std::string& name : fill().made) host_.controller.tear(name, "an IPU failed");
  const ledger::Lease lease = host_.start("web", 4);
  EXPECT_THAT(lease.partition, StartsWith("w-"));
  EXPECT_EQ(host_.controller.status(lease.partition, soon()).take().ready,
            vipu::ReadyState::kActive);
}

TEST_F(WarmTest, IsShrunkWhenLessIsConfigured) {
  fill();
  pool().warm = {{4, 1}, {2, 1}};
  const Refilled done = fill();
  EXPECT_THAT(done.removed, SizeIs(1));
  EXPECT_THAT(done.made, SizeIs(1));
  pool().warm = {};
  EXPECT_THAT(fill().removed, SizeIs(2));
  EXPECT_THAT(host_.partitions(), IsEmpty());
}

TEST_F(WarmTest, SaysWhyItCannotBeFilledAndLeavesNothingHalf) {
  host_.start("a", 16);
  const Refilled done = fill();
  ASSERT_THAT(done.obstacles, SizeIs(1));
  EXPECT_EQ(done.obstacles[0].code(), Code::kBusy);
  EXPECT_THAT(host_.ledger.partitions().all().take(), IsEmpty());
  host_.controller.set_unreachable(true);
  EXPECT_THAT(fill().obstacles, SizeIs(1));
  EXPECT_THAT(host_.ledger.partitions().all().take(), IsEmpty());
}

TEST_F(WarmTest, ThatADeadProcessMadeHalfIsRemoved) {
  fill();
  ledger::PartitionRecord half = host_.ledger.partitions().all().take().front();
  half.name = "w-0123456789ab";
  half.state = ledger::PartitionState::kIntent;
  half.owner = test::dead_process();
  ASSERT_TRUE(test::succeeds(host_.ledger.partitions().intend(half)));
  ASSERT_TRUE(host_.controller.create({half.name, 4}, soon()).ok());
  EXPECT_THAT(fill().removed, ElementsAre(half.name));
  EXPECT_THAT(host_.partitions(), SizeIs(2));
  EXPECT_THAT(host_.ledger.partitions().all().take(), SizeIs(2));
}

TEST_F(WarmTest, ThatAContainerTookIsRemovedAlsoWhenTheControllerWasAwayAtItsStart) {
  fill();
  host_.controller.fail_next(base::Error(Code::kUnavailable, "away"));
  EXPECT_TRUE(test::fails(host_.prepare("web", 4), Code::kUnavailable, "away"));
  EXPECT_THAT(host_.partitions(), SizeIs(1)) << "the one that nobody took";
  EXPECT_EQ(host_.live_leases(), 0U);
}

}  // namespace
}  // namespace hook::lifecycle::partitions
