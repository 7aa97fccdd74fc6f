// SPDX-License-Identifier: Apache-2.0
// Two hosts of a fleet, with one controller, and partitions that operators name.
#include <algorithm>

#include "tests/unit/hook/lifecycle/partitions/fleet_fixture.h"

namespace hook::lifecycle::partitions {
namespace {

using vipu::Force;

class FleetTest : public FleetFixture {
 protected:
  static Result<RemovedPartition> remove(test::HookHost& host, Force force = Force::kNo) {
    return remove_partition(host.env, host.config.pools[0], "p0", force, soon());
  }
  static Status reset(test::HookHost& host) {
    return reset_partition(host.env, host.config.pools[0], "p0", vipu::Relocate::kNo, soon());
  }
  uint32_t resets() { return a_.controller.resets("p0"); }
};

TEST_F(FleetTest, AContainerUsesAPartitionOfAnotherHost) {
  ASSERT_TRUE(test::succeeds(create(a_)));
  ASSERT_TRUE(test::succeeds(start(a_, "one", 0)));
  ASSERT_TRUE(test::succeeds(start(b_, "two", 1)));
  EXPECT_EQ(claims(), 2U);
  EXPECT_EQ(b_.lease_of("two").claim, b_.lease_of("two").id);
  EXPECT_EQ(resets(), 0U);
  ASSERT_TRUE(test::succeeds(stop(a_, "one")));
  ASSERT_TRUE(test::succeeds(stop(b_, "two")));
  EXPECT_EQ(claims(), 0U);
}

TEST_F(FleetTest, AGcdOfAnotherHostIsRefusedByItsName) {
  ASSERT_TRUE(test::succeeds(create(a_)));
  ASSERT_TRUE(test::succeeds(start(a_, "one", 0)));
  EXPECT_TRUE(test::fails(start(b_, "two", 0), Code::kBusy,
                          str("container one on host ", a_.ledger.host().tag())));
  EXPECT_EQ(b_.live_leases(), 0U);
  EXPECT_EQ(claims(), 1U);
}

TEST_F(FleetTest, APartitionIsResetBetweenContainersOfTwoHosts) {
  ASSERT_TRUE(test::succeeds(create(a_)));
  ASSERT_TRUE(test::succeeds(start(a_, "one", 0)));
  ASSERT_TRUE(test::succeeds(stop(a_, "one")));
  ASSERT_TRUE(test::succeeds(start(b_, "two", 0)));
  EXPECT_EQ(resets(), 1U);
  ASSERT_TRUE(test::succeeds(start(a_, "three", 1)));  // not under the other container
  EXPECT_EQ(resets(), 1U);
}

TEST_F(FleetTest, NobodyResetsOrRemovesItUnderAContainerOfAnotherHost) {
  ASSERT_TRUE(test::succeeds(create(a_)));
  ASSERT_TRUE(test::succeeds(start(b_, "two", 1)));
  const std::string who = str("container two on host ", b_.ledger.host().tag());
  EXPECT_TRUE(test::fails(reset(a_), Code::kBusy, who));
  EXPECT_TRUE(test::fails(remove(a_), Code::kBusy, who));
  EXPECT_TRUE(test::fails(remove(a_, Force::kYes), Code::kBusy, who));
  EXPECT_EQ(resets(), 0U);
  EXPECT_EQ(a_.partitions(), std::vector<std::string>{"p0"});
  ASSERT_TRUE(test::succeeds(stop(b_, "two")));
  ASSERT_TRUE(test::succeeds(reset(a_)));
  EXPECT_EQ(resets(), 1U);
  ASSERT_TRUE(test::succeeds(start(b_, "three", 1)));
  EXPECT_EQ(resets(), 1U);  // it is clean
  ASSERT_TRUE(test::succeeds(stop(b_, "three")));
  ASSERT_TRUE(test::succeeds(remove(a_)));
  EXPECT_FALSE(view());
}

TEST_F(FleetTest, AnyHostRemovesIt) {
  ASSERT_TRUE(test::succeeds(create(a_)));
  ASSERT_TRUE(test::succeeds(remove(b_)));
  EXPECT_THAT(a_.partitions(), IsEmpty());
  EXPECT_TRUE(test::fails(start(a_, "one", 0), Code::kNotFound, "has no partition 'p0'"));
  EXPECT_FALSE(a_.ledger.partitions().find("pod16", "p0").take());
  ASSERT_TRUE(test::succeeds(create(a_, 4, 2)));
  ASSERT_TRUE(test::succeeds(start(b_, "two", 1)));
}

TEST_F(FleetTest, ACopyOfWhatAnotherHostRemovedIsNoDifference) {
  const auto differences = [&] { return compare_fleet(a_.env, a_.config.pools, soon()); };
  ASSERT_TRUE(test::succeeds(create(a_)));
  ASSERT_TRUE(test::succeeds(remove(b_)));
  EXPECT_TRUE(a_.ledger.partitions().find("pod16", "p0").take());
  EXPECT_THAT(differences(), IsEmpty());
  // An older copy of the store: the controller has it nevertheless.
  ASSERT_TRUE(a_.controller.create({"p0", 8}, soon()).ok());
  ASSERT_EQ(differences().size(), 1U);
  EXPECT_THAT(differences()[0].message(), HasSubstr("etcd does not"));
}

TEST_F(FleetTest, ACopyOfWhatAContainerHasIsADifference) {
  ASSERT_TRUE(test::succeeds(create(a_)));
  ASSERT_TRUE(test::succeeds(start(a_, "one", 0)));
  ASSERT_TRUE(a_.controller.remove("p0", Force::kYes, soon()).ok());
  fleet::Txn lost;
  lost.deletes = {kPrefix_ + "partitions/pod16/p0/record"};
  ASSERT_TRUE(store_.commit(lost, soon()).ok());
  const std::vector<Error> found = compare_fleet(a_.env, a_.config.pools, soon());
  EXPECT_TRUE(std::any_of(found.begin(), found.end(), [](const Error& one) {
    return one.message().find("this host knows partition") != std::string::npos;
  }));
}

TEST_F(FleetTest, OneThatIsMadeAnewIsKnownAnew) {
  ASSERT_TRUE(test::succeeds(create(a_)));
  ASSERT_TRUE(test::succeeds(start(b_, "two", 3)));
  ASSERT_TRUE(test::succeeds(stop(b_, "two")));
  ASSERT_TRUE(test::succeeds(remove(a_)));
  ASSERT_TRUE(test::succeeds(create(a_, 4, 2)));
  EXPECT_TRUE(test::fails(start(b_, "two", 3), Code::kInvalid, "has no GCD 3"));
  ASSERT_TRUE(test::succeeds(start(b_, "two", 1)));
  EXPECT_EQ(b_.lease_of("two").ipus, 2U);
}

TEST_F(FleetTest, ANameIsGivenOnceAndTheLedgerHasItFirst) {
  a_.env.controller = [&](const config::PoolConfig& pool) {
    EXPECT_TRUE(!view() || a_.ledger.partitions().find("pod16", "p0").take());
    return b_.env.controller(pool);
  };
  ASSERT_TRUE(test::succeeds(create(a_)));
  EXPECT_THAT(create(b_).error().message(), HasSubstr("made on host " + a_.ledger.host().tag()));
}

TEST_F(FleetTest, WhatCouldNotBeMadeHasNoName) {
  EXPECT_FALSE(create(a_, 64, 4).ok());
  EXPECT_FALSE(view());
  ASSERT_TRUE(test::succeeds(create(b_)));
}

TEST_F(FleetTest, WhatAHostHadBeforeItIsSharedWithItsContainers) {
  const config::FleetConfig fleet = *a_.config.fleet;
  a_.config.fleet.reset();
  ASSERT_TRUE(test::succeeds(create(a_)));
  ASSERT_TRUE(test::succeeds(start(a_, "one", 0)));
  EXPECT_FALSE(view());
  a_.config.fleet = fleet;
  ASSERT_TRUE(test::succeeds(start(a_, "two", 1)));
  EXPECT_EQ(claims(), 2U);
  EXPECT_TRUE(test::fails(start(b_, "three", 0), Code::kBusy, "container one on host"));
  EXPECT_THAT(gc(a_), IsEmpty());
  EXPECT_EQ(claims(), 2U);
  ASSERT_TRUE(test::succeeds(stop(a_, "one")));
  EXPECT_EQ(claims(), 1U);
}

TEST_F(FleetTest, AStoreOfANewerReleaseIsLeftAlone) {
  fleet::Txn txn;
  txn.puts = {{"/f/meta", R"({"version":2,"id":"00"})"}};
  ASSERT_TRUE(test::succeeds(store_.commit(txn, soon())));
  EXPECT_TRUE(test::fails(create(a_), Code::kUnsupported, "install a newer release"));
  EXPECT_TRUE(test::fails(start(a_, "one", 0), Code::kUnsupported, "install a newer release"));
  EXPECT_THAT(a_.partitions(), IsEmpty());
}

TEST_F(FleetTest, AHostThatLeftItsFleetUsesNothingOfIt) {
  ASSERT_TRUE(test::succeeds(create(a_)));
  ASSERT_TRUE(test::succeeds(start(a_, "one", 0)));
  const config::FleetConfig fleet = *a_.config.fleet;
  a_.config.fleet.reset();
  EXPECT_TRUE(test::fails(start(a_, "two", 1), Code::kUnsupported, "no [fleet]"));
  EXPECT_TRUE(test::fails(stop(a_, "one"), Code::kUnsupported, "no [fleet]"));
  EXPECT_TRUE(test::fails(adopt_partition(a_.env, a_.config.pools[0], "p0", soon()),
                          Code::kUnsupported, "ipuctl fleet leave"));
  EXPECT_TRUE(test::fails(create(a_), Code::kUnsupported, "ipuctl fleet leave"));
  EXPECT_TRUE(test::fails(leave_fleet(a_.env, soon()), Code::kBusy, "one"));
  EXPECT_EQ(claims(), 1U);
  a_.config.fleet = fleet;
  EXPECT_THAT(gc(a_), IsEmpty());
  EXPECT_EQ(claims(), 0U);
  EXPECT_EQ(a_.live_leases(), 0U);
  a_.config.fleet->prefix = "/other/";
  EXPECT_TRUE(test::fails(start(a_, "three", 0), Code::kUnsupported, "another 'prefix'"));
  a_.config.fleet.reset();
  EXPECT_EQ(leave_fleet(a_.env, soon()).take().forgotten, std::vector<std::string>{"p0"});
  ASSERT_TRUE(test::succeeds(adopt_partition(a_.env, a_.config.pools[0], "p0", soon())));
  ASSERT_TRUE(test::succeeds(start(b_, "four", 1)));  // the other host stays in it
}

TEST_F(FleetTest, ARequestThatWaitsWaitsForEtcdAndSaysWhoHasItsGcd) {
  ASSERT_TRUE(test::succeeds(create(a_)));
  request::Request request;
  request.partition = "p0";
  request.gcd = 0;
  request.wait = std::chrono::seconds(20);
  for (int at = 0; at < 4; ++at) {
    SCOPED_TRACE(at);
    calls_ = 0;
    fails_at_ = at;
    fate_ = Call::kFails;
    ASSERT_TRUE(test::succeeds(b_.prepare(str("c", at), request)));
    fails_at_ = -1;
    ASSERT_TRUE(test::succeeds(stop(b_, str("c", at))));
  }
  ASSERT_TRUE(test::succeeds(start(a_, "one", 0)));
  request.wait = std::chrono::milliseconds(300);
  EXPECT_TRUE(test::fails(b_.prepare("late", request), Code::kBusy, "container one on host"));
}

TEST_F(FleetTest, WhatAnotherHostMakesOrRemovesIsSaidSo) {
  ASSERT_TRUE(test::succeeds(create(a_)));
  const std::string& me = a_.ledger.host().tag();
  ASSERT_TRUE(test::succeeds(
      fleet::begin_removal({store_, kPrefix_, soon()}, {"pod16", "p0"}, me, fleet::Takes::kNone)));
  const std::string says = str("is being removed by host ", me);
  EXPECT_TRUE(test::fails(start(b_, "two", 0), Code::kBusy, says));
  EXPECT_TRUE(test::fails(create(b_), Code::kBusy, says));
  EXPECT_TRUE(test::fails(remove(b_), Code::kBusy, says));
  ASSERT_TRUE(test::succeeds(remove(a_)));
  ASSERT_TRUE(test::succeeds(create(b_)));
}

// Both hosts know it as their own: one has adopted what the other one made.
TEST_F(FleetTest, AnAdoptedOneCanBeForgottenWhateverTheFleetHas) {
  const config::FleetConfig fleet = *b_.config.fleet;
  b_.config.fleet.reset();
  ASSERT_TRUE(a_.controller.create({"p0", 8}, soon()).ok());
  ASSERT_TRUE(test::succeeds(adopt_partition(b_.env, b_.config.pools[0], "p0", soon())));
  ASSERT_TRUE(test::succeeds(adopt_partition(a_.env, a_.config.pools[0], "p0", soon())));
  b_.config.fleet = fleet;
  EXPECT_TRUE(test::fails(start(b_, "two", 0), Code::kExists, "on the host that adopted it"));
  EXPECT_TRUE(remove(b_).take().forgotten);
  ASSERT_TRUE(test::succeeds(start(b_, "two", 0)));
}

// Each call to the store fails, or its answer is lost, once. In the end nothing is claimed.
TEST_F(FleetTest, NothingIsLostWithACallOrItsAnswer) {
  ASSERT_TRUE(test::succeeds(create(a_)));
  ASSERT_TRUE(test::succeeds(start(b_, "before", 1)));
  ASSERT_TRUE(test::succeeds(stop(b_, "before")));  // so that the next start resets it
  for (const Call fate : {Call::kFails, Call::kAnswerIsLost}) {
    int failed = 0;
    for (int at = 0; at < 12; ++at) {
      SCOPED_TRACE(str("call ", at, fate == Call::kFails ? " fails" : " is not answered"));
      calls_ = 0;
      fails_at_ = at;
      fate_ = fate;
      const Status started = start(a_, str("c", at), 0);
      const Status stopped = started.ok() ? stop(a_, str("c", at)) : started;
      failed += started.ok() && stopped.ok() ? 0 : 1;
      fails_at_ = -1;
      EXPECT_THAT(gc(a_), IsEmpty());
      EXPECT_EQ(a_.live_leases(), 0U);
      EXPECT_EQ(claims(), 0U);
    }
    EXPECT_GE(failed, 4);
  }
  ASSERT_TRUE(test::succeeds(start(b_, "after", 0)));
}

// Each call of a creation and a removal fails, or its answer is lost, once. The name can be given
// again in the end.
TEST_F(FleetTest, NoNameIsLostWithACallOrItsAnswer) {
  for (const Call fate : {Call::kFails, Call::kAnswerIsLost}) {
    for (int at = 0; at < 14; ++at) {
      SCOPED_TRACE(str("call ", at, fate == Call::kFails ? " fails" : " is not answered"));
      calls_ = 0;
      fails_at_ = at;
      fate_ = fate;
      const Status created = create(a_);
      if (created.ok()) (void)remove(a_);
      fails_at_ = -1;
      (void)gc(a_);
      const bool is_left = view().has_value();
      ASSERT_TRUE(test::succeeds(is_left ? remove(a_) : RemovedPartition()));
      EXPECT_THAT(a_.partitions(), IsEmpty());
      ASSERT_TRUE(test::succeeds(create(b_)));
      ASSERT_TRUE(test::succeeds(remove(b_)));
    }
  }
}

TEST_F(FleetTest, AContainerThatRunsGetsItsClaimBack) {
  ASSERT_TRUE(test::succeeds(create(a_)));
  ASSERT_TRUE(test::succeeds(start(a_, "one", 0)));
  ledger::Lease lease = a_.lease_of("one");
  const base::ProcessId self = base::current_process().take();
  ASSERT_TRUE(test::succeeds(a_.ledger.begin_attach(lease, self, {{4, 5, 6}, 3, 77})));
  ASSERT_TRUE(test::succeeds(a_.ledger.mark_running(lease, self)));
  ASSERT_TRUE(
      test::succeeds(fleet::unclaim({store_, kPrefix_, soon()}, {"pod16", "p0"}, lease.claim)));
  EXPECT_EQ(claims(), 0U);
  (void)gc(a_);
  EXPECT_EQ(claims(), 1U);
  EXPECT_EQ(resets(), 0U);
  EXPECT_TRUE(test::fails(start(b_, "two", 0), Code::kBusy, "container one on host"));
}

TEST_F(FleetTest, WhatAHostHadBeforeIsNotTouchedUnderAnothersContainer) {
  const config::FleetConfig fleet = *a_.config.fleet;
  a_.config.fleet.reset();
  ASSERT_TRUE(test::succeeds(create(a_, 8, 1)));
  a_.config.fleet = fleet;
  ASSERT_TRUE(test::succeeds(adopt_partition(b_.env, b_.config.pools[0], "p0", soon())));
  ASSERT_TRUE(test::succeeds(start(b_, "two", 0)));
  EXPECT_TRUE(test::fails(reset(a_), Code::kExists, "made on host"));
  EXPECT_TRUE(test::fails(remove(a_), Code::kExists, "made on host"));
  EXPECT_EQ(resets(), 0U);
  EXPECT_EQ(a_.partitions(), std::vector<std::string>{"p0"});
}

TEST_F(FleetTest, OneThatIsKnownInAnotherPoolIsNotAdopted) {
  ASSERT_TRUE(test::succeeds(create(a_)));
  b_.config.pools[0].name = "main";
  EXPECT_TRUE(test::fails(adopt_partition(b_.env, b_.config.pools[0], "p0", soon()), Code::kExists,
                          "in pool 'pod16'"));
}

TEST_F(FleetTest, AClaimWithoutALeaseIsRemovedByItsHostAlone) {
  ASSERT_TRUE(test::succeeds(create(a_)));
  for (test::HookHost* host : {&a_, &b_}) {
    fleet::Claim lost;
    lost.host = host->ledger.host().tag();
    lost.id = "l-" + lost.host;
    lost.gcd = host == &a_ ? 0 : 1;
    ASSERT_TRUE(
        test::succeeds(fleet::claim({store_, kPrefix_, soon()}, {"pod16", "p0"}, lost, {})));
  }
  EXPECT_THAT(gc(a_), IsEmpty());
  ASSERT_EQ(claims(), 1U);
  EXPECT_EQ(view()->claims.front().host, b_.ledger.host().tag());
}

TEST_F(FleetTest, AResetThatRunsKeepsItsClaim) {
  ASSERT_TRUE(test::succeeds(create(a_)));
  const OpenFleet fleet = open_fleet(a_.env).take().value();
  const auto record = a_.ledger.partitions().find("pod16", "p0").take().value();
  const Status done = reset_alone(a_.env, fleet, record, soon(), [&]() -> Status {
    EXPECT_THAT(gc(a_), IsEmpty());
    EXPECT_EQ(claims(), 1U);
    EXPECT_TRUE(test::fails(start(b_, "two", 1), Code::kBusy, "a reset on host"));
    return {};
  });
  ASSERT_TRUE(test::succeeds(done));
  EXPECT_EQ(claims(), 0U);
}

// A fence passes the removal on. Whoever inherits it may know the partition.
TEST_F(FleetTest, TheRemovalByAHostThatWasFencedEnds) {
  const fleet::PartitionName name{"pod16", "p0"};
  for (const bool is_known : {false, true}) {
    for (const bool was_carried_out : {false, true}) {
      SCOPED_TRACE(str(is_known, was_carried_out));
      ASSERT_TRUE(test::succeeds(create(b_)));
      if (is_known) {
        ASSERT_TRUE(test::succeeds(start(a_, "one", 0)));
        ASSERT_TRUE(test::succeeds(stop(a_, "one")));
      }
      const std::string dead = b_.ledger.host().tag();
      ASSERT_TRUE(test::succeeds(fleet::begin_removal(fleet(), name, dead, fleet::Takes::kNone)));
      if (was_carried_out) {
        ASSERT_TRUE(a_.controller.remove("p0", Force::kNo, soon()).ok());
      }
      ASSERT_TRUE(test::succeeds(fleet::fence(fleet(), dead, a_.ledger.host().tag(), 1)));
      ASSERT_TRUE(test::succeeds(fleet::forget_fence(fleet(), dead)));
      const std::vector<Error> obstacles = gc(a_);
      ASSERT_EQ(obstacles.size(), 1U);
      EXPECT_THAT(obstacles[0].message(), HasSubstr("run 'ipuctl partition remove p0"));
      ASSERT_TRUE(test::succeeds(remove(a_)));
      EXPECT_THAT(gc(a_), IsEmpty());
      EXPECT_FALSE(view());
      EXPECT_THAT(a_.partitions(), IsEmpty());
      // The row of who made it.
      if (b_.ledger.partitions().find("pod16", "p0").take()) {
        ASSERT_TRUE(test::succeeds(remove(b_, Force::kYes)));
      }
    }
  }
}

TEST_F(FleetTest, AnAdoptedOneIsAdoptedOnce) {
  ASSERT_TRUE(a_.controller.create({"p0", 8}, soon()).ok());
  ASSERT_TRUE(test::succeeds(adopt_partition(a_.env, a_.config.pools[0], "p0", soon())));
  EXPECT_TRUE(
      test::fails(adopt_partition(b_.env, b_.config.pools[0], "p0", soon()), Code::kExists));
  ASSERT_TRUE(test::succeeds(start(b_, "two", 0)));
  EXPECT_TRUE(test::fails(start(a_, "one", 0), Code::kBusy, "container two on host"));
  ASSERT_TRUE(test::succeeds(stop(b_, "two")));
  ASSERT_TRUE(test::succeeds(start(a_, "one", 0)));
  EXPECT_EQ(resets(), 0U);
  EXPECT_TRUE(test::fails(remove(b_), Code::kBusy, "container one on host"));
  ASSERT_TRUE(test::succeeds(stop(a_, "one")));
  ASSERT_TRUE(test::succeeds(remove(b_)));
  EXPECT_EQ(a_.partitions(), std::vector<std::string>{"p0"});
}

}  // namespace
}  // namespace hook::lifecycle::partitions
