// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/end/release.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/names.h"
#include "tests/support/hook_host.h"
#include "tests/support/sql.h"

namespace hook::lifecycle::end {
namespace {

using namespace base::names;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class ReleaseTest : public testing::Test {
 protected:
  Status released(const ledger::Lease& lease) { return release_by_id(host_.env, lease.id, soon()); }
  Reconciled reconciled() {
    Result<Reconciled> done = reconcile(host_.env, soon());
    EXPECT_TRUE(test::succeeds(done));
    return std::move(done).take();
  }
  static base::Deadline soon() { return test::HookHost::soon(); }
  // A lease whose container runs, as process OWNER.
  ledger::Lease run(const std::string& name, const base::ProcessId& owner) {
    ledger::Lease lease = host_.start(name, 4);
    EXPECT_TRUE(test::succeeds(host_.ledger.mark_running(lease, owner)));
    return lease;
  }
  // As if this boot were another one than that of the lease.
  void reboot() {
    ASSERT_TRUE(test::succeeds(
        test::run_sql(host_.dir / "state/ledger.db", "UPDATE lease SET boot_id = 'another'")));
  }
  test::HookHost host_;
  // A process that certainly runs, and is not this one.
  const base::ProcessId other_ = base::identify_process(::getppid()).take();
};

using ReconcileTest = ReleaseTest;

TEST_F(ReleaseTest, GivesEverythingBack) {
  const ledger::Lease lease = run("web", other_);
  EXPECT_TRUE(test::succeeds(released(lease)));
  EXPECT_TRUE(host_.is_empty());
  EXPECT_EQ(host_.stored(lease).state, ledger::LeaseState::kQuarantine);
  EXPECT_EQ(host_.stored(lease).error, "");
}

TEST_F(ReleaseTest, DoesNothingTheSecondTime) {
  const ledger::Lease lease = run("web", other_);
  ASSERT_TRUE(test::succeeds(released(lease)));
  const ledger::Lease after = host_.stored(lease);
  host_.asked_controllers.clear();
  EXPECT_TRUE(test::succeeds(released(lease)));
  EXPECT_TRUE(test::succeeds(release(host_.env, after, "", soon())));
  EXPECT_EQ(host_.stored(lease).generation, after.generation);
  EXPECT_THAT(host_.asked_controllers, IsEmpty());
}

TEST_F(ReleaseTest, DoesNothingForALeaseThatNobodyKnows) {
  EXPECT_TRUE(test::succeeds(release_by_id(host_.env, "0123456789abcdef0123456789abcdef", soon())));
}

TEST_F(ReleaseTest, SaysWhyTheContainerNeverRan) {
  const ledger::Lease lease = host_.start("web", 4);
  ASSERT_TRUE(test::succeeds(released(lease)));
  EXPECT_EQ(host_.stored(lease).state, ledger::LeaseState::kFailed);
  EXPECT_EQ(host_.stored(lease).error, "the low-level runtime did not create the container");
}

TEST_F(ReleaseTest, AsksTheControllerThatMadeThePartition) {
  const ledger::Lease lease = run("web", other_);
  host_.config.pools[0].controller = "10.9.9.9:8090";
  host_.asked_controllers.clear();
  ASSERT_TRUE(test::succeeds(released(lease)));
  EXPECT_THAT(host_.asked_controllers, ElementsAre("10.5.1.254:8090"));
}

TEST_F(ReleaseTest, StaysReleasingWithItsObstacleUntilItCanBeDone) {
  const ledger::Lease lease = run("web", other_);
  host_.controller.fail_next(base::Error(Code::kUnavailable, "the controller is down"));
  EXPECT_TRUE(test::fails(released(lease), Code::kUnavailable, "is not complete yet"));
  EXPECT_EQ(host_.stored(lease).state, ledger::LeaseState::kReleasing);
  EXPECT_THAT(host_.stored(lease).obstacle, HasSubstr("the controller is down"));
  EXPECT_THAT(host_.partitions(), ElementsAre(lease.partition));
  EXPECT_EQ(host_.stored(lease).rails, lease.rails);

  EXPECT_THAT(reconciled().released, ElementsAre(lease.id));
  EXPECT_TRUE(host_.is_empty());
  EXPECT_EQ(host_.stored(lease).state, ledger::LeaseState::kQuarantine);
}

TEST_F(ReleaseTest, IsLeftToTheProcessThatDoesIt) {
  ledger::Lease lease = run("web", other_);
  ASSERT_TRUE(test::succeeds(host_.ledger.begin_release(lease, other_, "")));
  EXPECT_TRUE(test::succeeds(released(lease)));
  EXPECT_EQ(host_.stored(lease).generation, lease.generation);
  EXPECT_THAT(host_.partitions(), ElementsAre(lease.partition));
}

TEST_F(ReleaseTest, RefusesALeaseThatChangedMeanwhile) {
  const ledger::Lease old_lease = host_.start("web", 4);
  ledger::Lease lease = old_lease;
  ASSERT_TRUE(test::succeeds(host_.ledger.mark_running(lease, other_)));
  EXPECT_TRUE(test::fails(release(host_.env, old_lease, "", soon()), Code::kBusy));
  EXPECT_EQ(host_.stored(lease).state, ledger::LeaseState::kRunning);
  EXPECT_THAT(host_.partitions(), ElementsAre(lease.partition));
}

TEST_F(ReconcileTest, ReleasesTheLeaseOfADeadContainer) {
  const ledger::Lease lease = run("web", test::dead_process());
  EXPECT_THAT(reconciled().released, ElementsAre(lease.id));
  EXPECT_EQ(host_.stored(lease).state, ledger::LeaseState::kQuarantine);
  EXPECT_TRUE(host_.is_empty());
}

TEST_F(ReconcileTest, LeavesARunningContainerAlone) {
  const ledger::Lease lease = run("web", other_);
  const Reconciled done = reconciled();
  EXPECT_THAT(done.released, IsEmpty());
  EXPECT_THAT(done.obstacles, IsEmpty());
  EXPECT_EQ(host_.stored(lease).generation, lease.generation);
}

TEST_F(ReconcileTest, LeavesAContainerAloneThatStarts) {
  host_.start("web", 4);  // by this process
  EXPECT_THAT(reconciled().released, IsEmpty());
  EXPECT_EQ(host_.live_leases(), 1U);
}

TEST_F(ReconcileTest, EndsAStartThatWasCutShortAsFailed) {
  // The owner of an intent is the runtime; it dies between the intent and the grant.
  const ledger::Intent intent{
      "web", "/b", "", host_.config.pools[0], host_.config.network.rails, 4, test::dead_process()};
  const ledger::Lease lease = host_.ledger.acquire(intent).take();
  ASSERT_TRUE(host_.controller.create({lease.partition, 4, false, ""}, soon()).ok());
  EXPECT_THAT(reconciled().released, ElementsAre(lease.id));
  EXPECT_EQ(host_.stored(lease).state, ledger::LeaseState::kFailed);
  EXPECT_THAT(host_.stored(lease).error, HasSubstr("which was starting the container, ended"));
  EXPECT_TRUE(host_.is_empty());
}

TEST_F(ReconcileTest, ContinuesAReleaseThatWasCutShort) {
  ledger::Lease lease = run("web", other_);
  ASSERT_TRUE(test::succeeds(host_.ledger.begin_release(lease, test::dead_process(), "")));
  EXPECT_THAT(reconciled().released, ElementsAre(lease.id));
  EXPECT_TRUE(host_.is_empty());
}

TEST_F(ReconcileTest, ContinuesWhatAProcessThatLivesOnCouldNotDo) {
  ledger::Lease lease = run("web", other_);
  ASSERT_TRUE(test::succeeds(host_.ledger.begin_release(lease, other_, "")));
  ASSERT_TRUE(test::succeeds(host_.ledger.note_obstacle(lease, "the controller is down")));
  EXPECT_EQ(releases_of(host_.env, lease.pool).value(), Releases::kNone);
  EXPECT_THAT(reconciled().released, ElementsAre(lease.id));
  EXPECT_TRUE(host_.is_empty());
}

TEST_F(ReconcileTest, ReleasesWhatWasHeldBeforeTheMachineWasStartedAnew) {
  const ledger::Lease lease = run("web", other_);  // its pid and start time may fit a process again
  reboot();
  EXPECT_THAT(reconciled().released, ElementsAre(lease.id));
  EXPECT_TRUE(host_.is_empty());
}

TEST_F(ReconcileTest, GoesOnAfterALeaseThatItCannotRelease) {
  ledger::Lease first = host_.start("a", 4);
  ledger::Lease second = host_.start("b", 4);
  ASSERT_TRUE(test::succeeds(host_.ledger.mark_running(first, test::dead_process())));
  ASSERT_TRUE(test::succeeds(host_.ledger.mark_running(second, test::dead_process())));
  host_.controller.fail_next(base::Error(Code::kInternal, "an IPU failed"));
  const Reconciled done = reconciled();
  EXPECT_EQ(done.released.size(), 1U);
  ASSERT_EQ(done.obstacles.size(), 1U);
  EXPECT_THAT(done.obstacles[0].message(), HasSubstr("an IPU failed"));
  EXPECT_EQ(host_.partitions().size(), 1U);
  EXPECT_EQ(reconciled().released.size(), 1U);
  EXPECT_TRUE(host_.is_empty());
}

TEST_F(ReconcileTest, LeavesALeaseThatAnotherProcessTookOverMeanwhileToThat) {
  for (const char* name : {"a", "b"}) host_.start(name, 4);
  for (ledger::Lease& lease : host_.ledger.live().take()) {
    ASSERT_TRUE(test::succeeds(host_.ledger.mark_running(lease, test::dead_process())));
  }
  std::string theirs;
  const auto controller = host_.env.controller;
  host_.env.controller = [&](const config::PoolConfig& pool) {
    for (ledger::Lease& lease : host_.ledger.live().take()) {
      if (lease.state != ledger::LeaseState::kRunning) continue;
      EXPECT_TRUE(test::succeeds(host_.ledger.begin_release(lease, other_, "")));
      theirs = lease.id;
    }
    return controller(pool);
  };
  const Reconciled done = reconciled();
  EXPECT_THAT(done.obstacles, IsEmpty());
  EXPECT_EQ(done.released.size(), 1U);
  EXPECT_THAT(done.released, Not(Contains(theirs)));
  EXPECT_EQ(host_.ledger.find(theirs).take().value().owner, other_);
}

TEST_F(ReconcileTest, DoesNotTouchPartitionsOfOthers) {
  ASSERT_TRUE(host_.controller.create({"of-others", 4, false, ""}, soon()).ok());
  run("web", test::dead_process());
  reconciled();
  EXPECT_THAT(host_.partitions(), ElementsAre("of-others"));
}

TEST_F(ReconcileTest, HasNothingToDoOnAnEmptyLedger) {
  EXPECT_THAT(reconciled().released, IsEmpty());
  EXPECT_THAT(host_.asked_controllers, IsEmpty());
}

}  // namespace
}  // namespace hook::lifecycle::end
