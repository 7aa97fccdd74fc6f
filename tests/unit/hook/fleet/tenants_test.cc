// SPDX-License-Identifier: Apache-2.0
// The shares of tenants in a fleet's store: hook/fleet/grants.h.
#include <gtest/gtest.h>

#include <chrono>
#include <utility>
#include <vector>

#include "base/names.h"
#include "hook/fleet/grants.h"
#include "hook/fleet/hosts.h"
#include "tests/support/fake_store.h"
#include "tests/support/outcome.h"

namespace hook::fleet {
namespace {

using namespace base::names;

class FleetTenantsTest : public testing::Test {
 protected:
  Fleet fleet() { return {store_, prefix_, Deadline::after(std::chrono::seconds(5))}; }
  void join() { ASSERT_TRUE(test::succeeds(join_fleet(store_, prefix_, fleet().deadline))); }
  SeenTenant now(const std::string& name) { return find_tenant(fleet(), name).take(); }
  bool set(const config::TenantConfig& tenant, int64_t seen) {
    return set_tenant(fleet(), tenant, seen).take();
  }

  test::FakeStore store_;
  const std::string prefix_ = "/f/";
};

TEST_F(FleetTenantsTest, AShareIsReadAsItWasSet) {
  join();
  EXPECT_EQ(now("a").revision, 0);
  EXPECT_EQ(now("a").share.limit, UINT32_MAX);
  config::TenantConfig share = {
      "a", 8, 16, std::chrono::minutes(2), 3, false, std::chrono::hours(1)};
  share.allocation = "x";
  ASSERT_TRUE(set(share, 0));
  const config::TenantConfig found = now("a").share;
  EXPECT_EQ(found.name, "a");
  EXPECT_EQ(found.guaranteed, 8U);
  EXPECT_EQ(found.limit, 16U);
  EXPECT_EQ(found.max_wait, std::chrono::minutes(2));
  EXPECT_EQ(found.max_waiters, 3U);
  EXPECT_FALSE(found.may_reserve);
  EXPECT_EQ(found.borrow_time, std::chrono::hours(1));
  EXPECT_EQ(found.allocation, "x");
}

TEST_F(FleetTenantsTest, OfTwoChangesAtOnceTheSecondIsNotMadeUnseen) {
  join();
  ASSERT_TRUE(set({"a", 8}, 0));
  EXPECT_FALSE(set({"a", 9}, 0));
  const SeenTenant seen = now("a");
  ASSERT_TRUE(set({"a", 8, 16}, seen.revision));
  EXPECT_FALSE(set({"a", 9}, seen.revision));
  EXPECT_EQ(now("a").share.guaranteed, 8U);
  EXPECT_EQ(now("a").share.limit, 16U);
}

TEST_F(FleetTenantsTest, OneThatWasRemovedMeanwhileIsNotSetAgain) {
  join();
  ASSERT_TRUE(set({"a", 8}, 0));
  const int64_t seen = now("a").revision;
  EXPECT_TRUE(remove_tenant(fleet(), "a").take());
  EXPECT_FALSE(remove_tenant(fleet(), "a").take());
  EXPECT_FALSE(set({"a", 9}, seen));
  EXPECT_EQ(now("a").revision, 0);
}

TEST_F(FleetTenantsTest, OfAPartitionThatCannotBeReadNoTenantsUseIsKnown) {
  join();
  ASSERT_TRUE(set({"a", 8}, 0));
  Txn txn;
  txn.puts = {{"/f/partitions/pod16/p0/claims/one", R"({"tenant":"a","host":"bbbbbbbb"})"},
              {"/f/partitions/pod16/p0/claims/two", "nonsense"}};
  ASSERT_TRUE(test::succeeds(store_.commit(txn, fleet().deadline)));
  const Shares shares = read_shares(fleet()).take();
  EXPECT_EQ(shares.unreadable.count("a"), 1U);
  EXPECT_EQ(shares.unreadable.count("b"), 0U);
}

TEST_F(FleetTenantsTest, IpusOfAGrantThatDoesNotSayWhoseTheyAreMayBeAnybodys) {
  join();
  ASSERT_TRUE(set({"a", 8}, 0));
  const auto unowned = [&](const std::string& value) {
    Txn txn;
    txn.puts = {{"/f/grants/pod16/one", value}};
    EXPECT_TRUE(test::succeeds(store_.commit(txn, fleet().deadline)));
    return read_shares(fleet()).take().unowned;
  };
  EXPECT_EQ(unowned(R"({"ipus":4})"), 4U);
  EXPECT_EQ(unowned(R"({"ipus":4,"tenant":7})"), 4U);
  EXPECT_EQ(unowned(R"({"ipus":4,"tenant":""})"), 0U);   // nobody's
  EXPECT_EQ(unowned(R"({"ipus":4,"tenant":"a"})"), 0U);  // refused for "a": it is unreadable
  EXPECT_EQ(read_shares(fleet()).take().unreadable.count("a"), 1U);
  for (const char* odd :
       {R"({"ipus":-4})", R"({"ipus":4000000000})", R"({"ipus":"4"})", "[4]", "4"})
    EXPECT_EQ(unowned(odd), 0U) << odd;
  EXPECT_EQ(read_shares(fleet()).take().unreadable.size(), 1U);  // which 'fleet check' names
}

TEST_F(FleetTenantsTest, TheFirstShareMakesTheFleetAndNoneChangesANewerStore) {
  ASSERT_TRUE(set({"a", 8}, 0));
  Txn newer;
  newer.deletes = {"/f/meta/v1"};
  newer.puts = {{"/f/meta", R"({"version":2,"id":"00"})"}};
  ASSERT_TRUE(test::succeeds(store_.commit(newer, fleet().deadline)));
  EXPECT_TRUE(test::fails(set_tenant(fleet(), {"b"}, 0), Code::kUnsupported, "newer release"));
  EXPECT_EQ(now("b").revision, 0);
}

// A claim of GCD 0 or 1 of partition p0.
Claim claim_for(const std::string& id, const std::string& tenant, uint32_t gcd) {
  Claim claim{id, "aaaaaaaa", "c-" + id, "", gcd};
  claim.tenant = tenant;
  return claim;
}

TEST_F(FleetTenantsTest, AClaimIsMadeByWhatItsTenantHasAtThatMoment) {
  join();
  PartitionView view;
  view.name = {"pod64", "p0"};
  view.facts = {"aaaaaaaa", "s", 8, 2};
  ASSERT_TRUE(test::succeeds(publish(fleet(), view)));
  std::vector<size_t> seen;  // grants and claims at each look
  const auto look = [&](const Shares& shares) -> Status {
    seen.push_back(shares.grants.size() + shares.partitions.at(0).claims.size());
    return {};
  };
  // Nobody has a share.
  ASSERT_EQ(claim(fleet(), view.name, claim_for("1", "a", 0), look).take(), ClaimDuty::kNone);
  EXPECT_TRUE(seen.empty());
  ASSERT_TRUE(set({"a", 0, 8}, 0));
  // The tenant gets IPUs on another host between the look and the claim.
  bool is_granted = false;
  const auto race = [&](const Shares& shares) -> Status {
    TRY(look(shares));
    if (std::exchange(is_granted, true)) return Error(Code::kBusy, "no more");
    const Grant other{"pod64", "g", "bbbbbbbb", "c", "", "a", "", 4, 1};
    EXPECT_TRUE(grant_as_seen(fleet(), {"pod64"}, other, nullptr, shares).take());
    return {};
  };
  EXPECT_TRUE(
      test::fails(claim(fleet(), view.name, claim_for("2", "a", 1), race), Code::kBusy, "no more"));
  EXPECT_EQ(seen, (std::vector<size_t>{1, 2}));
  // And the other way round.
  const Shares before = read_shares(fleet()).take();
  ASSERT_EQ(claim(fleet(), view.name, claim_for("2", "a", 1), look).take(), ClaimDuty::kNone);
  const Grant late{"pod64", "h", "bbbbbbbb", "c", "", "a", "", 4, 1};
  EXPECT_FALSE(grant_as_seen(fleet(), {"pod64"}, late, nullptr, before).take());
  // Of another tenant nothing is compared.
  EXPECT_EQ(read_shares(fleet()).take().partitions.at(0).claims.size(), 2U);
  EXPECT_EQ(read_shares(fleet()).take().partitions.at(0).claims.at(1).tenant, "a");
}

TEST_F(FleetTenantsTest, WhatIsNoShareIsAnError) {
  join();
  Txn txn;
  txn.puts = {{"/f/tenants/a", "{}"}};
  ASSERT_TRUE(test::succeeds(store_.commit(txn, fleet().deadline)));
  EXPECT_TRUE(test::fails(find_tenant(fleet(), "a"), Code::kInvalid, "/f/tenants/a"));
}

}  // namespace
}  // namespace hook::fleet
