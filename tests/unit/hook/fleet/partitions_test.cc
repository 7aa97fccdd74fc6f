// SPDX-License-Identifier: Apache-2.0
#include "hook/fleet/partitions.h"

#include <gtest/gtest.h>

#include <chrono>

#include "base/names.h"
#include "tests/support/lent_store.h"
#include "tests/support/outcome.h"

namespace hook::fleet {
namespace {

using namespace base::names;

const PartitionName kP0{"pod64", "p0"};

class FleetPartitionsTest : public testing::Test {
 protected:
  Fleet fleet() { return {store_, prefix_, Deadline::after(std::chrono::seconds(5))}; }
  static PartitionView view(PartitionFacts facts = {"aaaaaaaa", "10.1.3.101:8090", 8, 4}) {
    PartitionView view;
    view.name = kP0;
    view.facts = std::move(facts);
    return view;
  }
  static Claim by(const std::string& host, const std::string& id, uint32_t gcd, uint32_t gcds = 1) {
    return {id, host, "container-" + id, "", gcd, gcds};
  }
  void make(const PartitionFacts& facts = {"aaaaaaaa", "10.1.3.101:8090", 8, 4}) {
    ASSERT_TRUE(test::succeeds(publish(fleet(), view(facts))));
  }
  PartitionView now() { return find_partition(fleet(), kP0).take().value(); }
  Result<ClaimDuty> ask(const Claim& one) { return claim(fleet(), kP0, one, {}); }
  void put(const std::string& key, const std::string& value) {
    Txn txn;
    txn.puts = {{key, value}};
    ASSERT_TRUE(test::succeeds(store_.commit(txn, fleet().deadline)));
  }

