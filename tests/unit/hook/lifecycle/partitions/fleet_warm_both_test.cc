// SPDX-License-Identifier: Apache-2.0
// A partition that a fleet kept warm, and that two containers have: the store went back to where it
// was idle, and another start took it.
#include "base/names.h"
#include "base/text.h"
#include "hook/lifecycle/end/effects.h"
#include "hook/lifecycle/end/remains.h"
#include "hook/lifecycle/partitions/fleet_claims.h"
#include "hook/lifecycle/partitions/fleet_warm.h"
#include "hook/lifecycle/partitions/joining.h"
#include "tests/support/warm_fleet.h"

namespace hook::lifecycle::partitions {
namespace {

using namespace base::names;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Property;
using testing::SizeIs;

class FleetWarmBothTest : public test::WarmFleet {
 protected:
  // The container "web" of the first host has the partition made_.
  ledger::Lease start_web() {
    keep({{4, 1}});
    made_ = fill(a_).made[0];
    const test::FakeStore older = store_;
    const ledger::Lease web = a_.start("web", 4);
    EXPECT_EQ(web.partition, made_);
    webs_ = grants().at(0);
    store_ = older;
    return web;
  }
  // And so does the container "other" of the second host.
  ledger::Lease start_both() {
    const ledger::Lease web = start_web();
    EXPECT_EQ(b_.start("other", 4).partition, made_);
    return web;
  }
  // Only the second container has it.
  void expect_others() {
    EXPECT_THAT(a_.partitions(), ElementsAre(made_));
    EXPECT_THAT(grants(), SizeIs(1));
    EXPECT_EQ(a_.live_leases(), 0U);
    ASSERT_TRUE(test::succeeds(stop(b_, "other")));
    EXPECT_THAT(a_.partitions(), IsEmpty());
    expect_whole();
  }

