// SPDX-License-Identifier: Apache-2.0
// Addresses that follow from the IPUs of a lease: scheme "ipu".
#include <gmock/gmock.h>

#include "hook/ledger/check.h"
#include "hook/ledger/record.h"
#include "tests/support/sql.h"
#include "tests/unit/hook/ledger/ledger_fixture.h"

namespace hook::ledger {
namespace {

using base::Code;
using testing::IsEmpty;

constexpr int64_t kSetAsideMs = 600'000;

class ByIpuTest : public LedgerFixture {
 protected:
  ByIpuTest() {
    rail_.base = ip("10.5.64.0");
    rail_.machines = netns::parse_prefix("10.5.0.0/22").take();
    rail_.has_range = false;
  }
  RailRequest request(const char* address) const {
    return {rail_, "roce0", {}, ip(address), held_in_fleet_};
  }
  base::Result<Lease> try_given(const char* address, const std::string& container = "container") {
    return try_allocate(container, {request(address)});
  }
  Lease given(const char* address, const std::string& container = "container") {
    base::Result<Lease> lease = try_given(address, container);
    EXPECT_TRUE(test::succeeds(lease));
    return std::move(lease).take();
  }
  // A partition of one GCD that several leases may have.
  void make_shared() {
    PartitionRecord record;
    record.pool = pool_.name;
    record.name = "p0";
    record.source = config::source_of(pool_);
    record.ipus = 4;
    record.shared = true;
    ASSERT_TRUE(test::succeeds(ledger_.partitions().intend(record)));
    ASSERT_TRUE(test::succeeds(ledger_.partitions().mark_ready(record)));
  }
  base::Result<Lease> try_share(const std::string& container) {
    Intent named = intent(container);
    named.named = NamedPartition{"p0"};
    Lease lease = TRY(ledger_.acquire(named));
    const base::Status allocated =
        ledger_.mark_allocated(lease, {ipu("10.5.0.1", 0)}, {}, {request("10.5.64.4")});
    if (allocated.ok()) return lease;
    release(lease);
    return allocated.error();
  }
  void note_stranger(const Lease& lease) {
    ASSERT_TRUE(test::succeeds(
        ledger_.note_duplicate(lease, "roce0", netns::parse_mac("52:54:00:00:00:99").take())));
  }

