// SPDX-License-Identifier: Apache-2.0
// A host that joins a fleet with named partitions that containers use.
#include "hook/lifecycle/partitions/joining.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/names.h"
#include "hook/fleet/partitions.h"
#include "hook/fleet/restored.h"
#include "hook/lifecycle/partitions/partitions.h"
#include "tests/support/fleet_hosts.h"

namespace hook::lifecycle::partitions {
namespace {

using namespace base::names;
using testing::HasSubstr;
using testing::IsEmpty;

class JoiningTest : public test::FleetHosts {
 protected:
  static Status create(test::HookHost& host) {
    NewPartition wanted{host.config.pools[0], {}};
    wanted.request.id = "p0";
    wanted.request.size = 8;
    wanted.request.gcds = 4;
    return create_partition(host.env, wanted, soon());
  }
  static Status start(test::HookHost& host, const std::string& container, uint32_t gcd) {
    request::Request request;
    request.partition = "p0";
    request.gcd = gcd;
    return host.prepare(container, request);
  }
  size_t claims() {
    const auto found = fleet::find_partition(fleet(), {"pod16", "p0"}).take();
    return found ? found->claims.size() : 0;
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

// Another host may begin at each moment.
TEST_F(JoiningTest, APartitionIsOfAllOnceItsContainersAreClaimed) {
  const config::FleetConfig fleet = *a_.config.fleet;
  a_.config.fleet.reset();
  ASSERT_TRUE(test::succeeds(create(a_)));
  ASSERT_TRUE(test::succeeds(start(a_, "one", 0)));
  a_.config.fleet = fleet;
  for (const test::Call fate : {test::Call::kFails, test::Call::kAnswerIsLost}) {
    for (int call = 0; call < 6; ++call) {
      fails_at_ = calls_ + call;
      fate_ = fate;
      std::vector<Error> obstacles;
      share_named(a_.env, soon(), obstacles);
      fails_at_ = -1;
      EXPECT_FALSE(start(b_, "two", 0).ok()) << call;
    }
  }
  EXPECT_THAT(gc(a_), IsEmpty());
  EXPECT_EQ(claims(), 1U);
  EXPECT_TRUE(test::succeeds(start(b_, "two", 1)));
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
  EXPECT_THAT(gc(a_), IsEmpty());
  EXPECT_FALSE(start(b_, "two", 1).ok()) << "a removal that runs is not ended";
  ask({});
  EXPECT_THAT(gc(a_), IsEmpty());
  EXPECT_TRUE(test::succeeds(start(b_, "two", 1)));
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

}  // namespace
}  // namespace hook::lifecycle::partitions
