// SPDX-License-Identifier: Apache-2.0
// A host that joins a fleet with named partitions that containers use.
#include <functional>

#include "base/process.h"
#include "hook/fleet/hosts.h"
#include "hook/fleet/restored.h"
#include "tests/unit/hook/lifecycle/partitions/fleet_fixture.h"

namespace hook::lifecycle::partitions {
namespace {

using testing::ElementsAre;

class JoiningTest : public FleetFixture {
 protected:
  static fleet::HostFacts facts(test::HookHost& host) {
    return {host.ledger.host().tag(), "node", "identity", "1.0", "boot"};
  }
  // Host a leaves while one call to the store is cut, a later one each time, as long as there
  // is one; nobody gets its GCD. THEN is called after each.
  void cut_leaves(Call fate, const std::function<void(int cut)>& then) {
    int cuts = 0;
    for (bool is_done = false; !is_done && cuts < 60; ++cuts) {
      fails_at_ = calls_ + cuts;
      fate_ = fate;
      is_done = leave_fleet(a_.env, soon()).ok() && fails_at_ >= calls_;
      fails_at_ = -1;
      EXPECT_FALSE(start(b_, "two", 0).ok()) << cuts;
      then(cuts);
      if (HasFatalFailure()) return;
    }
    EXPECT_GT(cuts, 8);
  }
};

TEST_F(JoiningTest, WhatAHostHadBeforeIsSharedAsSoonAsItBeats) {
  const config::FleetConfig fleet = *a_.config.fleet;
  a_.config.fleet.reset();
  ASSERT_TRUE(test::succeeds(create(a_)));
  ASSERT_TRUE(test::succeeds(start(a_, "one", 0)));
  std::vector<Error> obstacles;
  share_named(a_.env, soon(), obstacles);
  a_.config.fleet = fleet;
  share_named(a_.env, soon(), obstacles);
  EXPECT_THAT(obstacles, IsEmpty());
  EXPECT_EQ(claims(), 1U);
  EXPECT_TRUE(
      test::fails(adopt_partition(b_.env, b_.config.pools[0], "p0", soon()), Code::kExists));
  EXPECT_TRUE(test::fails(start(b_, "two", 0), Code::kBusy, "container one on host"));
  ASSERT_TRUE(test::succeeds(start(b_, "two", 1)));
  const int before = calls_;
  share_named(a_.env, soon(), obstacles);
  EXPECT_EQ(calls_, before) << "there is nothing to share";
}

TEST_F(JoiningTest, WhatAHostHadBeforeIsSharedByGcAndAConflictIsTold) {
  const config::FleetConfig fleet = *a_.config.fleet;
  a_.config.fleet.reset();
  ASSERT_TRUE(test::succeeds(create(a_)));
  ASSERT_TRUE(test::succeeds(start(a_, "one", 0)));
  a_.config.fleet = fleet;
  EXPECT_THAT(gc(a_), IsEmpty());
  EXPECT_EQ(claims(), 1U);
  b_.config.fleet.reset();
  ASSERT_TRUE(test::succeeds(adopt_partition(b_.env, b_.config.pools[0], "p0", soon())));
  b_.config.fleet = fleet;
  const auto obstacles = gc(b_);
  ASSERT_EQ(obstacles.size(), 1U);
  EXPECT_THAT(obstacles[0].message(), HasSubstr("made on host"));
}

// A start here that does not know of the fleet may begin at each moment, until the ledger does.
TEST_F(JoiningTest, APartitionIsOfAllOnceItsContainersAreClaimed) {
  const config::FleetConfig fleet = *a_.config.fleet;
  for (const Call fate : {Call::kFails, Call::kAnswerIsLost}) {
    int cuts = 0;
    for (bool is_shared = false; !is_shared && cuts < 30; ++cuts) {
      a_.config.fleet.reset();
      ASSERT_TRUE(test::succeeds(create(a_)));
      ASSERT_TRUE(test::succeeds(start(a_, "one", 0)));
      a_.config.fleet = fleet;
      std::vector<Error> obstacles;
      fails_at_ = calls_ + cuts;
      fate_ = fate;
      share_named(a_.env, soon(), obstacles);
      is_shared = fails_at_ >= calls_;
      fails_at_ = -1;
      const auto row = a_.ledger.partitions().find("pod16", "p0").take();
      EXPECT_FALSE(start(b_, "two", 0).ok()) << cuts;
      if (row->fleet.empty()) {
        EXPECT_FALSE(start(b_, "two", 1).ok()) << cuts;
      }
      EXPECT_THAT(gc(a_), IsEmpty()) << cuts;
      EXPECT_EQ(claims(), 1U) << cuts;
      ASSERT_TRUE(test::succeeds(start(b_, "two", 1))) << cuts;
      for (test::HookHost* host : {&a_, &b_}) {
        for (const ledger::Lease& lease : host->ledger.live().take())
          ASSERT_TRUE(test::succeeds(stop(*host, lease.container)));
      }
      ASSERT_TRUE(
          remove_partition(a_.env, a_.config.pools[0], "p0", vipu::Force::kNo, soon()).ok());
    }
    EXPECT_GT(cuts, 4);
  }
}

TEST_F(JoiningTest, WhatTheCopyDoesNotKnowOrHasAsRemovedIsKnownAgain) {
  ASSERT_TRUE(test::succeeds(create(a_)));
  ASSERT_TRUE(test::succeeds(start(a_, "one", 0)));
  const auto ask = [&](fleet::Txn txn) {
    txn.puts.push_back({fleet::restored_key(kPrefix_, a_.ledger.host().tag()), "{}"});
    ASSERT_TRUE(test::succeeds(store_.commit(txn, soon())));
  };
  fleet::Txn older;
  for (const auto& one : store_.list(kPrefix_ + "partitions/", soon()).take().keys)
    older.deletes.push_back(one.key);
  ask(older);
  EXPECT_THAT(gc(a_), IsEmpty());
  EXPECT_EQ(claims(), 1U);
  EXPECT_THAT(fleet::untold_hosts(this->fleet()).take(), IsEmpty());
  ASSERT_TRUE(test::succeeds(fleet::begin_removal(this->fleet(), {"pod16", "p0"},
                                                  a_.ledger.host().tag(), fleet::Takes::kOwn)));
  EXPECT_THAT(gc(a_), testing::SizeIs(1)) << "says that it is half removed";
  EXPECT_FALSE(start(b_, "two", 1).ok()) << "a removal that runs is not ended";
  ask({});
  EXPECT_THAT(gc(a_), IsEmpty());
  EXPECT_TRUE(test::succeeds(start(b_, "two", 1)));
}

TEST_F(JoiningTest, AHostLeavesWithThePartitionThatItsContainersHave) {
  ASSERT_TRUE(test::succeeds(create(a_)));
  ASSERT_TRUE(test::succeeds(start(a_, "one", 0)));
  a_.start("own", 2);
  ASSERT_TRUE(test::succeeds(fleet::beat(store_, kPrefix_, facts(a_), 1, soon())));
  const LeftFleet left = leave_fleet(a_.env, soon()).take();
  EXPECT_THAT(left.kept, ElementsAre("p0"));
  EXPECT_THAT(left.forgotten, IsEmpty());
  for (const char* const below : {"partitions/pod16/p0/claims/", "grants/", "hosts/", "alive/"})
    EXPECT_THAT(store_.list(kPrefix_ + below, soon()).take().keys, IsEmpty()) << below;
  // Another host neither uses nor adopts it.
  EXPECT_TRUE(test::fails(start(b_, "two", 1), Code::kBusy, "left the fleet with it"));
  EXPECT_TRUE(test::fails(adopt_partition(b_.env, b_.config.pools[0], "p0", soon()), Code::kBusy,
                          "left the fleet with it"));
  EXPECT_THAT(gc(b_), IsEmpty());
  // Until [fleet] is gone, this host begins nothing, and shares nothing again.
  EXPECT_TRUE(test::fails(start(a_, "three", 1), Code::kDenied, "has left fleet"));
  std::vector<Error> obstacles;
  share_named(a_.env, soon(), obstacles);
  EXPECT_THAT(gc(a_), IsEmpty());
  EXPECT_EQ(claims(), 0U);
  EXPECT_THAT(store_.list(kPrefix_ + "grants/", soon()).take().keys, IsEmpty());
  a_.config.fleet.reset();
  EXPECT_TRUE(test::fails(start(a_, "three", 0), Code::kBusy));
  ASSERT_TRUE(test::succeeds(start(a_, "three", 1)));
  EXPECT_EQ(a_.controller.resets("p0"), 0U) << "under a container";
  ASSERT_TRUE(test::succeeds(stop(a_, "one")));
  ASSERT_TRUE(test::succeeds(stop(a_, "three")));
  ASSERT_TRUE(test::succeeds(stop(a_, "own")));
  EXPECT_THAT(gc(a_), IsEmpty());
}

TEST_F(JoiningTest, AHostThatLeftComesBackWhenItIsTold) {
  ASSERT_TRUE(test::succeeds(create(a_)));
  ASSERT_TRUE(test::succeeds(start(a_, "one", 0)));
  ASSERT_TRUE(leave_fleet(a_.env, soon()).ok());
  ASSERT_TRUE(test::succeeds(a_.ledger.host().come_back()));
  EXPECT_THAT(gc(a_), IsEmpty());
  EXPECT_EQ(claims(), 1U);
  EXPECT_TRUE(test::succeeds(start(b_, "two", 1)));
}

TEST_F(JoiningTest, AHostDoesNotLeaveWithWhatOthersUseOrMade) {
  ASSERT_TRUE(test::succeeds(create(a_)));
  ASSERT_TRUE(test::succeeds(start(b_, "two", 1)));
  EXPECT_TRUE(test::fails(leave_fleet(b_.env, soon()), Code::kBusy, "was made on host"));
  ASSERT_TRUE(test::succeeds(start(a_, "one", 0)));
  EXPECT_TRUE(test::fails(leave_fleet(a_.env, soon()), Code::kBusy, "container two on host"));
  // Nothing has changed.
  ASSERT_TRUE(test::succeeds(start(a_, "three", 2)));
  ASSERT_TRUE(test::succeeds(stop(b_, "two")));
  EXPECT_THAT(leave_fleet(b_.env, soon()).take().forgotten, ElementsAre("p0"));
  EXPECT_THAT(leave_fleet(a_.env, soon()).take().kept, ElementsAre("p0"));
}

TEST_F(JoiningTest, ALeaveThatIsCutShortIsUndoneByWhoStays) {
  ASSERT_TRUE(test::succeeds(create(a_)));
  ASSERT_TRUE(test::succeeds(start(a_, "one", 0)));
  for (const Call fate : {Call::kFails, Call::kAnswerIsLost}) {
    cut_leaves(fate, [&](int cut) {
      ASSERT_TRUE(test::succeeds(a_.ledger.host().come_back()));
      EXPECT_THAT(gc(a_), IsEmpty()) << cut;
      EXPECT_EQ(claims(), 1U) << cut;
      ASSERT_TRUE(test::succeeds(start(b_, "two", 1))) << cut;
      ASSERT_TRUE(test::succeeds(stop(b_, "two"))) << cut;
    });
  }
}

TEST_F(JoiningTest, ALeaveThatGoesOnTellsAllThatTheHostKeeps) {
  ASSERT_TRUE(test::succeeds(create(a_)));
  ASSERT_TRUE(test::succeeds(start(a_, "one", 0)));
  int cuts = 0;
  for (bool is_done = false; !is_done && cuts < 60; ++cuts) {
    fails_at_ = calls_ + cuts;
    fate_ = Call::kFails;
    const Result<LeftFleet> first = leave_fleet(a_.env, soon());
    is_done = first.ok() && fails_at_ >= calls_;
    fails_at_ = -1;
    if (!first.ok()) {
      EXPECT_THAT(leave_fleet(a_.env, soon()).take().kept, ElementsAre("p0")) << cuts;
    }
    ASSERT_TRUE(test::succeeds(a_.ledger.host().come_back()));
    EXPECT_THAT(gc(a_), IsEmpty()) << cuts;
  }
  EXPECT_GT(cuts, 8);
}

// Of before the leave; what began since is not in it.
TEST_F(JoiningTest, AHostThatLeftComesBackToAnOlderStore) {
  ASSERT_TRUE(test::succeeds(create(a_)));
  ASSERT_TRUE(test::succeeds(start(a_, "one", 0)));
  EXPECT_THAT(gc(b_), IsEmpty());
  const test::FakeStore snapshot = store_;
  ASSERT_TRUE(leave_fleet(a_.env, soon()).ok());
  const config::FleetConfig fleet = *a_.config.fleet;
  a_.config.fleet.reset();
  ASSERT_TRUE(test::succeeds(start(a_, "three", 1)));
  store_ = snapshot;
  a_.config.fleet = fleet;
  ASSERT_TRUE(test::succeeds(a_.ledger.host().come_back()));
  (void)gc(a_);
  EXPECT_THAT(gc(a_), IsEmpty());
  EXPECT_EQ(claims(), 2U);
  EXPECT_FALSE(start(b_, "two", 1).ok());
  EXPECT_FALSE(start(b_, "two", 0).ok());
  EXPECT_THAT(leave_fleet(a_.env, soon()).take().kept, ElementsAre("p0"));
  EXPECT_FALSE(start(b_, "two", 0).ok());
}

// Its containers may go on with it.
TEST_F(JoiningTest, WhatAHostLeftWithIsForgottenOnceItIsGone) {
  ASSERT_TRUE(test::succeeds(create(a_)));
  ASSERT_TRUE(test::succeeds(start(a_, "one", 0)));
  const std::string tag = a_.ledger.host().tag();
  EXPECT_FALSE(forget_left(b_.env, b_.config.pools, tag, soon()).take());
  ASSERT_TRUE(leave_fleet(a_.env, soon()).ok());
  EXPECT_TRUE(test::fails(forget_left(b_.env, b_.config.pools, tag, soon()), Code::kBusy,
                          "is still there"));
  std::vector<config::PoolConfig> others = b_.config.pools;
  others[0].name = "other";
  others[0].controller = "10.9.9.9:8090";
  EXPECT_TRUE(test::fails(forget_left(b_.env, others, tag, soon()), Code::kBusy,
                          "which no pool of this host has"));
  others[0].name = b_.config.pools[0].name;
  EXPECT_TRUE(test::fails(forget_left(b_.env, others, tag, soon()), Code::kBusy));
  const auto controller = a_.env.controller(a_.config.pools[0]);
  ASSERT_TRUE(test::succeeds(controller->remove("p0", vipu::Force::kYes, soon())));
  EXPECT_TRUE(forget_left(b_.env, b_.config.pools, tag, soon()).take());
  EXPECT_TRUE(test::succeeds(create(b_)));
}

TEST_F(JoiningTest, AFencedHostDoesNotLeave) {
  ASSERT_TRUE(test::succeeds(create(a_)));
  ASSERT_TRUE(test::succeeds(start(a_, "one", 0)));
  ASSERT_TRUE(test::succeeds(
      fleet::begin_fence(fleet(), a_.ledger.host().tag(), "bbbbbbbb", 1, fleet::IfAlive::kFence)));
  EXPECT_TRUE(test::fails(leave_fleet(a_.env, soon()), Code::kDenied, "declared dead"));
  EXPECT_TRUE(test::succeeds(a_.ledger.host().check_in(kPrefix_)));
}

TEST_F(JoiningTest, NobodyTakesIpusOfAFleetThatTheHostLeaves) {
  ASSERT_TRUE(test::succeeds(create(a_)));
  ASSERT_TRUE(test::succeeds(start(a_, "one", 0)));
  const ledger::Lease own = a_.start("own", 2);
  ASSERT_TRUE(test::succeeds(a_.ledger.host().begin_leaving()));
  // A start that passed all checks before, and a gc that began before.
  request::Request request;
  request.ipus = 2;
  EXPECT_TRUE(test::fails(a_.prepare("late", request), Code::kDenied, "has begun to leave"));
  ASSERT_TRUE(test::succeeds(a_.ledger.partitions().disclaim_own()));
  EXPECT_TRUE(test::fails(a_.ledger.partitions().claim_own(own, kPrefix_), Code::kDenied));
  // What it has still ends.
  EXPECT_TRUE(test::succeeds(stop(a_, "one")));
}

TEST_F(JoiningTest, ALeaveThatIsCutShortGoesOn) {
  ASSERT_TRUE(test::succeeds(create(a_)));
  ASSERT_TRUE(test::succeeds(start(a_, "one", 0)));
  for (const Call fate : {Call::kFails, Call::kAnswerIsLost}) {
    cut_leaves(fate, [&](int cut) {
      // It leaves again, from wherever it was.
      ASSERT_TRUE(leave_fleet(a_.env, soon()).ok()) << cut;
      EXPECT_EQ(claims(), 0U) << cut;
      ASSERT_TRUE(test::succeeds(a_.ledger.host().come_back()));
      EXPECT_THAT(gc(a_), IsEmpty()) << cut;
      EXPECT_EQ(claims(), 1U) << cut;
    });
  }
}

// etcd's own snapshot, or a copy of its data, lacks what was claimed since.
TEST_F(JoiningTest, AStoreThatWentBackGivesNothingTwice) {
  ASSERT_TRUE(test::succeeds(create(a_)));
  ASSERT_TRUE(test::succeeds(start(b_, "zero", 0)));  // joins
  EXPECT_THAT(gc(a_), IsEmpty());
  EXPECT_THAT(gc(b_), IsEmpty());
  const test::FakeStore snapshot = store_;
  ASSERT_TRUE(test::succeeds(start(b_, "two", 1)));
  EXPECT_THAT(gc(a_), IsEmpty());
  EXPECT_THAT(gc(b_), IsEmpty());
  store_ = snapshot;
  EXPECT_TRUE(test::fails(start(a_, "one", 1), Code::kDenied, "etcd has gone back to an older"));
  auto obstacles = gc(a_);
  ASSERT_EQ(obstacles.size(), 1U);
  EXPECT_THAT(obstacles[0].message(), HasSubstr("until each host has told what it has"));
  EXPECT_THAT(gc(a_), IsEmpty()) << "it is said once";
  EXPECT_TRUE(test::fails(start(a_, "one", 1), Code::kBusy, "has not told since"));
  EXPECT_EQ(gc(b_).size(), 1U);
  EXPECT_EQ(claims(), 2U);
  EXPECT_THAT(fleet::untold_hosts(fleet()).take(), IsEmpty());
  EXPECT_TRUE(test::fails(start(a_, "one", 1), Code::kBusy, "container two on host"));
  EXPECT_TRUE(test::succeeds(start(a_, "one", 2)));
  EXPECT_THAT(gc(a_), IsEmpty());
  EXPECT_THAT(gc(b_), IsEmpty());
}

// The copy still says that another container has it: nobody may take the GCD when that goes.
TEST_F(JoiningTest, AHostHasNotToldWhileAContainerOfItHasNoClaim) {
  ASSERT_TRUE(test::succeeds(create(a_)));
  ASSERT_TRUE(test::succeeds(start(a_, "one", 0)));
  fleet::Txn restored;
  const std::string claims = kPrefix_ + "partitions/pod16/p0/claims/";
  for (const auto& one : store_.list(claims, soon()).take().keys)
    restored.deletes.push_back(one.key);
  restored.puts = {{fleet::restored_key(kPrefix_, a_.ledger.host().tag()), "{}"}};
  ASSERT_TRUE(test::succeeds(store_.commit(restored, soon())));
  fleet::Claim past;
  past.id = "past";
  past.host = b_.ledger.host().tag();
  past.container = "ended";
  past.uses = true;
  ASSERT_TRUE(test::succeeds(fleet::claim_running(fleet(), {"pod16", "p0"}, past)));
  EXPECT_FALSE(gc(a_).empty());
  EXPECT_THAT(fleet::untold_hosts(fleet()).take(), testing::SizeIs(1));
  EXPECT_TRUE(test::fails(start(b_, "two", 1), Code::kBusy, "has not told"));
  EXPECT_THAT(gc(b_), IsEmpty());  // removes what has ended
  EXPECT_TRUE(test::fails(start(b_, "two", 0), Code::kBusy));
  EXPECT_THAT(gc(a_), IsEmpty());
  EXPECT_THAT(fleet::untold_hosts(fleet()).take(), IsEmpty());
  EXPECT_TRUE(test::fails(start(b_, "two", 0), Code::kBusy, "container one on host"));
}

// The controller may carry out a removal that is on its way after another host has claimed a GCD.
// One that was cut short goes on when all hosts have told, and so must not keep its own from it.
TEST_F(JoiningTest, AHostHasNotToldWhileItRemovesAPartition) {
  ASSERT_TRUE(test::succeeds(create(a_)));
  EXPECT_THAT(gc(b_), IsEmpty());
  ledger::PartitionRecord row = a_.ledger.partitions().find("pod16", "p0").take().value();
  const base::ProcessId self = base::current_process().take();
  ASSERT_TRUE(test::succeeds(a_.ledger.partitions().begin_removal(row, self, vipu::Force::kNo)));
  fleet::Txn restored;
  restored.puts = {{fleet::restored_key(kPrefix_, a_.ledger.host().tag()), "{}"}};
  ASSERT_TRUE(test::succeeds(store_.commit(restored, soon())));
  EXPECT_THAT(gc(a_), IsEmpty());
  EXPECT_TRUE(test::fails(start(b_, "two", 0), Code::kBusy, "has not told"));
  ASSERT_TRUE(test::succeeds(a_.ledger.partitions().note_failure(row)));
  EXPECT_THAT(gc(a_), testing::SizeIs(1)) << "says that the removal was cut short";
  EXPECT_THAT(fleet::untold_hosts(fleet()).take(), IsEmpty());
  EXPECT_TRUE(
      test::succeeds(remove_partition(a_.env, a_.config.pools[0], "p0", vipu::Force::kNo, soon())));
  EXPECT_FALSE(view());
}

TEST_F(JoiningTest, AStartWhoseAddressIsNotClaimedDoesNotRun) {
  ASSERT_TRUE(test::succeeds(create(a_)));
  ASSERT_TRUE(test::succeeds(start(a_, "one", 0)));
  ledger::Lease lease = a_.ledger.live().take().front();
  EXPECT_TRUE(test::succeeds(confirm_claim(a_.env, lease, soon())));
  lease.rails.resize(1);
  lease.rails[0].address = netns::parse_address("10.5.0.1").take();
  lease.rails[0].by_ipu = true;
  lease.origin = ledger::Origin::kShared;
  EXPECT_TRUE(test::fails(confirm_claim(a_.env, lease, soon()), Code::kBusy, "was taken away"));
}

}  // namespace
}  // namespace hook::lifecycle::partitions