  std::string held_in_fleet_;
};

TEST_F(ByIpuTest, IsTheOneThatTheIpusGiveWithItsMac) {
  const Lease lease = given("10.5.64.4");
  EXPECT_EQ(address(lease), "10.5.64.4");
  EXPECT_TRUE(lease.rails[0].by_ipu);
  EXPECT_EQ(lease.rails[0].mac, mac_of(pool_.name, ip("10.5.64.4")));
  EXPECT_EQ(stored(lease).rails, lease.rails);
  EXPECT_EQ(parse_record(to_record(lease)).take().rails, lease.rails);
  EXPECT_NE(ledger_.dump().take().find("\"by_ipu\": 1"), std::string::npos);
}

TEST_F(ByIpuTest, IsFreeAsSoonAsItsInterfaceIsGone) {
  const Lease lease = given("10.5.64.4");
  release(lease);
  EXPECT_EQ(stored(lease).state, LeaseState::kFree);
  EXPECT_EQ(address(given("10.5.64.4")), "10.5.64.4");
}

TEST_F(ByIpuTest, IsHeldByOneLiveLease) {
  given("10.5.64.4", "first");
  EXPECT_TRUE(test::fails(try_given("10.5.64.4"), Code::kExists,
                          "address 10.5.64.4 of rail 'ens1f0', which follows from the IPUs of"
                          " partition"));
  EXPECT_TRUE(test::fails(try_given("10.5.64.4"), Code::kExists, "is held by container first"));
  EXPECT_THAT(check_ledger(path_).take(), IsEmpty());
}

TEST_F(ByIpuTest, IsSetAsideForTenMinutesIfAnotherHostHasIt) {
  const Lease lease = given("10.5.64.4");
  note_stranger(lease);
  release(lease);
  EXPECT_EQ(stored(lease).state, LeaseState::kQuarantine);
  EXPECT_EQ(ledger_.use_of(rail_).take().set_aside_by_ipu, 1U);
  now_ += kSetAsideMs - 1;
  EXPECT_TRUE(test::fails(try_given("10.5.64.4"), Code::kDenied,
                          "another host answered for it with MAC 52:54:00:00:00:99"));
  EXPECT_EQ(address(given("10.5.64.8")), "10.5.64.8");
  now_ += 1;
  EXPECT_EQ(address(given("10.5.64.4")), "10.5.64.4");
}

TEST_F(ByIpuTest, IsCountedApartFromTheRange) {
  rail_.has_range = true;
  given("10.5.64.4");
  const Ledger::RailUse use = ledger_.use_of(rail_).take();
  EXPECT_EQ(use.held_by_ipu, 1U);
  EXPECT_EQ(use.held, 0U);
  EXPECT_EQ(use.free, 3U);
}

TEST_F(ByIpuTest, NeedsNoFreeAddressBeforeThereAreIpus) {
  rail_.has_range = true;
  rail_.last = rail_.first;
  config::RailConfig old = rail_;
  old.base.reset();
  ASSERT_TRUE(test::succeeds(try_allocate("old", {{old, "roce0"}})));
  EXPECT_EQ(address(given("10.5.64.4")), "10.5.64.4");
}

TEST_F(ByIpuTest, IsThatOfTheFirstContainerOfASharedGcdAlone) {
  make_shared();
  rail_.has_range = true;
  const Lease first = try_share("first").take();
  EXPECT_EQ(address(first), "10.5.64.4");
  const Lease second = try_share("second").take();
  EXPECT_EQ(address(second), "10.5.200.10");
  EXPECT_FALSE(second.rails[0].by_ipu);
  release(second);
  EXPECT_EQ(stored(second).state, LeaseState::kQuarantine);
  release(first);
  EXPECT_EQ(address(try_share("third").take()), "10.5.64.4");
}

TEST_F(ByIpuTest, OfASharedGcdNamesTheKeyToAddWithoutARange) {
  make_shared();
  ASSERT_TRUE(test::succeeds(try_share("first")));
  EXPECT_TRUE(test::fails(try_share("second"), Code::kBusy,
                          "Other containers of a shared GCD get their addresses from 'range': set"
                          " it in network.rail"));
}

TEST_F(ByIpuTest, OfASharedGcdThatAnotherHostHasIsOneOfTheRange) {
  make_shared();
  rail_.has_range = true;
  const Lease lease = try_share("first").take();
  note_stranger(lease);
  EXPECT_EQ(address(try_share("second").take()), "10.5.200.10");
  release(lease);
  EXPECT_EQ(address(try_share("third").take()), "10.5.200.11");
}

TEST_F(ByIpuTest, OfASharedGcdThatAnotherHostOfTheFleetHasIsOneOfTheRange) {
  make_shared();
  held_in_fleet_ = "container one on host 1f2e3d4c (GCD 0)";
  EXPECT_TRUE(test::fails(try_share("first"), Code::kBusy,
                          "address 10.5.64.4 of rail 'ens1f0', which follows from the IPUs of"
                          " partition 'p0', is held in the fleet by container one on host 1f2e3d4c"
                          " (GCD 0); see 'ipuctl partition show p0'. Other containers of a shared"
                          " GCD get their addresses from 'range'"));
  rail_.has_range = true;
  const Lease lease = try_share("second").take();
  EXPECT_EQ(address(lease), "10.5.200.10");
  EXPECT_FALSE(lease.rails[0].by_ipu);
}

TEST_F(ByIpuTest, ThatAnotherHostOfTheFleetHasIsRefusedIfTheGcdIsNotShared) {
  rail_.has_range = true;
  held_in_fleet_ = "container one on host 1f2e3d4c (GCD 0)";
  EXPECT_TRUE(
      test::fails(try_given("10.5.64.4"), Code::kBusy, "is held in the fleet by container"));
}

// Otherwise the address would outlive its partition, which another host may get.
TEST_F(ByIpuTest, IsSharedByContainersOfOnePartitionAlone) {
  const netns::Identity in{4, 4026532000, 77};
  Lease first = given("10.5.64.4", "first");
  ASSERT_TRUE(test::succeeds(ledger_.begin_attach(first, {5000, 1, 1}, {in, 7, 99})));
  const auto other = try_allocate("other", {request("10.5.64.8")}, in);
  EXPECT_TRUE(test::fails(other, Code::kUnsupported,
                          "container first has the network of this container, but another"
                          " partition"));
  EXPECT_EQ(ledger_.live().take().size(), 1U);
}

}  // namespace
}  // namespace hook::ledger
