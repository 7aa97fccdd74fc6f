// SPDX-License-Identifier: Apache-2.0
// Which claim of a shared GCD has the addresses that its IPUs give.
#include "hook/fleet/claim_addresses.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "base/names.h"
#include "hook/fleet/partition_text.h"
#include "hook/fleet/restored.h"
#include "tests/support/fake_store.h"
#include "tests/support/outcome.h"

namespace hook::fleet {
namespace {

using namespace base::names;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Optional;

const PartitionName kShared{"pod64", "p0"};
constexpr const char* kFirst = "10.5.64.0";
constexpr const char* kSecond = "10.6.64.0";  // on another rail

class ClaimAddressesTest : public testing::Test {
 protected:
  Fleet fleet() { return {store_, prefix_, Deadline::after(std::chrono::seconds(5))}; }
  void make(bool shared = true) {
    PartitionView view;
    view.name = kShared;
    view.facts = {"aaaaaaaa", "10.1.3.101:8090", 8, 4, shared};
    ASSERT_TRUE(test::succeeds(publish(fleet(), view)));
  }
  PartitionView now() { return find_partition(fleet(), kShared).take().value(); }
  static Claim by(const std::string& host, const std::string& id, uint32_t gcd, uint32_t gcds = 1) {
    return {id, host, "container-" + id, "", gcd, gcds};
  }
  void claim_gcd(const Claim& one) {
    ASSERT_TRUE(test::succeeds(claim(fleet(), kShared, one, {})));
  }
  // Returns the claims that have those of ADDRESSES that ID does not get.
  std::vector<std::string> others(const std::string& id,
                                  const std::vector<std::string>& addresses) {
    std::vector<std::string> ids;
    for (const HeldAddress& one : claim_addresses(fleet(), kShared, id, addresses).take())
      ids.push_back(one.holder.id);
    return ids;
  }
  std::optional<std::vector<std::string>> addresses_of(const std::string& id) {
    const PartitionView view = now();
    for (const Claim& one : view.claims)
      if (one.id == id) return one.addresses;
    ADD_FAILURE() << "there is no claim " << id;
    return {};
  }
  void put(const std::string& key, const std::string& value) {
    Txn txn;
    txn.puts = {{key, value}};
    ASSERT_TRUE(test::succeeds(store_.commit(txn, fleet().deadline)));
  }
  // A claim as releases without this made it.
  void put_old(Claim one) {
    one.uses = true;
    one.addresses.reset();
    put(claim_key(prefix_, kShared, one.id), claim_text(one));
  }