  std::string made_;
  fleet::Grant webs_;  // from before the store went back
};

TEST_F(FleetWarmBothTest, TheFirstThatEndsLeavesItAlone) {
  const ledger::Lease web = start_both();
  EXPECT_TRUE(test::fails(confirm_claim(a_.env, web, soon()), Code::kBusy, "was taken away"));
  ASSERT_TRUE(test::succeeds(stop(a_, "web")));
  EXPECT_THAT(gc(a_), IsEmpty());
  expect_others();
}

// gc of the first host puts its container into the books again.
TEST_F(FleetWarmBothTest, IsAnObstacleAndStaysForTheLast) {
  start_both();
  for (test::HookHost* host : {&a_, &b_})
    EXPECT_THAT(gc(*host), Contains(Property(&Error::message, HasSubstr("stop one of the two"))));
  EXPECT_THAT(grants(), SizeIs(2));
  ASSERT_TRUE(test::succeeds(stop(a_, "web")));
  EXPECT_THAT(gc(a_), IsEmpty());
  EXPECT_THAT(gc(b_), IsEmpty());
  expect_others();
}

// One leaves it to the other, and that one removes it.
TEST_F(FleetWarmBothTest, GoesIfBothEndAtOnce) {
  for (int at = 0; at < 8; ++at) {
    SCOPED_TRACE(at);
    start_both();
    EXPECT_THAT(gc(a_), SizeIs(1));
    interrupt(a_, at, [&] { EXPECT_TRUE(test::succeeds(stop(b_, "other"))); });
    ASSERT_TRUE(test::succeeds(stop(a_, "web")));
    interrupt(a_, -1, [] {});
    if (b_.live_leases() > 0) ASSERT_TRUE(test::succeeds(stop(b_, "other")));
    EXPECT_THAT(a_.partitions(), IsEmpty());
    expect_whole();
  }
}

// The other container's grant may go without its container: its host leaves the fleet.
TEST_F(FleetWarmBothTest, WhatWasLeftToAnotherIsNeverLate) {
  start_both();
  ASSERT_TRUE(test::succeeds(stop(a_, "web")));
  ASSERT_TRUE(test::succeeds(leave_fleet(b_.env, soon())));
  EXPECT_THAT(grants(), IsEmpty());
  EXPECT_THAT(gc(a_), IsEmpty());
  EXPECT_THAT(a_.partitions(), ElementsAre(made_));
}

// The same, while the release that left it is not complete yet, and its IPUs are counted once.
TEST_F(FleetWarmBothTest, WhatWasLeftStaysSoIfTheReleaseIsCutShort) {
  ledger::Lease web = start_both();
  ASSERT_TRUE(test::succeeds(a_.ledger.begin_release(web, base::current_process().take(), "")));
  ASSERT_EQ(may_remove(a_.env, web, Asks::kBegins, soon()).take(), Removable::kNo);
  ASSERT_TRUE(test::succeeds(a_.ledger.partitions().leave(web)));
  ASSERT_TRUE(test::succeeds(leave_fleet(b_.env, soon())));
  ASSERT_TRUE(test::succeeds(stop(a_, "web")));
  EXPECT_THAT(gc(a_), IsEmpty());
  EXPECT_EQ(a_.live_leases(), 0U);
  EXPECT_THAT(a_.partitions(), ElementsAre(made_));
}

TEST_F(FleetWarmBothTest, TheNextStartOfTheSameHostDoesNotTakeItAway) {
  const ledger::Lease web = start_web();
  (void)a_.prepare("second", 4);  // takes it once more, which the ledger refuses
  (void)gc(a_);
  (void)gc(a_);
  EXPECT_THAT(a_.partitions(), Contains(made_));
  const std::vector<fleet::Grant> had = grants();
  ASSERT_FALSE(had.empty());
  EXPECT_EQ(had[0].id, web.claim);
  EXPECT_EQ(had[0].partition, made_);
}

// While the first one gives it back, nothing is decided about the grant of the second one.
TEST_F(FleetWarmBothTest, TheGrantOfARefusedStartWaitsForAReleaseOnTheSameHost) {
  ledger::Lease web = start_web();
  (void)a_.prepare("second", 4);
  ASSERT_THAT(grants(), SizeIs(1));
  const fleet::Grant second = grants()[0];
  ASSERT_TRUE(test::succeeds(a_.ledger.begin_release(web, base::current_process().take(), "")));
  const auto fleet = open_fleet(a_.env).take();
  const auto removable = begin_end_of_taken(a_.env, *fleet, second.pool, made_, second.id, soon());
  EXPECT_TRUE(test::fails(removable, Code::kBusy, "is being given back by container web"));
  EXPECT_THAT(grants(), SizeIs(1));
}

TEST_F(FleetWarmBothTest, AFenceAndADryRunLeaveIt) {
  ledger::Lease web = start_both();
  ASSERT_TRUE(test::succeeds(a_.ledger.mark_running(web, test::dead_process())));
  const auto remains = end::find_remains(a_.env, soon()).take();
  ASSERT_THAT(remains.leases, SizeIs(1));
  int seen_partitions = 0;
  for (const auto& [name, seen] : remains.leases[0].effects) {
    if (name != end::kPartition) continue;
    ++seen_partitions;
    EXPECT_EQ(seen.value(), netns::Presence::kGone);
  }
  EXPECT_EQ(seen_partitions, 1);
  std::vector<Error> obstacles;
  fence(a_, tag(b_), obstacles);
  EXPECT_THAT(a_.partitions(), ElementsAre(made_)) << "the ledger has it";
}

// The ledger of the first host lost the end of its lease's release.
TEST_F(FleetWarmBothTest, ALostGrantGoesAlone) {
  start_both();
  ASSERT_TRUE(test::succeeds(stop(a_, "web")));
  ASSERT_TRUE(test::succeeds(fleet::grant_again(fleet(), webs_)));
  EXPECT_THAT(grants(), SizeIs(2));
  EXPECT_THAT(gc(a_), IsEmpty());
  expect_others();
}

// Until all hosts have told what they have, the store does not know whose it is.
TEST_F(FleetWarmBothTest, NobodyRemovesItWhileAHostHasNotTold) {
  start_both();
  ask_to_tell(a_);
  EXPECT_TRUE(test::fails(stop(b_, "other"), Code::kBusy, "has not told since"));
  EXPECT_THAT(a_.partitions(), ElementsAre(made_));
  (void)gc(a_);  // tells
  EXPECT_THAT(gc(b_), IsEmpty());
  EXPECT_THAT(a_.partitions(), ElementsAre(made_)) << "of the first container";
  ASSERT_TRUE(test::succeeds(stop(a_, "web")));
  EXPECT_THAT(a_.partitions(), IsEmpty());
  expect_whole();
}

// The first one tells at any moment of the end of the second one.
TEST_F(FleetWarmBothTest, NobodyRemovesItIfItsGrantComesBackMeanwhile) {
  for (int at = 0; at < 12; ++at) {
    SCOPED_TRACE(at);
    start_both();
    ask_to_tell(a_);
    interrupt(b_, at, [&] { (void)gc(a_); });
    (void)stop(b_, "other");
    interrupt(b_, -1, [] {});
    EXPECT_THAT(a_.partitions(), ElementsAre(made_)) << "of the first container";
    (void)gc(a_);
    EXPECT_THAT(gc(b_), IsEmpty());
    ASSERT_TRUE(test::succeeds(stop(a_, "web")));
    EXPECT_THAT(a_.partitions(), IsEmpty());
    expect_whole();
  }
}

// What the release knows of its lease is older than the leave.
TEST_F(FleetWarmBothTest, AHostThatLeavesDuringAReleaseIsNotAnotherContainer) {
  fill(a_);
  const ledger::Lease lease = a_.start("web", 4);
  ASSERT_TRUE(test::succeeds(a_.ledger.partitions().disclaim_own()));
  ASSERT_TRUE(test::succeeds(fleet::ungrant(fleet(), lease.pool, lease.claim)));
  EXPECT_EQ(may_remove(a_.env, lease, Asks::kBegins, soon()).take(), Removable::kYes);
}

TEST_F(FleetWarmBothTest, ARefillDoesNotGiveItBackAsIdle) {
  start_web();
  keep({});
  (void)fill(a_);
  EXPECT_THAT(a_.partitions(), ElementsAre(made_));
}

}  // namespace
}  // namespace hook::lifecycle::partitions
