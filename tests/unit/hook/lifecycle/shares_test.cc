// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/shares.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hook::lifecycle {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class SharesTest : public testing::Test {
 protected:
  void add(const std::string& tenant, uint32_t ipus, int64_t since_ms = 0) {
    ledger::Waiter waiter;
    waiter.ticket = static_cast<int64_t>(waiters_.size()) + 1;
    waiter.tenant = tenant;
    waiter.ipus = ipus;
    waiter.since_ms = since_ms;
    waiters_.push_back(waiter);
  }
  std::vector<int64_t> order() {
    std::vector<int64_t> tickets;
    for (const Ranked& ranked : served_order(waiters_, standing_))
      tickets.push_back(ranked.waiter.ticket);
    return tickets;
  }
  std::vector<int64_t> before(int64_t ticket) {
    std::vector<int64_t> tickets;
    for (const ledger::Waiter& waiter : served_before(served_order(waiters_, standing_), ticket))
      tickets.push_back(waiter.ticket);
    return tickets;
  }

  const std::vector<config::TenantConfig> tenants_ = {{"a", 8, 16}, {"b", 4, 8}, {"c", 0, 8}};
  Standing standing_{tenants_, {}, {}, 0};
  std::vector<ledger::Waiter> waiters_;
};

TEST_F(SharesTest, ServeTheGuaranteedFirstThenByArrival) {
  add("c", 4);
  add("a", 8);
  add("b", 4);
  add("c", 2);
  EXPECT_THAT(order(), ElementsAre(2, 3, 1, 4));
  EXPECT_THAT(before(1), ElementsAre(2, 3));
  EXPECT_THAT(before(2), IsEmpty());
}

TEST_F(SharesTest, CountWhatATenantHasAndWhatItAskedForBefore) {
  standing_.held["a"] = 4;
  add("c", 4);
  add("a", 4);  // guaranteed
  add("a", 1);  // borrows: with the request before it, it has more than 8
  EXPECT_THAT(order(), ElementsAre(2, 1, 3));
}

TEST_F(SharesTest, NeverReorderTheRequestsOfOneTenant) {
  add("a", 16);  // borrows
  add("a", 1);   // is within the guaranteed share, but comes later
  add("b", 4);
  EXPECT_THAT(order(), ElementsAre(3, 1, 2));
}

TEST_F(SharesTest, LetNobodyWaitForATenantOverItsLimit) {
  standing_.held["c"] = 8;
  add("c", 4);
  add("a", 16);
  EXPECT_THAT(before(2), IsEmpty());
  EXPECT_THAT(before(1), ElementsAre(2));
  add("c", 1);
  EXPECT_THAT(before(3), ElementsAre(2, 1));
}

TEST_F(SharesTest, LetNobodyWaitForATenantWhoseLoanIsOverdue) {
  standing_.held["a"] = 12;
  standing_.overdue.insert("a");
  standing_.now_ms = kLongestPass.count();
  add("a", 2, 0);
  add("c", 4, 1);
  EXPECT_THAT(before(2), IsEmpty());
  standing_.held["a"] = 4;
  EXPECT_THAT(before(2), ElementsAre(1)) << "it is within its share";
}

TEST_F(SharesTest, StarveNobody) {
  standing_.now_ms = kLongestPass.count();
  add("c", 4, 0);
  add("b", 4, 1);
  EXPECT_THAT(order(), ElementsAre(1, 2)) << "the first was passed for as long as anybody may be";
  standing_.now_ms -= 1;
  EXPECT_THAT(order(), ElementsAre(2, 1));
}

TEST_F(SharesTest, KeepTheGuaranteedWaitingForOneBorrowerOnly) {
  standing_.now_ms = 2 * kLongestPass.count();
  for (int i = 0; i < 8; ++i) add("c", 1);
  add("b", 4, standing_.now_ms - 1);
  EXPECT_THAT(before(9), ElementsAre(1));
  EXPECT_THAT(before(2), ElementsAre(1, 9));
}

TEST_F(SharesTest, LetNoOldBorrowerPassTheGuaranteedThatWaitedForAsLong) {
  standing_.now_ms = 2 * kLongestPass.count();
  for (int i = 0; i < 50; ++i) add("c", 1);
  add("b", 4, kLongestPass.count() + 1);
  EXPECT_THAT(before(51), ElementsAre(1));
  waiters_.back().since_ms = kLongestPass.count();
  EXPECT_THAT(before(51), IsEmpty());
}

TEST_F(SharesTest, CountNoLeaseOfARequestThatWaits) {
  add("a", 4);
  waiters_[0].container = "waits";
  waiters_[0].resource = "pod16/p0";
  std::vector<ledger::Holding> holdings = {{"a", "pod16", "waits", "", 4},
                                           {"a", "pod16", "runs", "", 2},
                                           {"a", "pod16", "", "night", 1},
                                           {"a", "pod16", "", "day", 8}};
  holdings[0].has_ipus = holdings[3].has_ipus = false;
  add("a", 8);
  waiters_[1].container = "reservation day";
  waiters_[1].resource = "pod16";
  std::vector<uint32_t> ipus;
  for (const ledger::Holding& holding : without_waiting(holdings, waiters_))
    ipus.push_back(holding.ipus);
  EXPECT_THAT(ipus, ElementsAre(2, 1));
}

TEST_F(SharesTest, CountWhatHasTheNameOfARequestThatWaits) {
  for (const char* const container : {"reservation x", "web"}) {
    add("a", 4);
    waiters_.back().container = container;
    waiters_.back().resource = "podB";
  }
  ledger::Holding elsewhere = {"a", "pod16", "", "x", 4};
  elsewhere.has_ipus = false;
  EXPECT_EQ(
      without_waiting({{"a", "podB", "", "x", 4}, {"a", "podB", "web", "", 4}, elsewhere}, waiters_)
          .size(),
      3U)
      << "two have their IPUs, and one is of another pool";
}

TEST_F(SharesTest, AreUnknownWithoutATable) {
  config::PolicyConfig policy;
  EXPECT_FALSE(share_of(policy, "a").has_value());
  policy.tenants = tenants_;
  EXPECT_EQ(share_of(policy, "b")->limit, 8U);
  EXPECT_EQ(share_of(policy, "b")->guaranteed, 4U);
  EXPECT_EQ(share_of(policy, "x")->limit, UINT32_MAX);
}

}  // namespace
}  // namespace hook::lifecycle
