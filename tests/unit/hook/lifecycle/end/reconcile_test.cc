// SPDX-License-Identifier: Apache-2.0
// Which leases a reconcile takes, when, and what a start waits for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/names.h"
#include "base/text.h"
#include "hook/lifecycle/end/release.h"
#include "hook/lifecycle/end/remains.h"
#include "hook/lifecycle/partitions/partitions.h"
#include "tests/support/hook_host.h"
#include "tests/support/sql.h"

namespace hook::lifecycle::end {
namespace {

using namespace base::names;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class DueTest : public testing::Test {
 protected:
  DueTest() { host_.reconcile_at_once = false; }
  static base::Deadline soon() { return test::HookHost::soon(); }
  static Scope due() { return {Look::kFull, true, {}}; }
  Reconciled reconciled(const Scope& scope = {}) {
    return reconcile(host_.env, soon(), scope).take();
  }
  ledger::Lease run(const std::string& name, const base::ProcessId& owner) {
    ledger::Lease lease = host_.start(name, 4);
    EXPECT_TRUE(test::succeeds(host_.ledger.mark_running(lease, owner)));
    return lease;
  }
  void change(const std::string& sql) {
    ASSERT_TRUE(test::succeeds(test::run_sql(host_.dir / "state/ledger.db", sql)));
  }
  // As if the pause after the last attempt were over.
  void wait_for_the_next_attempt() { change("UPDATE lease SET retry_ms = 1"); }
  // A partition "p0" whose process died before it was READY.
  static constexpr const char* kHalf = "r-00000000-0123456789ab";
  void leave_half_made(uint32_t ipus) {
    ledger::PartitionRecord half;
    half.pool = "pod16";
    half.name = kHalf;
    half.source = config::source_of(host_.config.pools[0]);
    half.ipus = ipus;
    half.owner = test::dead_process();
    half.boot_id = base::boot_id().take();
    half.created_ms = base::unix_millis();
    ASSERT_TRUE(test::succeeds(host_.ledger.partitions().intend(half)));
  }
  test::HookHost host_;
  const base::ProcessId other_ = base::identify_process(::getppid()).take();
};

TEST_F(DueTest, RemovesAPartitionThatWasMadeAfterItsLeaseHadEnded) {
  const ledger::Lease lease = run("web", test::dead_process());
  EXPECT_THAT(reconciled().released, ElementsAre(lease.id));
  ASSERT_TRUE(host_.controller.create({"of-others", 4, false, ""}, soon()).ok());
  ASSERT_TRUE(host_.controller.create({lease.partition, 4, false, ""}, soon()).ok());
  const Remains remains = find_remains(host_.env, soon()).take();
  ASSERT_THAT(remains.partitions, SizeIs(1));
  EXPECT_EQ(remains.partitions.front().name, lease.partition);
  EXPECT_THAT(reconciled().partitions, ElementsAre(lease.partition));
  EXPECT_THAT(host_.partitions(), ElementsAre("of-others"));
}

TEST_F(DueTest, AReleaseOfAnotherBootHasEndedAlsoInAnotherPidNamespace) {
  base::ProcessId hidden = other_;
  ++hidden.pid_namespace;
  ledger::Lease lease = host_.start("web", 4);
  ASSERT_TRUE(test::succeeds(host_.ledger.begin_release(lease, hidden, "")));
  EXPECT_THAT(reconciled().released, IsEmpty());
  EXPECT_EQ(releases_of(host_.env, lease.pool).take(), Releases::kUnderWay);
  change("UPDATE lease SET boot_id = 'another'");
  EXPECT_EQ(releases_of(host_.env, lease.pool).take(), Releases::kNone);
  EXPECT_THAT(reconciled().released, ElementsAre(lease.id));
  EXPECT_THAT(host_.partitions(), IsEmpty());
}

TEST_F(DueTest, AReleaseOfALeaseOfAnotherBootIsLeftToTheProcessThatWorksOnIt) {
  ledger::Lease lease = run("web", other_);
  change("UPDATE lease SET boot_id = 'another'");
  lease = host_.stored(lease);
  ASSERT_TRUE(test::succeeds(host_.ledger.begin_release(lease, other_, "")));
  EXPECT_THAT(reconciled().released, IsEmpty());
  EXPECT_THAT(host_.partitions(), ElementsAre(lease.partition));
}

TEST_F(DueTest, AStartGetsTheIpusOfAReleaseThatWasKilledJustBeforeItsEnd) {
  ledger::Lease dead = host_.start("dead", 16);
  ASSERT_TRUE(test::succeeds(host_.ledger.begin_release(dead, test::dead_process(), "")));
  ASSERT_TRUE(host_.controller.remove(dead.partition, vipu::Force::kYes, soon()).ok());
  ASSERT_TRUE(test::succeeds(host_.prepare("web", 16)));
  EXPECT_FALSE(ledger::is_live(host_.stored(dead).state));
  EXPECT_THAT(host_.partitions(), ElementsAre(host_.lease_of("web").partition));
}

TEST_F(DueTest, LeavesAFailedReleaseAloneForAWhileUnlessAskedFor) {
  const ledger::Lease lease = run("web", test::dead_process());
  host_.controller.set_unreachable(true);
  EXPECT_THAT(reconciled().obstacles, SizeIs(1));
  EXPECT_EQ(host_.stored(lease).attempts, 1U);
  EXPECT_THAT(reconciled(due()).obstacles, IsEmpty());
  EXPECT_EQ(host_.stored(lease).attempts, 1U);
  wait_for_the_next_attempt();
  EXPECT_THAT(reconciled(due()).obstacles, SizeIs(1));
  EXPECT_EQ(host_.stored(lease).attempts, 2U);
  host_.controller.set_unreachable(false);
  EXPECT_THAT(reconciled().released, ElementsAre(lease.id));
  EXPECT_TRUE(host_.is_empty());
}

TEST_F(DueTest, AsksAControllerThatDoesNotAnswerOnceAPass) {
  const ledger::Lease first = run("a", test::dead_process());
  const ledger::Lease second = run("b", test::dead_process());
  host_.controller.set_unreachable(true);
  host_.asked_controllers.clear();
  EXPECT_THAT(reconciled().obstacles, SizeIs(2));
  EXPECT_THAT(host_.asked_controllers, SizeIs(1));
  for (const ledger::Lease& lease : {first, second}) {
    EXPECT_EQ(host_.stored(lease).state, ledger::LeaseState::kReleasing);
    EXPECT_THAT(host_.stored(lease).obstacle,
                testing::AnyOf(HasSubstr("10.5.1.254:8090"), HasSubstr("down")));
  }
  EXPECT_THAT(host_.lease_directories(), IsEmpty()) << "what needs no controller is undone";
}

TEST_F(DueTest, TakesThoseThatFailedLessFirst) {
  const ledger::Lease older = run("a", test::dead_process());
  const ledger::Lease newer = run("b", test::dead_process());
  change(str("UPDATE lease SET attempts = 3 WHERE id = '", older.id, "'"));
  EXPECT_THAT(reconciled().released, ElementsAre(newer.id, older.id));
}

TEST_F(DueTest, TakesThoseOfOnePoolAlone) {
  const ledger::Lease lease = run("a", test::dead_process());
  EXPECT_THAT(reconciled({Look::kFull, false, "other"}).released, IsEmpty());
  EXPECT_THAT(reconciled({Look::kFull, false, "pod16"}).released, ElementsAre(lease.id));
}

TEST_F(DueTest, SaysWhatCannotBeJudgedAndLeavesIt) {
  base::ProcessId foreign = test::dead_process();
  foreign.pid_namespace += 1;
  const ledger::Lease lease = run("web", foreign);
  const Reconciled done = reconciled();
  EXPECT_THAT(done.released, IsEmpty());
  ASSERT_THAT(done.unknown, SizeIs(1));
  EXPECT_THAT(done.unknown[0].judgement.because, HasSubstr("another pid namespace"));
  EXPECT_EQ(host_.stored(lease).generation, lease.generation);
}

TEST_F(DueTest, GoesOnWithWhatThisProcessBeganToRelease) {
  ledger::Lease lease = run("web", test::dead_process());
  ASSERT_TRUE(
      test::succeeds(host_.ledger.begin_release(lease, base::current_process().value(), "")));
  EXPECT_THAT(reconciled().released, ElementsAre(lease.id));
}

TEST_F(DueTest, GivesLeftPartitionsTheSamePause) {
  leave_half_made(4);
  host_.controller.set_unreachable(true);
  EXPECT_THAT(reconciled().obstacles, SizeIs(1));
  EXPECT_EQ(host_.ledger.partitions().find("pod16", kHalf).take()->attempts, 1U);
  EXPECT_THAT(partitions::find_leftovers(host_.env, due()).take(), IsEmpty());
  EXPECT_THAT(partitions::find_leftovers(host_.env).take(), SizeIs(1));
  change("UPDATE partition SET retry_ms = 1");
  EXPECT_THAT(partitions::find_leftovers(host_.env, due()).take(), SizeIs(1));
}

// ---- the start of a container

TEST_F(DueTest, HasAnotherProcessReconcileWhenAStartFindsAReason) {
  run("dead", test::dead_process());
  EXPECT_EQ(host_.reconciles, 0U);
  ASSERT_TRUE(test::succeeds(host_.prepare("next", 4)));
  EXPECT_EQ(host_.reconciles, 1U);
  EXPECT_EQ(host_.lease_of("dead").state, ledger::LeaseState::kRunning)
      << "the start does not wait for it";
}

TEST_F(DueTest, HasNobodyReconcileWhereAllRun) {
  run("web", other_);
  ASSERT_TRUE(test::succeeds(host_.prepare("next", 4)));
  EXPECT_EQ(host_.reconciles, 0U);
}

TEST_F(DueTest, HasNobodyTryAgainBeforeItsTime) {
  const ledger::Lease dead = run("dead", test::dead_process());
  host_.controller.set_unreachable(true);
  reconciled();
  host_.controller.set_unreachable(false);
  ASSERT_TRUE(test::succeeds(host_.prepare("next", 4)));
  EXPECT_EQ(host_.reconciles, 0U);
  EXPECT_EQ(host_.stored(dead).state, ledger::LeaseState::kReleasing);
}

TEST_F(DueTest, FreesWhatAStartNeedsBeforeItIsRefused) {
  for (const char* name : {"a", "b", "c", "d"}) run(name, test::dead_process());
  ASSERT_TRUE(test::succeeds(host_.prepare("next", 16)));
  EXPECT_EQ(host_.live_leases(), 1U);
}

TEST_F(DueTest, FreesWhatAStartNeedsAlsoBeforeItsTime) {
  for (const char* name : {"a", "b", "c", "d"}) run(name, test::dead_process());
  host_.controller.set_unreachable(true);
  reconciled();
  host_.controller.set_unreachable(false);
  ASSERT_TRUE(test::succeeds(host_.prepare("next", 16)));
}

TEST_F(DueTest, FreesWhatADeadProcessHadHalfMadeForAStartThatNeedsIt) {
  leave_half_made(16);
  ASSERT_TRUE(host_.controller.create({kHalf, 16}, soon()).ok());
  ASSERT_TRUE(test::succeeds(host_.prepare("next", 16)));
  EXPECT_THAT(host_.partitions(), SizeIs(1));
}

TEST_F(DueTest, FindsAPidThatWasTakenOverInSomeQuickLook) {
  base::ProcessId reused = other_;
  reused.start_time += 1;
  run("web", reused);
  EXPECT_THAT(find_suspects(host_.env, {Look::kQuick, true, {}}).take(), SizeIs(1));
}

TEST_F(DueTest, LooksAtOtherLeasesInFullEachTime) {
  constexpr size_t kLeases = 40;
  base::ProcessId reused = other_;
  reused.start_time += 1;
  for (size_t i = 0; i < kLeases; ++i) {
    const ledger::Intent intent{str("job", i), "/b", "", host_.config.pools[0], {}, 1, reused};
    ASSERT_TRUE(test::succeeds(host_.ledger.acquire(intent)));
  }
  std::set<std::string> found;
  for (int look = 0; look < 2000 && found.size() < kLeases; ++look) {
    const std::vector<Judged> seen = find_suspects(host_.env, {Look::kQuick, true, {}}).take();
    EXPECT_LT(seen.size(), kLeases);
    for (const Judged& one : seen) found.insert(one.lease.id);
    base::sleep_for(std::chrono::milliseconds(1), soon());
  }
  EXPECT_THAT(found, SizeIs(kLeases));
}

// ---- what gc --dry-run tells

TEST_F(DueTest, TellsForEachLeaseWhyAndWhatIsThere) {
  const ledger::Lease dead = run("dead", test::dead_process());
  const ledger::Lease alive = run("alive", other_);
  const Remains remains = find_remains(host_.env, soon()).take();
  ASSERT_THAT(remains.leases, SizeIs(2));
  for (const RemainingLease& remaining : remains.leases) {
    if (remaining.judged.lease.id == alive.id) {
      EXPECT_EQ(remaining.judged.judgement.life, Life::kRuns);
      EXPECT_THAT(remaining.effects, IsEmpty());
      continue;
    }
    EXPECT_EQ(remaining.judged.lease.id, dead.id);
    EXPECT_EQ(remaining.judged.judgement.life, Life::kEnded);
    ASSERT_THAT(remaining.effects, SizeIs(2));  // it was never attached
    EXPECT_EQ(remaining.effects[0].first, "partition");
    EXPECT_EQ(remaining.effects[0].second.value(), netns::Presence::kThere);
    EXPECT_EQ(remaining.effects[1].first, "files");
  }
  EXPECT_EQ(host_.live_leases(), 2U);
}

TEST_F(DueTest, TellsThatAControllerIsSilentAndAsksItOnce) {
  run("a", test::dead_process());
  run("b", test::dead_process());
  host_.controller.set_unreachable(true);
  host_.asked_controllers.clear();
  const Remains remains = find_remains(host_.env, soon()).take();
  EXPECT_THAT(host_.asked_controllers, SizeIs(1));
  for (const RemainingLease& remaining : remains.leases) {
    EXPECT_TRUE(test::fails(remaining.effects[0].second, Code::kUnavailable));
  }
}

}  // namespace
}  // namespace hook::lifecycle::end
