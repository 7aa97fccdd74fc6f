// SPDX-License-Identifier: Apache-2.0
// An etcd that loses its data, and what a host knows of its fleet then.
#include "hook/lifecycle/fleet_pin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/names.h"
#include "hook/fleet/hosts.h"
#include "hook/lifecycle/partitions/fleet_claims.h"
#include "hook/lifecycle/partitions/fleet_compare.h"
#include "hook/lifecycle/partitions/partitions.h"
#include "tests/support/hook_host.h"
#include "tests/support/lent_store.h"

namespace hook::lifecycle::partitions {
namespace {

using namespace base::names;
using testing::ElementsAre;
using testing::IsEmpty;

class FleetPinTest : public testing::Test {
 protected:
  void SetUp() override {
    host_.config.fleet = config::FleetConfig{{"10.1.0.5:2379"}};
    host_.config.fleet->prefix = prefix_;
    host_.env.fleet = [this] { return host_.config.fleet; };
    host_.env.store = [this](const config::FleetConfig&) {
      return std::make_unique<test::LentStore>(store_, [] { return test::Call::kAnswered; });
    };
  }
  static Deadline soon() { return test::HookHost::soon(); }
  Status join() { return join_known_fleet(host_.ledger, store_, prefix_, soon()); }
  void wipe() {
    fleet::Txn txn;
    for (const fleet::KeyValue& one : store_.list("/", soon()).take().keys)
      txn.deletes.push_back(one.key);
    ASSERT_TRUE(test::succeeds(store_.commit(txn, soon())));
  }
  // A container with a claim in the fleet.
  void start() {
    NewPartition wanted{host_.config.pools[0], {}};
    wanted.request.id = "p0";
    wanted.request.size = 8;
    wanted.request.gcds = 2;
    ASSERT_TRUE(test::succeeds(create_partition(host_.env, wanted, soon())));
    request::Request request;
    request.partition = "p0";
    request.gcd = 1;
    ASSERT_TRUE(test::succeeds(host_.prepare("one", request)));
  }
  std::vector<std::string> differences() {
    std::vector<std::string> texts;
    for (const Error& one : compare_fleet(host_.env, host_.config.pools, soon()))
      texts.push_back(one.message());
    return texts;
  }

  const std::string prefix_ = "/f/";
  test::FakeStore store_;
  test::HookHost host_;
};

TEST_F(FleetPinTest, AnEmptyStoreIsNoNewFleet) {
  ASSERT_TRUE(test::succeeds(join()));
  const std::string id = fleet::read_fleet_id(store_, prefix_, soon()).take();
  EXPECT_EQ(host_.ledger.host().fleet_id(prefix_).take(), id);
  ASSERT_TRUE(test::succeeds(join()));
  wipe();
  EXPECT_TRUE(test::fails(join(), Code::kNotFound, str("is in fleet ", id, ", and etcd has none")));
  EXPECT_THAT(store_.list("/", soon()).take().keys, IsEmpty());
  const std::string other = fleet::join_fleet(store_, prefix_, soon()).take();
  EXPECT_TRUE(test::fails(join(), Code::kNotFound, str("has fleet ", other)));
  EXPECT_TRUE(
      test::fails(check_known_fleet(host_.ledger, store_, prefix_, soon()), Code::kNotFound));
  ASSERT_TRUE(test::succeeds(host_.ledger.host().leave_fleet()));
  ASSERT_TRUE(test::succeeds(join()));
  EXPECT_EQ(host_.ledger.host().fleet_id(prefix_).take(), other);
}

TEST_F(FleetPinTest, AnotherPrefixIsAnotherFleet) {
  ASSERT_TRUE(test::succeeds(join()));
  EXPECT_EQ(host_.ledger.host().fleet_id("/other/").take(), "");
  ASSERT_TRUE(test::succeeds(join_known_fleet(host_.ledger, store_, "/other/", soon())));
}

TEST_F(FleetPinTest, AStartMakesNoFleetOfAnEmptyStore) {
  start();
  EXPECT_THAT(differences(), IsEmpty());
  wipe();
  request::Request request;
  request.partition = "p0";
  request.gcd = 0;
  EXPECT_TRUE(test::fails(host_.prepare("two", request), Code::kNotFound, "fleet import"));
  EXPECT_THAT(store_.list("/", soon()).take().keys, IsEmpty());
}

TEST_F(FleetPinTest, ClaimsAtALostStoreAreGivenUp) {
  start();
  EXPECT_THAT(host_.ledger.partitions().give_up_claims("/other/").take(), IsEmpty());
  EXPECT_THAT(host_.ledger.partitions().give_up_claims(prefix_).take(),
              ElementsAre("GCD 1 of partition p0 by container one"));
  EXPECT_EQ(host_.lease_of("one").claim, "");
  EXPECT_THAT(host_.ledger.partitions().give_up_claims(prefix_).take(), IsEmpty());
  EXPECT_EQ(host_.ledger.events().of_lease(host_.lease_of("one").id).take().back().text,
            "gave up its claim at fleet /f/, whose store is lost");
}

}  // namespace
}  // namespace hook::lifecycle::partitions