  test::FakeStore store_;
  const std::string prefix_ = "/f/";
};

TEST_F(ClaimAddressesTest, OneClaimHasAnAddressUntilItGoes) {
  make();
  claim_gcd(by("aaaaaaaa", "l1", 0));
  claim_gcd(by("bbbbbbbb", "l2", 0));
  EXPECT_THAT(others("l1", {kFirst}), IsEmpty());
  EXPECT_THAT(others("l1", {kFirst}), IsEmpty());  // its answer was lost
  EXPECT_THAT(others("l2", {kFirst, kSecond}), ElementsAre("l1"));
  EXPECT_THAT(addresses_of("l1"), Optional(ElementsAre(kFirst)));
  EXPECT_THAT(addresses_of("l2"), Optional(ElementsAre(kSecond)));
  ASSERT_TRUE(test::succeeds(unclaim(fleet(), kShared, "l1")));
  claim_gcd(by("aaaaaaaa", "l3", 0));
  EXPECT_THAT(others("l3", {kFirst, kSecond}), ElementsAre("l2"));
}

TEST_F(ClaimAddressesTest, AClaimOfAllGcdsLeavesTheAddressesThatItDoesNotHave) {
  make();
  claim_gcd(by("aaaaaaaa", "all", 0, 4));
  EXPECT_THAT(others("all", {kFirst}), IsEmpty());
  claim_gcd(by("bbbbbbbb", "l0", 0));
  claim_gcd(by("bbbbbbbb", "l1", 1));
  EXPECT_THAT(others("l0", {kFirst}), ElementsAre("all"));
  EXPECT_THAT(others("l1", {"10.5.64.2"}), IsEmpty());
}

TEST_F(ClaimAddressesTest, AClaimOfAnEarlierReleaseHasWhatItsGcdsGive) {
  make();
  put_old(by("aaaaaaaa", "old", 1));
  claim_gcd(by("bbbbbbbb", "l0", 0));
  claim_gcd(by("bbbbbbbb", "l1", 1));
  claim_gcd(by("bbbbbbbb", "all", 0, 4));
  EXPECT_THAT(others("l0", {kFirst}), IsEmpty());
  EXPECT_THAT(others("l1", {"10.5.64.2"}), ElementsAre("old"));
  EXPECT_THAT(others("all", {kSecond}), ElementsAre("old"));
  EXPECT_EQ(addresses_of("old"), std::nullopt);
}

TEST_F(ClaimAddressesTest, WhereAGcdHasOneContainerItsClaimNamesNone) {
  make(false);
  claim_gcd(by("aaaaaaaa", "l1", 0));
  const int64_t before = now().revision;
  EXPECT_THAT(others("l1", {kFirst}), IsEmpty());
  EXPECT_EQ(now().revision, before);
}

TEST_F(ClaimAddressesTest, AreNotGivenWithoutAClaimOrAfterAFenceOrBeforeAllHaveTold) {
  make();
  EXPECT_TRUE(test::fails(claim_addresses(fleet(), kShared, "l1", {kFirst}), Code::kBusy,
                          "was taken away; start the container again"));
  claim_gcd(by("aaaaaaaa", "l1", 0));
  put(restored_key(prefix_, "bbbbbbbb"), "{}");
  EXPECT_TRUE(
      test::fails(claim_addresses(fleet(), kShared, "l1", {kFirst}), Code::kBusy, "has not told"));
  Txn told;
  told.deletes = {restored_key(prefix_, "bbbbbbbb")};
  ASSERT_TRUE(test::succeeds(store_.commit(told, fleet().deadline)));
  ASSERT_TRUE(test::succeeds(
      begin_fence(fleet(), "aaaaaaaa", "bbbbbbbb", 1'790'000'000'000, IfAlive::kFence)));
  EXPECT_TRUE(test::fails(claim_addresses(fleet(), kShared, "l1", {kFirst}), Code::kDenied));
  EXPECT_THAT(addresses_of("l1"), Optional(IsEmpty()));
}

TEST_F(ClaimAddressesTest, PassToTheClaimThatKeepsTheInterfaces) {
  make(false);
  claim_gcd(by("aaaaaaaa", "l1", 0));
  claim_gcd(by("aaaaaaaa", "l2", 1));
  ASSERT_TRUE(test::succeeds(pass_addresses(fleet(), kShared, "l1", "l2", {kFirst})));
  ASSERT_TRUE(test::succeeds(pass_addresses(fleet(), kShared, "l1", "l2", {kFirst})));
  claim_gcd(by("bbbbbbbb", "l3", 0));
  EXPECT_THAT(others("l3", {kFirst}), ElementsAre("l2"));
  ASSERT_TRUE(test::succeeds(unclaim(fleet(), kShared, "l2")));
  EXPECT_THAT(others("l3", {kFirst}), IsEmpty());
}

TEST_F(ClaimAddressesTest, AClaimGoesIfNobodyCanHaveWhatItPasses) {
  make();
  claim_gcd(by("aaaaaaaa", "l1", 0));
  ASSERT_TRUE(test::succeeds(pass_addresses(fleet(), kShared, "l1", "l2", {kFirst})));
  claim_gcd(by("aaaaaaaa", "l1", 0));
  Txn lost;
  lost.deletes = {record_key(prefix_, kShared)};
  ASSERT_TRUE(test::succeeds(store_.commit(lost, fleet().deadline)));
  ASSERT_TRUE(test::succeeds(pass_addresses(fleet(), kShared, "l1", "l2", {kFirst})));
  std::vector<Error> obstacles;
  EXPECT_THAT(list_claims(fleet(), obstacles).take(), IsEmpty());
}

TEST_F(ClaimAddressesTest, WhatRunsKeepsThem) {
  make();
  claim_gcd(by("aaaaaaaa", "l1", 0));
  Claim running = by("aaaaaaaa", "l1", 0);
  running.addresses = {{kFirst}};
  ASSERT_TRUE(test::succeeds(claim_running(fleet(), kShared, running)));  // the copy was older
  EXPECT_THAT(addresses_of("l1"), Optional(ElementsAre(kFirst)));
  const int64_t before = now().revision;
  ASSERT_TRUE(test::succeeds(claim_running(fleet(), kShared, running)));
  EXPECT_EQ(now().revision, before);
  put_old(by("aaaaaaaa", "l1", 0));
  ASSERT_TRUE(test::succeeds(claim_running(fleet(), kShared, running)));
  EXPECT_THAT(addresses_of("l1"), Optional(ElementsAre(kFirst)));
}

}  // namespace
}  // namespace hook::fleet
