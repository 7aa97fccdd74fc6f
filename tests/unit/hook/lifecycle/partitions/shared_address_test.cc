// SPDX-License-Identifier: Apache-2.0
// Two hosts of a fleet, with one configuration of scheme "ipu" and a range each, and containers
// that have one GCD of a shared partition.
#include <set>

#include "hook/fleet/restored.h"
#include "hook/lifecycle/network/rails.h"
#include "tests/unit/hook/lifecycle/partitions/fleet_fixture.h"

namespace hook::lifecycle::partitions {
namespace {

constexpr const char* kOfRangeOfA = "10.5.200.10";
constexpr const char* kOfRangeOfB = "10.5.200.50";
const netns::Identity kNetwork{4, 5, 6};

class SharedAddressTest : public FleetFixture {
 protected:
  void SetUp() override {
    FleetHosts::SetUp();
    for (test::HookHost* host : {&a_, &b_}) {
      config::RailConfig& rail = host->config.network.rails[0];
      rail.base = netns::parse_address("10.5.64.0").take();
      rail.machines = netns::parse_prefix("10.5.0.0/22").take();
      rail.has_range = true;
    }
    b_.config.network.rails[0].first = netns::parse_address(kOfRangeOfB).take();
  }
  // Starts a container, which must get an address that its IPUs give, or one of the range.
  std::string address(test::HookHost& host, const std::string& container, uint32_t gcd = 0) {
    EXPECT_TRUE(test::succeeds(start(host, container, gcd)));
    return netns::to_string(host.lease_of(container).rails.at(0).address);
  }
  // It has no interfaces here.
  static ledger::Lease run(test::HookHost& host, const std::string& container) {
    ledger::Lease lease = host.lease_of(container);
    const base::ProcessId self = base::current_process().take();
    EXPECT_TRUE(test::succeeds(host.ledger.begin_attach(lease, self, {kNetwork, -1, 77})));
    EXPECT_TRUE(test::succeeds(host.ledger.mark_running(lease, self)));
    return lease;
  }
  // Starts a container in the network of one that was run().
  static ledger::Lease start_beside(test::HookHost& host, const std::string& container,
                                    uint32_t gcd) {
    ledger::Intent intent{
        container, "/b", "", host.config.pools[0], {}, 0, base::current_process().take()};
    intent.named = ledger::NamedPartition{"p0", gcd};
    intent.fleet = host.config.fleet->prefix;
    ledger::Lease lease = host.ledger.acquire(intent).take();
    EXPECT_TRUE(test::succeeds(claim_gcds(
        host.env, lease, [](const auto&) { return Status(); }, soon())));
    const ledger::LeasedIpu ipu{netns::parse_address("10.5.0.9").take(), gcd, 10'000, 10'001};
    const auto rails = network::inspect_rails(host.env, host.config.network, {}).take();
    std::vector<ledger::RailRequest> chosen = network::choose_rails(rails, {ipu}).take();
    EXPECT_TRUE(test::succeeds(claim_addresses(host.env, lease, chosen, soon())));
    EXPECT_TRUE(test::succeeds(host.ledger.mark_allocated(lease, {ipu}, {}, chosen, kNetwork)));
    EXPECT_TRUE(test::succeeds(confirm_claim(host.env, lease, soon())));
    return lease;
  }
  void forget(const std::string& below) {
    fleet::Txn lost;
    for (const auto& one : store_.list(kPrefix_ + below, soon()).take().keys)
      lost.deletes.push_back(one.key);
    ASSERT_FALSE(lost.deletes.empty());
    ASSERT_TRUE(test::succeeds(store_.commit(lost, soon())));
  }
};

TEST_F(SharedAddressTest, OneContainerOfAllHostsHasTheAddressOfItsIpus) {
  ASSERT_TRUE(test::succeeds(create(a_, 8, 4, Shared::kYes)));
  const std::string given = address(a_, "one");
  EXPECT_TRUE(a_.lease_of("one").rails[0].by_ipu);
  EXPECT_EQ(address(b_, "two"), kOfRangeOfB);
  EXPECT_FALSE(b_.lease_of("two").rails[0].by_ipu);
  EXPECT_EQ(address(a_, "three"), kOfRangeOfA);
  EXPECT_NE(address(b_, "other", 1), given);
  EXPECT_TRUE(b_.lease_of("other").rails[0].by_ipu);
  ASSERT_TRUE(test::succeeds(stop(a_, "one")));
  EXPECT_EQ(address(b_, "four"), given);
  EXPECT_EQ(b_.lease_of("four").rails[0].mac,
            ledger::mac_of("pod16", netns::parse_address(given).take()));
  EXPECT_THAT(gc(a_), IsEmpty());
  EXPECT_THAT(gc(b_), IsEmpty());
  EXPECT_THAT(compare_fleet(a_.env, a_.config.pools, soon()), IsEmpty());
}

TEST_F(SharedAddressTest, WithoutARangeTheSecondOneIsRefusedInOneLine) {
  ASSERT_TRUE(test::succeeds(create(a_, 8, 4, Shared::kYes)));
  b_.config.network.rails[0].has_range = false;
  address(a_, "one");
  const Status refused = start(b_, "two");
  EXPECT_TRUE(test::fails(refused, Code::kBusy,
                          str("is held in the fleet by container one on host ",
                              a_.ledger.host().tag(), " (GCD 0); see")));
  EXPECT_TRUE(test::fails(refused, Code::kBusy, "set it in network.rail"));
  EXPECT_EQ(refused.error().message().find('\n'), std::string::npos);
  EXPECT_EQ(b_.live_leases(), 0U);
  ASSERT_TRUE(test::succeeds(stop(a_, "one")));
  address(b_, "two");
  EXPECT_TRUE(b_.lease_of("two").rails[0].by_ipu);
}

// While the interfaces of the first one may be there, nobody has its address.
TEST_F(SharedAddressTest, TheAddressIsFreeOnceTheReleaseHasEnded) {
  ASSERT_TRUE(test::succeeds(create(a_, 8, 4, Shared::kYes)));
  const std::string given = address(a_, "one");
  ledger::Lease lease = a_.lease_of("one");
  ASSERT_TRUE(
      test::succeeds(a_.ledger.begin_release(lease, base::current_process().take(), "it ended")));
  EXPECT_EQ(address(b_, "two"), kOfRangeOfB);
  ASSERT_TRUE(test::succeeds(stop(a_, "one")));
  EXPECT_EQ(address(b_, "three"), given);
}

// Each call of the second start fails, or its answer is lost. No two ever have one address, and the
// address is not lost.
TEST_F(SharedAddressTest, NoAddressIsTwiceOrLostWithACallOrItsAnswer) {
  ASSERT_TRUE(test::succeeds(create(a_, 8, 4, Shared::kYes)));
  for (const Call fate : {Call::kFails, Call::kAnswerIsLost}) {
    int failed = 0;
    for (int at = 0; at < 12; ++at) {
      SCOPED_TRACE(str("call ", at, fate == Call::kFails ? " fails" : " is not answered"));
      calls_ = 0;
      fails_at_ = at;
      fate_ = fate;
      const Status first = start(a_, str("a", at));
      fails_at_ = -1;
      failed += first.ok() ? 0 : 1;
      const std::string second = address(b_, str("b", at));
      EXPECT_EQ(b_.lease_of(str("b", at)).rails[0].by_ipu, !first.ok()) << second;
      ASSERT_TRUE(test::succeeds(first.ok() ? stop(a_, str("a", at)) : Status()));
      ASSERT_TRUE(test::succeeds(stop(b_, str("b", at))));
      for (test::HookHost* host : {&a_, &b_}) EXPECT_THAT(gc(*host), IsEmpty());
    }
    EXPECT_GE(failed, 6);
  }
}

TEST_F(SharedAddressTest, WhatRanBeforeItsHostJoinedKeepsItsAddress) {
  const config::FleetConfig fleet = *a_.config.fleet;
  a_.config.fleet.reset();
  ASSERT_TRUE(test::succeeds(create(a_, 8, 4, Shared::kYes)));
  const std::string given = address(a_, "one");
  EXPECT_EQ(address(a_, "two"), kOfRangeOfA);
  a_.config.fleet = fleet;
  std::vector<Error> obstacles;
  share_named(a_.env, soon(), obstacles);
  EXPECT_THAT(obstacles, IsEmpty());
  EXPECT_EQ(address(b_, "three"), kOfRangeOfB);
  ASSERT_TRUE(test::succeeds(stop(a_, "one")));
  EXPECT_EQ(address(b_, "four"), given);
}

TEST_F(SharedAddressTest, WhatRunsKeepsItsAddressIfEtcdForgetsIt) {
  ASSERT_TRUE(test::succeeds(create(a_, 8, 4, Shared::kYes)));
  const std::string given = address(a_, "one");
  run(a_, "one");
  for (const char* const below : {"partitions/pod16/p0/claims/", "partitions/"}) {
    forget(below);
    EXPECT_THAT(gc(a_), IsEmpty());
    EXPECT_NE(address(b_, str("two-", base::split(below, '/').size())), given);
  }
  // A copy of etcd that was made when the claim had no address yet.
  const std::string key = str(kPrefix_, "partitions/pod16/p0/claims/", a_.lease_of("one").id);
  for (const auto& one : store_.list(key, soon()).take().keys) {
    const std::string listed = str("\"addresses\":[\"", given, "\"]");
    std::string value = one.value;
    ASSERT_NE(value.find(listed), std::string::npos) << value;
    value.replace(value.find(listed), listed.size(), "\"addresses\":[]");
    fleet::Txn older;
    older.puts = {{key, value}};
    ASSERT_TRUE(test::succeeds(store_.commit(older, soon())));
  }
  EXPECT_THAT(gc(a_), IsEmpty());
  EXPECT_NE(address(b_, "three"), given);
}

// Containers of two GCDs share interfaces, and that whose GCD gave the address ends.
TEST_F(SharedAddressTest, InterfacesThatStayKeepTheirAddress) {
  for (const Shared shared : {Shared::kNo, Shared::kYes}) {
    SCOPED_TRACE(shared == Shared::kYes ? "shared" : "not shared");
    ASSERT_TRUE(test::succeeds(create(a_, 8, 4, shared)));
    const std::string given = address(a_, "one");
    run(a_, "one");
    const ledger::Lease beside = start_beside(a_, "beside", 1);
    EXPECT_EQ(netns::to_string(beside.rails.at(0).address), given);
    ASSERT_TRUE(test::succeeds(stop(a_, "one")));
    if (shared == Shared::kYes) {
      EXPECT_NE(address(b_, "two"), given);
      ASSERT_TRUE(test::succeeds(stop(b_, "two")));
    } else {
      EXPECT_TRUE(test::fails(start(b_, "two"), Code::kBusy,
                              "is held in the fleet by container beside on host"));
    }
    ASSERT_TRUE(test::succeeds(end::release_by_id(a_.env, beside.id, soon())));
    EXPECT_EQ(address(b_, "three"), given);
    ASSERT_TRUE(test::succeeds(stop(b_, "three")));
    ASSERT_TRUE(remove_partition(a_.env, a_.config.pools[0], "p0", vipu::Force::kNo, soon()).ok());
  }
}

// Most partitions have one GCD and one container: such a start asks etcd nothing more.
TEST_F(SharedAddressTest, AContainerThatHasTheWholePartitionNeedsNoFurtherLook) {
  const auto calls_for = [&](Shared shared, uint32_t gcds) {
    EXPECT_TRUE(test::succeeds(create(a_, 8, gcds, shared)));
    address(a_, "one");
    const ledger::Lease lease = a_.lease_of("one");
    std::vector<ledger::RailRequest> rails = {{a_.config.network.rails[0], "roce0", {}}};
    rails[0].by_ipu = lease.rails.at(0).address;
    const int before = calls_;
    EXPECT_TRUE(test::succeeds(claim_addresses(a_.env, lease, rails, soon())));
    EXPECT_EQ(rails[0].by_ipu_holder, "");
    const int calls = calls_ - before;
    EXPECT_TRUE(test::succeeds(stop(a_, "one")));
    EXPECT_TRUE(remove_partition(a_.env, a_.config.pools[0], "p0", vipu::Force::kNo, soon()).ok());
    return calls;
  };
  EXPECT_EQ(calls_for(Shared::kNo, 1), 0);
  EXPECT_EQ(calls_for(Shared::kNo, 4), 1);
  EXPECT_EQ(calls_for(Shared::kYes, 1), 1) << "its claim has it already";
}

// Its claim is gone, another host's container has its address, and it runs on: a person decides.
TEST_F(SharedAddressTest, TwoHostsWithOneAddressAreADifference) {
  ASSERT_TRUE(test::succeeds(create(a_, 8, 4, Shared::kYes)));
  const std::string given = address(a_, "one");
  run(a_, "one");
  forget("partitions/pod16/p0/claims/");
  EXPECT_EQ(address(b_, "two"), given);
  EXPECT_THAT(gc(a_), IsEmpty());
  const std::vector<Error> found = compare_fleet(b_.env, b_.config.pools, soon());
  ASSERT_EQ(found.size(), 1U);
  EXPECT_THAT(found[0].message(), HasSubstr(str("address ", given, " is that of container ")));
  EXPECT_THAT(found[0].message(), HasSubstr("stop one of them"));
}

}  // namespace
}  // namespace hook::lifecycle::partitions
