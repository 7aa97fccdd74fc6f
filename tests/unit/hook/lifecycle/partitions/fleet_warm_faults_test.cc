// SPDX-License-Identifier: Apache-2.0
// What hosts of a fleet keep warm for each other, while calls fail and hosts work at once.
#include "base/names.h"
#include "base/text.h"
#include "hook/lifecycle/partitions/fleet_claims.h"
#include "hook/lifecycle/partitions/fleet_warm.h"
#include "hook/lifecycle/partitions/joining.h"
#include "tests/support/warm_fleet.h"

namespace hook::lifecycle::partitions {
namespace {

using namespace base::names;
using test::Call;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

using FleetWarmFaultsTest = test::WarmFleet;
using When = test::FakeController::When;

TEST_F(FleetWarmFaultsTest, TwoThatRefillAtOnceMakeNoMore) {
  for (int at = 0; at < 16; ++at) {
    SCOPED_TRACE(at);
    interrupt(a_, at, [&] { EXPECT_THAT(fill(b_).obstacles, IsEmpty()); });
    EXPECT_THAT(fill(a_).obstacles, IsEmpty());
    EXPECT_THAT(warm(), SizeIs(2));
    expect_whole();
    interrupt(a_, -1, [] {});
    keep({});
    fill(a_);
    fill(b_);
    EXPECT_THAT(a_.partitions(), IsEmpty());
    keep({{4, 2}});
  }
}

// The one that removes and the one that takes never both have it.
TEST_F(FleetWarmFaultsTest, IsTakenOrGivenBackButNotBoth) {
  keep({{4, 4}});
  for (int at = 0; at < 6; ++at) {
    SCOPED_TRACE(at);
    fill(a_);
    interrupt(b_, at, [&] {
      EXPECT_TRUE(test::succeeds(give_back_warm(a_.env, a_.config.pools[0], "", 8, soon())));
    });
    const ledger::Lease lease = b_.start(str("web", at), 4);
    interrupt(b_, -1, [] {});
    EXPECT_THAT(a_.partitions(), Contains(lease.partition));
    EXPECT_THAT(warm_names(), Not(Contains(lease.partition)));
    ASSERT_TRUE(test::succeeds(stop(b_, str("web", at))));
    expect_whole();
  }
}

TEST_F(FleetWarmFaultsTest, TwoStartsTakeTwo) {
  b_.start("first", 2);
  ASSERT_TRUE(test::succeeds(stop(b_, "first")));
  for (int at = 0; at < 2; ++at) {  // the look for a warm one, and the take
    SCOPED_TRACE(at);
    fill(a_);
    interrupt(b_, at, [&] { a_.start(str("one", at), 4); });
    const ledger::Lease two = b_.start(str("two", at), 4);
    interrupt(b_, -1, [] {});
    EXPECT_NE(a_.lease_of(str("one", at)).partition, two.partition);
    EXPECT_THAT(a_.partitions(), SizeIs(2));
    ASSERT_TRUE(test::succeeds(stop(a_, str("one", at))));
    ASSERT_TRUE(test::succeeds(stop(b_, str("two", at))));
    expect_whole();
  }
}

// Each call of a start and its end fails, or its answer is lost, or the store is silent from then
// on, once. In the end, what no container has is idle or gone.
TEST_F(FleetWarmFaultsTest, NothingIsLostWithACallOfATakeOrItsAnswer) {
  for (const bool stays_away : {false, true}) {
    for (const Call fate : {Call::kFails, Call::kAnswerIsLost}) {
      int failed = 0;
      for (int at = 0; at < 9; ++at) {
        SCOPED_TRACE(str("call ", at, fate == Call::kFails ? " fails" : " is not answered",
                         stays_away ? ", and no further one" : ""));
        fill(a_);
        auto calls = std::make_shared<int>(0);
        b_.env.store = [this, calls, at, fate, stays_away](const config::FleetConfig&) {
          return std::make_unique<test::LentStore>(store_, [=] {
            const int call = (*calls)++;
            if (call == at) return fate;
            return stays_away && call > at ? Call::kFails : Call::kAnswered;
          });
        };
        const std::string container = str("c", at);
        const Status started = b_.prepare(container, 4);
        const Status stopped = started.ok() ? stop(b_, container) : started;
        failed += started.ok() && stopped.ok() ? 0 : 1;
        interrupt(b_, -1, [] {});
        EXPECT_THAT(gc(b_), IsEmpty());
        EXPECT_THAT(gc(a_), IsEmpty());
        expect_whole();
      }
      EXPECT_GE(failed, 3);
    }
  }
}

// Likewise for a refill, which makes two and removes one.
TEST_F(FleetWarmFaultsTest, NothingIsLostWithACallOfARefillOrItsAnswer) {
  for (const bool stays_away : {false, true}) {
    for (const Call fate : {Call::kFails, Call::kAnswerIsLost}) {
      int failed = 0;
      for (int at = 0; at < 24; ++at) {
        SCOPED_TRACE(str("call ", at, fate == Call::kFails ? " fails" : " is not answered",
                         stays_away ? ", and no further one" : ""));
        keep({{2, 1}});
        fill(a_);
        keep({{4, 2}});
        auto calls = std::make_shared<int>(0);
        a_.env.store = [this, calls, at, fate, stays_away](const config::FleetConfig&) {
          return std::make_unique<test::LentStore>(store_, [=] {
            const int call = (*calls)++;
            if (call == at) return fate;
            return stays_away && call > at ? Call::kFails : Call::kAnswered;
          });
        };
        const Result<Refilled> done = refill(a_.env, a_.config.pools[0], soon());
        failed += done.ok() && done.value().obstacles.empty() ? 0 : 1;
        interrupt(a_, -1, [] {});
        EXPECT_THAT(gc(a_), IsEmpty());
        expect_whole();
        EXPECT_THAT(fill(a_).obstacles, IsEmpty());
        EXPECT_THAT(warm(), SizeIs(2));
        keep({});
        fill(a_);
        EXPECT_THAT(a_.partitions(), IsEmpty());
      }
      EXPECT_GE(failed, 8);
    }
  }
}

TEST_F(FleetWarmFaultsTest, NothingIsLostWithACallToTheControllerOrItsAnswer) {
  for (const When when : {When::kBefore, When::kAfter, When::kAfterAndLeave}) {
    for (const Code code : {Code::kTimeout, Code::kUnavailable, Code::kInternal}) {
      if (code == Code::kUnavailable && when != When::kBefore) continue;  // it made nothing
      a_.before_create = [&] { a_.controller.fail_next(Error(code, "the controller"), when); };
      EXPECT_THAT(fill(a_).obstacles, Not(IsEmpty()));
      a_.before_create = nullptr;
      a_.controller.set_unreachable(false);
      (void)gc(a_);
      (void)gc(a_);
      expect_whole();
    }
  }
}

// The store goes back to where the partition was idle: nobody takes it while it is removed.
TEST_F(FleetWarmFaultsTest, WhatIsIdleAgainIsRemovedInTheStoreFirst) {
  keep({{4, 1}});
  const std::string made = fill(a_).made[0];
  const test::FakeStore older = store_;
  a_.start("web", 4);
  store_ = older;
  a_.controller.fail_next(Error(Code::kInternal, "the controller"), When::kBefore);
  EXPECT_TRUE(test::fails(stop(a_, "web"), Code::kInternal, "the controller"));
  ASSERT_THAT(warm(), SizeIs(1));
  EXPECT_EQ(warm()[0].phase, fleet::WarmPhase::kRemoving);
  EXPECT_NE(b_.start("other", 4).partition, made);
  EXPECT_THAT(gc(a_), IsEmpty());
  ASSERT_TRUE(test::succeeds(stop(b_, "other")));
  expect_whole();
}

// What the fleet still knows is not late, and a silent fleet does not say whose it is.
TEST_F(FleetWarmFaultsTest, WhatCameBackAtTheControllerGoesOnlyIfTheFleetKnowsNobody) {
  keep({{4, 1}});
  const std::string made = fill(a_).made[0];
  a_.start("web", 4);
  ASSERT_TRUE(test::succeeds(stop(a_, "web")));
  ASSERT_THAT(a_.partitions(), IsEmpty());
  vipu::PartitionRequest again;
  again.id = made;
  again.size = 4;
  ASSERT_TRUE(test::succeeds(a_.controller.submit(again, soon())));
  a_.env.store = [this](const config::FleetConfig&) {
    return std::make_unique<test::LentStore>(store_, [] { return Call::kFails; });
  };
  (void)gc(a_);
  EXPECT_THAT(a_.partitions(), ElementsAre(made));
  interrupt(a_, -1, [] {});
  EXPECT_THAT(gc(a_), IsEmpty());
  EXPECT_THAT(a_.partitions(), IsEmpty());
}

// The etcd is gone for good, and so is [fleet].
TEST_F(FleetWarmFaultsTest, WithoutItsFleetAnEndedContainerGoesWithALeave) {
  keep({{4, 1}});
  fill(a_);
  const ledger::Lease lease = a_.start("web", 4);
  a_.config.fleet.reset();
  EXPECT_TRUE(test::fails(stop(a_, "web"), Code::kUnsupported, "and run 'ipuctl fleet leave'"));
  EXPECT_THAT(a_.partitions(), ElementsAre(lease.partition));
  ASSERT_TRUE(test::succeeds(leave_fleet(a_.env, soon())));
  EXPECT_THAT(gc(a_), IsEmpty());
  EXPECT_TRUE(a_.is_empty());
}

// Its id may be there with another partition.
TEST_F(FleetWarmFaultsTest, AClaimOfAnotherPartitionConfirmsNothing) {
  fill(a_);
  const ledger::Lease lease = a_.start("web", 4);
  std::vector<fleet::Grant> had = grants();
  ASSERT_THAT(had, SizeIs(1));
  ASSERT_TRUE(test::succeeds(fleet::ungrant(fleet(), "pod16", lease.claim)));
  had[0].partition = warm_names()[0];
  ASSERT_TRUE(test::succeeds(fleet::grant_again(fleet(), had[0])));
  EXPECT_TRUE(test::fails(confirm_claim(a_.env, lease, soon()), Code::kBusy, "was taken away"));
}

// Of two containers that ended, one has a warm partition, and whose it is only the fleet can say.
TEST_F(FleetWarmFaultsTest, ASilentStoreDoesNotMakeTheControllerASilentOne) {
  keep({{4, 1}});
  const std::string made = fill(a_).made[0];
  std::vector<ledger::Lease> leases = {a_.start("warm", 4), a_.start("own", 2)};
  for (ledger::Lease& lease : leases)
    ASSERT_TRUE(test::succeeds(a_.ledger.mark_running(lease, test::dead_process())));
  int calls = 0;
  a_.env.store = [this, &calls](const config::FleetConfig&) {
    return std::make_unique<test::LentStore>(store_, [&calls] {
      ++calls;
      return Call::kFails;
    });
  };
  Scope scope;
  scope.due_only = true;
  const auto done = end::reconcile(a_.env, soon(), scope).take();
  EXPECT_THAT(done.obstacles, SizeIs(2)) << "both have a claim";
  EXPECT_THAT(a_.partitions(), ElementsAre(made));
  EXPECT_EQ(calls, 1);
  interrupt(a_, -1, [] {});
  EXPECT_THAT(gc(a_), IsEmpty());
  expect_whole();
}

TEST_F(FleetWarmFaultsTest, WhileTheStoreIsSilentNothingIsTakenOrRemoved) {
  fill(a_);
  const std::vector<std::string> before = a_.partitions();
  for (test::HookHost* host : {&a_, &b_}) {
    host->env.store = [this](const config::FleetConfig&) {
      return std::make_unique<test::LentStore>(store_, [] { return Call::kFails; });
    };
  }
  EXPECT_TRUE(test::fails(b_.prepare("web", 4), Code::kUnavailable, "fleet: no member"));
  EXPECT_TRUE(test::fails(b_.prepare("large", 16), Code::kUnavailable, "fleet: no member"));
  EXPECT_TRUE(test::fails(refill(a_.env, a_.config.pools[0], soon()), Code::kUnavailable, "fleet"));
  EXPECT_TRUE(test::fails(give_back_warm(a_.env, a_.config.pools[0], "", 16, soon()),
                          Code::kUnavailable, "fleet"));
  EXPECT_THAT(gc(a_), Not(IsEmpty()));
  EXPECT_EQ(a_.partitions(), before);
}

}  // namespace
}  // namespace hook::lifecycle::partitions