  test::FakeStore store_;
  const std::string prefix_ = "/f/";
};

TEST_F(FleetPartitionsTest, ANameIsGivenOnce) {
  make();
  EXPECT_TRUE(test::fails(publish(fleet(), view({"bbbbbbbb", "x", 4})), Code::kExists, "aaaaaaaa"));
  EXPECT_TRUE(test::fails(publish(fleet(), view()), Code::kExists, "aaaaaaaa"));
  EXPECT_EQ(now().facts, view().facts);
}

TEST_F(FleetPartitionsTest, OneThatIsBeingMadeIsItsMakersAlone) {
  PartitionView made = view();
  made.phase = PartitionPhase::kMaking;
  made.changer = "aaaaaaaa";
  ASSERT_TRUE(test::succeeds(publish(fleet(), made)));
  EXPECT_TRUE(
      test::fails(ask(by("bbbbbbbb", "l1", 0)), Code::kBusy, "being made by host aaaaaaaa"));
  ASSERT_TRUE(test::succeeds(publish(fleet(), made)));  // again, after a crash
  EXPECT_TRUE(test::fails(publish(fleet(), view({"bbbbbbbb", "x", 4})), Code::kBusy,
                          "being made by host aaaaaaaa"));
  ASSERT_TRUE(test::succeeds(forget_making(fleet(), kP0, "bbbbbbbb")));
  EXPECT_TRUE(test::fails(finish_making(fleet(), kP0, "bbbbbbbb"), Code::kNotFound));
  ASSERT_TRUE(test::succeeds(finish_making(fleet(), kP0, "aaaaaaaa")));
  ASSERT_TRUE(test::succeeds(finish_making(fleet(), kP0, "aaaaaaaa")));
  EXPECT_TRUE(test::succeeds(ask(by("bbbbbbbb", "l1", 0))));
  ASSERT_TRUE(test::succeeds(forget_making(fleet(), kP0, "aaaaaaaa")));
  EXPECT_EQ(now().claims.size(), 1U);
}

TEST_F(FleetPartitionsTest, ForgetsWhatCouldNotBeMade) {
  PartitionView made = view();
  made.phase = PartitionPhase::kMaking;
  made.changer = "aaaaaaaa";
  ASSERT_TRUE(test::succeeds(publish(fleet(), made)));
  ASSERT_TRUE(test::succeeds(forget_making(fleet(), kP0, "aaaaaaaa")));
  ASSERT_TRUE(test::succeeds(forget_making(fleet(), kP0, "aaaaaaaa")));
  EXPECT_FALSE(find_partition(fleet(), kP0).take());
}

TEST_F(FleetPartitionsTest, AGcdHasOneClaim) {
  make();
  EXPECT_EQ(ask(by("aaaaaaaa", "l1", 0)).take(), ClaimDuty::kNone);
  EXPECT_TRUE(test::fails(ask(by("bbbbbbbb", "l2", 0)), Code::kBusy,
                          "container container-l1 on host aaaaaaaa (GCD 0)"));
  EXPECT_TRUE(test::fails(ask(by("bbbbbbbb", "l2", 0, 4)), Code::kBusy));
  EXPECT_EQ(ask(by("bbbbbbbb", "l2", 1)).take(), ClaimDuty::kNone);
  ASSERT_TRUE(test::succeeds(unclaim(fleet(), kP0, "l1")));
  ASSERT_TRUE(test::succeeds(unclaim(fleet(), kP0, "l1")));
  EXPECT_EQ(ask(by("bbbbbbbb", "l3", 0)).take(), ClaimDuty::kNone);
  EXPECT_EQ(now().claims.size(), 2U);
}

TEST_F(FleetPartitionsTest, AClaimWhoseAnswerWasLostIsMadeAgain) {
  make();
  EXPECT_EQ(ask(by("aaaaaaaa", "l1", 0)).take(), ClaimDuty::kNone);
  EXPECT_EQ(ask(by("aaaaaaaa", "l1", 0)).take(), ClaimDuty::kNone);
  EXPECT_EQ(now().claims.size(), 1U);
}

TEST_F(FleetPartitionsTest, ASharedGcdHasSeveral) {
  make({"aaaaaaaa", "s", 4, 1, true});
  EXPECT_EQ(ask(by("aaaaaaaa", "l1", 0)).take(), ClaimDuty::kNone);
  EXPECT_EQ(ask(by("bbbbbbbb", "l2", 0)).take(), ClaimDuty::kNone);
}

TEST_F(FleetPartitionsTest, OneHostResetsWhatAnotherHasLeft) {
  make();
  ASSERT_EQ(ask(by("aaaaaaaa", "l1", 0)).take(), ClaimDuty::kNone);
  ASSERT_TRUE(test::succeeds(unclaim(fleet(), kP0, "l1")));
  EXPECT_EQ(ask(by("bbbbbbbb", "l2", 0)).take(), ClaimDuty::kReset);
  EXPECT_EQ(ask(by("bbbbbbbb", "l2", 0)).take(), ClaimDuty::kReset);  // its answer was lost
  EXPECT_EQ(ask(by("aaaaaaaa", "l3", 1)).take(), ClaimDuty::kWait);
  const int64_t before = now().modified;
  EXPECT_EQ(ask(by("aaaaaaaa", "l3", 1)).take(), ClaimDuty::kWait);
  EXPECT_EQ(now().modified, before);
  ASSERT_TRUE(test::succeeds(finish_reset(fleet(), kP0, "l2")));
  EXPECT_EQ(ask(by("aaaaaaaa", "l3", 1)).take(), ClaimDuty::kNone);
}

TEST_F(FleetPartitionsTest, WhoWaitsForAResetIsNoReasonToLeaveItOut) {
  make();
  ASSERT_EQ(ask(by("aaaaaaaa", "l1", 0)).take(), ClaimDuty::kNone);
  ASSERT_TRUE(test::succeeds(unclaim(fleet(), kP0, "l1")));
  ASSERT_EQ(ask(by("bbbbbbbb", "l2", 0)).take(), ClaimDuty::kReset);
  ASSERT_EQ(ask(by("aaaaaaaa", "l3", 1)).take(), ClaimDuty::kWait);
  ASSERT_TRUE(test::succeeds(unclaim(fleet(), kP0, "l2")));  // it died
  EXPECT_EQ(ask(by("cccccccc", "l4", 2)).take(), ClaimDuty::kReset);
  EXPECT_EQ(ask(by("aaaaaaaa", "l3", 1)).take(), ClaimDuty::kWait);
  EXPECT_TRUE(test::fails(finish_reset(fleet(), kP0, "l3"), Code::kBusy, "start the container"));
}

TEST_F(FleetPartitionsTest, NobodyResetsUnderAContainer) {
  make();
  ASSERT_EQ(ask(by("aaaaaaaa", "l1", 0)).take(), ClaimDuty::kNone);
  EXPECT_EQ(ask(by("bbbbbbbb", "l2", 1)).take(), ClaimDuty::kNone);
  EXPECT_TRUE(test::fails(begin_reset(fleet(), kP0, by("bbbbbbbb", "r1", 0)), Code::kBusy,
                          "container-l1 on host aaaaaaaa"));
}

// The only container that made a reset impossible ends between the look and the claim.
TEST_F(FleetPartitionsTest, LooksAgainIfTheOnlyUserEnds) {
  class Racing final : public Store {
   public:
    explicit Racing(test::FakeStore& store) : store_(store) {}
    Result<TxnResult> commit(const Txn& txn, const Deadline& deadline) override {
      if (!std::exchange(raced_, true)) {
        Txn end;
        end.deletes = {"/f/partitions/pod64/p0/claims/l1"};
        TRY(store_.commit(end, deadline));
      }
      return store_.commit(txn, deadline);
    }
    Result<Listing> list(const std::string& prefix, const Deadline& deadline) override {
      return store_.list(prefix, deadline);
    }
    Result<Changes> wait(const std::string&, int64_t, const Deadline&) override {
      return Changes();
    }
    Result<Lease> grant(uint32_t, const Deadline&) override { return Lease(); }
    Result<Lease> keep(int64_t, const Deadline&) override { return Lease(); }
    Status revoke(int64_t, const Deadline&) override { return {}; }
    Result<std::vector<Member>> members(const Deadline&) override { return std::vector<Member>(); }

   private:
    test::FakeStore& store_;
    bool raced_ = false;
  };
  make();
  ASSERT_EQ(ask(by("aaaaaaaa", "l1", 0)).take(), ClaimDuty::kNone);
  Racing racing(store_);
  EXPECT_EQ(claim({racing, prefix_, fleet().deadline}, kP0, by("bbbbbbbb", "l2", 1), {}).take(),
            ClaimDuty::kReset);
}

TEST_F(FleetPartitionsTest, ReconfigurableAndAdoptedOnesAreNeverReset) {
  for (const PartitionFacts& facts : {PartitionFacts{"a", "s", 8, 4, false, true},
                                      PartitionFacts{"a", "s", 8, 4, false, false, true}}) {
    make(facts);
    ASSERT_EQ(ask(by("aaaaaaaa", "l1", 0)).take(), ClaimDuty::kNone);
    ASSERT_TRUE(test::succeeds(unclaim(fleet(), kP0, "l1")));
    EXPECT_EQ(ask(by("bbbbbbbb", "l2", 0)).take(), ClaimDuty::kNone);
    ASSERT_TRUE(test::succeeds(unclaim(fleet(), kP0, "l2")));
    ASSERT_TRUE(test::succeeds(begin_removal(fleet(), kP0, "cccccccc", Takes::kNone)));
    ASSERT_TRUE(test::succeeds(finish_removal(fleet(), kP0, "cccccccc")));
  }
}

TEST_F(FleetPartitionsTest, ARemovalEndsAllClaimsOrNone) {
  make();
  ASSERT_EQ(ask(by("aaaaaaaa", "l1", 0)).take(), ClaimDuty::kNone);
  EXPECT_TRUE(test::fails(begin_removal(fleet(), kP0, "bbbbbbbb", Takes::kOwn), Code::kBusy,
                          "container-l1 on host aaaaaaaa"));
  EXPECT_TRUE(test::fails(begin_removal(fleet(), kP0, "aaaaaaaa", Takes::kNone), Code::kBusy));
  ASSERT_TRUE(test::succeeds(begin_removal(fleet(), kP0, "aaaaaaaa", Takes::kOwn)));
  ASSERT_TRUE(test::succeeds(begin_removal(fleet(), kP0, "aaaaaaaa", Takes::kOwn)));
  EXPECT_TRUE(test::fails(ask(by("bbbbbbbb", "l2", 1)), Code::kBusy, "being removed by host"));
  EXPECT_TRUE(test::fails(begin_removal(fleet(), kP0, "bbbbbbbb", Takes::kNone), Code::kBusy,
                          "being removed by host aaaaaaaa"));
  ASSERT_TRUE(test::succeeds(cancel_removal(fleet(), kP0, "aaaaaaaa")));
  EXPECT_EQ(ask(by("bbbbbbbb", "l2", 1)).take(), ClaimDuty::kNone);
  ASSERT_TRUE(test::succeeds(unclaim(fleet(), kP0, "l2")));
  ASSERT_TRUE(test::succeeds(begin_removal(fleet(), kP0, "aaaaaaaa", Takes::kOwn)));
  ASSERT_TRUE(test::succeeds(finish_removal(fleet(), kP0, "aaaaaaaa")));
  ASSERT_TRUE(test::succeeds(finish_removal(fleet(), kP0, "aaaaaaaa")));
  EXPECT_FALSE(find_partition(fleet(), kP0).take());
  // What the container still has is nobody's who makes the name anew.
  make();
  EXPECT_TRUE(test::fails(ask(by("bbbbbbbb", "l3", 0)), Code::kBusy, "container-l1"));
}

TEST_F(FleetPartitionsTest, AResetIsAlone) {
  make();
  Claim reset{"r1", "aaaaaaaa", "", "1.2.3@boot"};
  ASSERT_TRUE(test::succeeds(begin_reset(fleet(), kP0, reset)));
  EXPECT_TRUE(test::fails(ask(by("bbbbbbbb", "l1", 3)), Code::kBusy, "a reset on host aaaaaaaa"));
  ASSERT_TRUE(test::succeeds(end_reset(fleet(), kP0, "r1", ResetDone::kYes)));
  EXPECT_EQ(ask(by("bbbbbbbb", "l1", 3)).take(), ClaimDuty::kNone);
  ASSERT_TRUE(test::succeeds(unclaim(fleet(), kP0, "l1")));
  ASSERT_TRUE(test::succeeds(begin_reset(fleet(), kP0, reset)));
  ASSERT_TRUE(test::succeeds(end_reset(fleet(), kP0, "r1", ResetDone::kNo)));
  EXPECT_EQ(ask(by("bbbbbbbb", "l2", 3)).take(), ClaimDuty::kReset);
}

// Whoever resets it by what a copy of the store says, or has died.
TEST_F(FleetPartitionsTest, WhatRunsUsesThePartitionAndIsNotResetUnder) {
  PartitionView dirty = view();
  dirty.dirty = true;
  ASSERT_TRUE(test::succeeds(publish(fleet(), dirty)));
  ASSERT_EQ(ask(by("aaaaaaaa", "l1", 0)).take(), ClaimDuty::kReset);
  ASSERT_TRUE(test::succeeds(claim_running(fleet(), kP0, by("bbbbbbbb", "l2", 1))));
  ASSERT_TRUE(test::succeeds(unclaim(fleet(), kP0, "l1")));
  EXPECT_EQ(ask(by("cccccccc", "l3", 0)).take(), ClaimDuty::kNone);
  // Its own reset was cut short between the claim and its end.
  ASSERT_TRUE(test::succeeds(unclaim(fleet(), kP0, "l2")));
  ASSERT_TRUE(test::succeeds(unclaim(fleet(), kP0, "l3")));
  ASSERT_EQ(ask(by("aaaaaaaa", "l4", 0)).take(), ClaimDuty::kReset);
  ASSERT_TRUE(test::succeeds(claim_running(fleet(), kP0, by("aaaaaaaa", "l4", 0))));
  EXPECT_EQ(now().resetter, "");
  EXPECT_EQ(ask(by("bbbbbbbb", "l5", 1)).take(), ClaimDuty::kNone);
  EXPECT_TRUE(test::fails(claim_running(fleet(), kP0, by("cccccccc", "l6", 1)), Code::kBusy));
}

TEST_F(FleetPartitionsTest, AFencedHostClaimsNothingAndHasNothing) {
  make();
  ASSERT_EQ(ask(by("aaaaaaaa", "l1", 0)).take(), ClaimDuty::kNone);
  ASSERT_EQ(ask(by("bbbbbbbb", "l2", 1)).take(), ClaimDuty::kNone);
  ASSERT_TRUE(test::succeeds(fence(fleet(), "aaaaaaaa", "bbbbbbbb", 1'800'000'000'000)));
  ASSERT_TRUE(test::succeeds(fence(fleet(), "aaaaaaaa", "bbbbbbbb", 1'800'000'000'001)));
  ASSERT_EQ(now().claims.size(), 1U);
  EXPECT_EQ(now().claims.front().host, "bbbbbbbb");
  EXPECT_TRUE(
      test::fails(ask(by("aaaaaaaa", "l3", 2)), Code::kDenied, "ipuctl host forget aaaaaaaa"));
  PartitionView other = view();
  other.name.name = "p1";
  other.claims = {by("aaaaaaaa", "l4", 0)};
  EXPECT_TRUE(test::fails(publish(fleet(), other), Code::kDenied, "ipuctl host forget aaaaaaaa"));
  EXPECT_FALSE(find_partition(fleet(), other.name).take());
  EXPECT_TRUE(forget_fence(fleet(), "aaaaaaaa").take());
  EXPECT_FALSE(forget_fence(fleet(), "aaaaaaaa").take());
  EXPECT_TRUE(test::succeeds(ask(by("aaaaaaaa", "l3", 2))));
}

TEST_F(FleetPartitionsTest, AFenceGoesOnPastWhatCannotBeRead) {
  make();
  ASSERT_EQ(ask(by("aaaaaaaa", "l1", 0)).take(), ClaimDuty::kNone);
  put("/f/partitions/pod64/p0/claims/odd", R"({"host":"aaaaaaaa","gcd":"x"})");
  put("/f/partitions/pod64/p0/claims/other", "x");
  put("/f/grants/pod64/odd", R"({"host":"aaaaaaaa"})");
  put("/f/grants/pod64/other", "x");
  put("/f/queue/pod64/*/odd", R"({"host":"aaaaaaaa"})");
  ASSERT_TRUE(test::succeeds(fence(fleet(), "aaaaaaaa", "bbbbbbbb", 1)));
  EXPECT_TRUE(find_fence(store_, prefix_, "aaaaaaaa", fleet().deadline).take()->is_finished);
  std::vector<std::string> left;
  for (const KeyValue& one : store_.list("/f/", fleet().deadline).take().keys)
    if (one.key.find("meta") == std::string::npos) left.push_back(one.key);
  EXPECT_EQ(left, (std::vector<std::string>{"/f/fences/aaaaaaaa", "/f/grants/pod64/other",
                                            "/f/partitions/pod64/p0/claims/other",
                                            "/f/partitions/pod64/p0/record"}));
}

TEST_F(FleetPartitionsTest, WhatADeadHostRemovedIsTheFencersToRemove) {
  make();
  ASSERT_TRUE(test::succeeds(begin_removal(fleet(), kP0, "aaaaaaaa", Takes::kNone)));
  put("/f/partitions/pod64/gone/claims/l9",
      R"({"host":"aaaaaaaa","container":"c","process":"","gcd":0,"gcds":1,"uses":true})");
  ASSERT_TRUE(test::succeeds(fence(fleet(), "aaaaaaaa", "bbbbbbbb", 1)));
  std::vector<Error> obstacles;
  EXPECT_TRUE(list_claims(fleet(), obstacles).take().empty());
  ASSERT_TRUE(test::succeeds(begin_removal(fleet(), kP0, "bbbbbbbb", Takes::kNone)));
  ASSERT_TRUE(test::succeeds(finish_removal(fleet(), kP0, "bbbbbbbb")));
  EXPECT_FALSE(find_partition(fleet(), kP0).take());
}

TEST_F(FleetPartitionsTest, WhatCannotBeReadHidesItsPartitionAlone) {
  make();
  put("/f/partitions/pod64/p1/record", "{}");
  put("/f/partitions/pod64/p2/claims/l9", "x");
  put("/f/partitions/odd", "x");
  std::vector<Error> obstacles;
  const std::vector<PartitionView> all = list_partitions(fleet(), obstacles).take();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all.front().name, kP0);
  ASSERT_EQ(obstacles.size(), 3U);
  for (const Error& one : obstacles) EXPECT_EQ(one.code(), Code::kInvalid);
  EXPECT_TRUE(test::fails(find_partition(fleet(), {"pod64", "p1"}), Code::kInvalid, "p1/record"));
  EXPECT_TRUE(test::fails(claim(fleet(), {"pod64", "no"}, by("a", "l", 0), {}), Code::kNotFound,
                          "no partition 'no' of pool 'pod64'"));
}

// The store has forgotten the revision of the look, so there was a change.
TEST_F(FleetPartitionsTest, AWaitForAChangeThatTheStoreForgotIsOver) {
  make();
  int calls = 0;
  test::LentStore store(store_, [&] {
    if (++calls == 2) {
      put("/f/partitions/pod64/p0/claims/l1", "{}");
      put("/f/else", "x");
      store_.compact();
    }
    return test::Call::kAnswered;
  });
  const Fleet brief{store, prefix_, Deadline::after(std::chrono::milliseconds(10))};
  EXPECT_TRUE(test::succeeds(wait_for_change(brief, kP0)));
  EXPECT_EQ(calls, 2);
}

}  // namespace
}  // namespace hook::fleet
