// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/fleet_share.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/names.h"
#include "tests/support/outcome.h"

namespace hook::lifecycle {
namespace {

using namespace base::names;
using testing::ElementsAre;

// A claim of GCD 0 or 1 of partition p0, which has 8 IPUs.
fleet::Claim claim_by(const std::string& host, const std::string& id, const std::string& tenant,
                      uint32_t gcd, int64_t since_ms) {
  fleet::Claim claim{id, host, "c-" + id, "", gcd, 1, true};
  claim.tenant = tenant;
  claim.since_ms = since_ms;
  return claim;
}

fleet::Shares shares_of(std::vector<fleet::Claim> claims) {
  fleet::Shares shares;
  shares.tenants = {{"nlp", 0, 8}, {"vision", 0, 8}};
  shares.records = {{"nlp", 1}, {"vision", 2}};
  fleet::PartitionView view;
  view.name = {"pod64", "p0"};
  view.facts = {"aaaaaaaa", "s", 8, 2, true};
  view.claims = std::move(claims);
  shares.partitions = {view};
  return shares;
}

std::vector<std::string> held(const std::vector<ledger::Holding>& holdings) {
  std::vector<std::string> texts;
  for (const ledger::Holding& one : holdings)
    texts.push_back(
        str(one.host, ' ', one.container, one.reservation, ' ', one.tenant, ' ', one.ipus));
  return texts;
}

TEST(FleetShare, GrantsAndClaimsAreWhatTenantsHaveOldestFirst) {
  fleet::Shares shares = shares_of({claim_by("bbbbbbbb", "2", "vision", 1, 20)});
  shares.grants = {{"pod64", "1", "aaaaaaaa", "c-1", "", "vision", "", 4, 10},
                   {"pod64", "3", "aaaaaaaa", "", "night", "nlp", "", 16, 30}};
  EXPECT_THAT(
      held(holdings_of(shares)),
      ElementsAre("aaaaaaaa c-1 vision 4", "bbbbbbbb c-2 vision 4", "aaaaaaaa night nlp 16"));
}

TEST(FleetShare, AGcdCountsOnceForEachTenantByItsOldestClaimOnWhateverHost) {
  const fleet::Shares shares = shares_of({claim_by("aaaaaaaa", "3", "vision", 0, 30),
                                          claim_by("bbbbbbbb", "1", "vision", 0, 10),
                                          claim_by("aaaaaaaa", "2", "nlp", 0, 20)});
  EXPECT_THAT(held(holdings_of(shares)),
              ElementsAre("bbbbbbbb c-1 vision 4", "aaaaaaaa c-2 nlp 4"));
}

TEST(FleetShare, AResetCountsForNobody) {
  fleet::Claim reset = claim_by("aaaaaaaa", "1", "", 0, 10);
  reset.process = "1 2 3 boot";
  EXPECT_THAT(held(holdings_of(shares_of({reset}))), ElementsAre());
}

TEST(FleetShare, AClaimIsComparedWithAllThatItsTenantHas) {
  fleet::Shares shares = shares_of({});
  shares.grants = {{"pod64", "1", "aaaaaaaa", "c-1", "", "vision", "", 4, 10}};
  const fleet::PartitionName p0{"pod64", "p0"};
  const fleet::Claim own = claim_by("bbbbbbbb", "2", "vision", 0, 20);
  EXPECT_TRUE(test::succeeds(check_share(shares, p0, own)));
  shares.partitions[0].claims = {own};
  EXPECT_TRUE(test::succeeds(check_share(shares, p0, own)));  // again
  EXPECT_TRUE(test::fails(check_share(shares, p0, claim_by("aaaaaaaa", "3", "vision", 1, 30)),
                          Code::kBusy, "tenant 'vision' has 8 of at most 8 IPUs"));
  EXPECT_TRUE(  // the same GCD once more
      test::succeeds(check_share(shares, p0, claim_by("aaaaaaaa", "3", "vision", 0, 30))));
  EXPECT_TRUE(test::fails(check_share(shares, p0, claim_by("aaaaaaaa", "3", "other", 1, 30)),
                          Code::kDenied, "the fleet has no tenant 'other'"));
  EXPECT_TRUE(
      test::fails(check_share(shares, {"pod64", "4", "aaaaaaaa", "c-4", "", "vision", "", 1, 40}),
                  Code::kBusy, "tenant 'vision' has 8 of at most 8 IPUs"));
}

TEST(FleetShare, WhatMayBeAnybodysCountsForEachTenantThatHasALimit) {
  fleet::Shares shares = shares_of({});
  shares.tenants.push_back({"night", 0});
  shares.records["night"] = 3;
  shares.unowned = 6;
  const auto asks = [&](const std::string& tenant, uint32_t ipus) {
    return check_share(shares, {"pod64", "4", "aaaaaaaa", "c-4", "", tenant, "", ipus, 40});
  };
  for (const char* tenant : {"nlp", "vision"}) {
    EXPECT_TRUE(test::succeeds(asks(tenant, 2))) << tenant;
    EXPECT_TRUE(test::fails(asks(tenant, 4), Code::kBusy, "6 IPUs of grants that cannot be read"));
    EXPECT_TRUE(test::fails(asks(tenant, 4), Code::kBusy, "'ipuctl fleet check'"));
  }
  EXPECT_TRUE(test::succeeds(asks("night", 64)));  // one bad record does not stop the fleet
  shares.unowned = 0;
  EXPECT_TRUE(test::succeeds(asks("nlp", 8)));
}

TEST(FleetShare, WhatARequestAsksForInVainIsNotHeld) {
  fleet::Shares shares = shares_of({claim_by("bbbbbbbb", "5", "nlp", 0, 5)});
  shares.grants = {{"pod64", "l1", "bbbbbbbb", "one", "", "vision", "", 8, 1},
                   {"pod64", "l2", "bbbbbbbb", "two", "", "vision", "", 4, 2},
                   {"pod64", "l3", "cccccccc", "one", "", "vision", "", 4, 3},
                   {"pod64", "r4", "cccccccc", "", "night", "vision", "", 4, 4}};
  const auto waits = [](const std::string& host, const std::string& who) {
    fleet::Waiting one{{"pod64"}, {}};
    one.ticket.host = host;
    one.ticket.container = who;
    return one;
  };
  const std::vector<fleet::Waiting> queue = {
      waits("bbbbbbbb", "one"), waits("cccccccc", "reservation night"), waits("bbbbbbbb", "c-5")};
  EXPECT_THAT(held(without_waiting(holdings_of(shares), queue)),
              ElementsAre("bbbbbbbb two vision 4", "cccccccc one vision 4"));
}

}  // namespace
}  // namespace hook::lifecycle
