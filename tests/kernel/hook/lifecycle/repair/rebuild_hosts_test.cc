// SPDX-License-Identifier: Apache-2.0
// Whose partitions a rebuilt ledger takes for its own, where several hosts use a controller.
#include "tests/kernel/hook/lifecycle/repair/rebuild_fixture.h"

namespace hook::lifecycle::repair {
namespace {

class RebuildHostsTest : public RebuildFixture {};

TEST_F(RebuildHostsTest, ReportsOrClaimsWhatNobodyClaims) {
  run("web", init_);
  ASSERT_TRUE(test::succeeds(
      host_.controller.create({.id = kUnclaimed, .size = 2}, test::HookHost::soon())));
  for (const char* of_others : {"c-ffffffff-0123456789ab", "train"}) {
    ASSERT_TRUE(test::succeeds(
        host_.controller.create({.id = of_others, .size = 2}, test::HookHost::soon())));
  }
  destroy();
  Rebuild wanted = rebuild();
  wanted.host = kHost;
  wanted.dry_run = lifecycle::repair::DryRun::kYes;
  const Rebuilt reported = rebuilt(wanted);
  ASSERT_EQ(reported.notes.size(), 1U);
  EXPECT_THAT(reported.notes[0], HasSubstr(kUnclaimed));
  EXPECT_EQ(reported.set_aside, "");

  wanted.dry_run = lifecycle::repair::DryRun::kNo;
  wanted.unclaimed = lifecycle::repair::Unclaimed::kClaim;
  EXPECT_THAT(rebuilt(wanted).notes, IsEmpty());
  Ledger ledger = Ledger::open(path()).take();
  lifecycle::Env env = env_of(ledger);
  ASSERT_TRUE(test::succeeds(lifecycle::end::reconcile(env, test::HookHost::soon())));
  EXPECT_EQ(host_.partitions().size(), 3U) << "all but that one";
  expect_clean(ledger);
}

// Nothing says whose it is.
TEST_F(RebuildHostsTest, ReportsAPartitionOfAnEarlierReleaseAndDoesNotClaimIt) {
  run("web", init_);
  ASSERT_TRUE(test::succeeds(
      host_.controller.create({.id = "c-0123456789ab", .size = 2}, test::HookHost::soon())));
  destroy();
  Rebuild wanted = rebuild();
  wanted.unclaimed = lifecycle::repair::Unclaimed::kClaim;
  const Rebuilt done = rebuilt(wanted);
  ASSERT_EQ(done.notes.size(), 1U);
  EXPECT_THAT(done.notes[0], HasSubstr("'c-0123456789ab'"));
  EXPECT_THAT(done.notes[0], HasSubstr("of a release before 0.1"));
  EXPECT_THAT(done.partitions, IsEmpty());
}

// A disk was copied. What the ledger holds is the other host's, and stays at the controller.
TEST_F(RebuildHostsTest, OfACopiedDiskLeavesAllToTheOtherHost) {
  const ledger::Lease theirs = run("web", init_);
  {
    Ledger ledger = Ledger::open(path()).take();
    ASSERT_TRUE(test::succeeds(ledger.host().be_on({.machine = "theirs"})));
  }
  ASSERT_TRUE(test::succeeds(test::run_sql(path(), "UPDATE lease SET boot_id = 'theirs'")));
  ASSERT_TRUE(test::succeeds(
      base::remove_file(host_.env.run_dir + "/leases/" + theirs.id + "/ledger.json")));
  Rebuild wanted = rebuild();
  wanted.host = {.machine = "ours"};
  const Rebuilt done = rebuilt(wanted);
  EXPECT_THAT(done.running, IsEmpty());
  EXPECT_THAT(done.ended, IsEmpty());
  EXPECT_THAT(done.notes, testing::Contains(HasSubstr("are left to that host")));
  Ledger ledger = Ledger::open(path()).take();
  ASSERT_TRUE(test::succeeds(ledger.host().be_on({.machine = "ours"})));
  EXPECT_TRUE(test::succeeds(ledger.host().check()));
  lifecycle::Env env = env_of(ledger);
  ASSERT_TRUE(test::succeeds(lifecycle::end::reconcile(env, test::HookHost::soon())));
  EXPECT_THAT(host_.partitions(), testing::ElementsAre(theirs.partition));
}

}  // namespace
}  // namespace hook::lifecycle::repair
