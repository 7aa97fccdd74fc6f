// SPDX-License-Identifier: Apache-2.0
#include "hook/ledger/tenants.h"

#include <gmock/gmock.h>

#include "tests/unit/hook/ledger/ledger_fixture.h"

namespace hook::ledger {
namespace {

using base::Code;
using std::chrono::hours;

class TenantsTest : public LedgerFixture {
 protected:
  Intent of(const std::string& tenant, uint32_t ipus, uint32_t limit, uint32_t guaranteed = 0,
            std::chrono::milliseconds borrow_time = {}) {
    Intent what = intent("container" + std::to_string(++count_));
    what.tenant = tenant;
    what.rails.clear();
    what.ipus = ipus;
    what.share = Share{tenant, guaranteed, limit, borrow_time};
    return what;
  }
  base::Status reserve(const std::string& name, uint32_t ipus, const std::string& tenant,
                       uint32_t limit = UINT32_MAX, int64_t until_ms = 0) {
    PartitionRecord record;
    record.pool = pool_.name;
    record.name = "r-" + name;
    record.source = config::source_of(pool_);
    record.ipus = ipus;
    record.owner = releaser_;
    record.reservation = name;
    record.tenant = tenant;
    record.until_ms = until_ms;
    record.created_ms = now_;
    TRY(ledger_.partitions().intend(record, UINT32_MAX, Share{tenant, 0, limit}));
    return ledger_.partitions().mark_ready(record);
  }
  TenantUse use(const Share& share) {
    return use_of(share, ledger_.tenants().holdings().take(), now_);
  }
  int count_ = 0;
};

TEST_F(TenantsTest, HaveAtMostTheirLimitFromTheIntentOn) {
  Lease first = ledger_.acquire(of("a", 8, 12)).take();
  EXPECT_TRUE(test::fails(
      ledger_.acquire(of("a", 8, 12, 4)), Code::kBusy,
      "tenant 'a' has 8 of at most 12 IPUs (4 are guaranteed) on this host, and asks for 8 more; "
      "it fits when"
      " the tenant gives back 4; wait with IPU_WAIT=60s, or see 'ipuctl tenant show a'"));
  EXPECT_TRUE(test::succeeds(ledger_.acquire(of("b", 8, 12))));
  EXPECT_TRUE(test::succeeds(ledger_.acquire(of("a", 4, 12))));
  release(first);
  EXPECT_TRUE(test::succeeds(ledger_.acquire(of("a", 8, 12))));
}

TEST_F(TenantsTest, NeverGetMoreThanTheLimitAtOnce) {
  EXPECT_TRUE(test::fails(ledger_.acquire(of("a", 16, 12)), Code::kDenied,
                          "tenant 'a' may have at most 12 IPUs on this host"));
  EXPECT_TRUE(test::fails(ledger_.acquire(of("a", 0, 12)), Code::kInvalid, "ask with IPU_COUNT=N"));
  EXPECT_TRUE(test::succeeds(ledger_.acquire(of("a", 0, UINT32_MAX))));
}

TEST_F(TenantsTest, BorrowNoUnknownNumberOfCards) {
  EXPECT_TRUE(test::fails(ledger_.acquire(of("a", 0, UINT32_MAX, 0, hours(1))), Code::kInvalid,
                          "tenant 'a' has a borrow_time, and this request says not how many IPUs"));
}

TEST_F(TenantsTest, CountAReservationOnceAndSayWhenItEnds) {
  ASSERT_TRUE(test::succeeds(reserve("night", 8, "a", 8, 1'000'000'100'000)));
  EXPECT_TRUE(test::fails(reserve("day", 4, "a", 8), Code::kBusy,
                          "it fits when the tenant gives back 4; reservation 'night' with 8 IPUs"
                          " ends first, at 2001-09-09T01:48:20.000Z"));
  Intent inside = of("a", 0, 8);
  inside.named = NamedPartition{"r-night"};
  EXPECT_TRUE(test::succeeds(ledger_.acquire(inside)));
  EXPECT_EQ(use({"a"}).held, 8U);
}

TEST_F(TenantsTest, DoNotUseTheReservationsOfOthers) {
  ASSERT_TRUE(test::succeeds(reserve("night", 8, "a")));
  Intent other = of("b", 0, 64);
  other.named = NamedPartition{"r-night"};
  EXPECT_TRUE(test::fails(ledger_.acquire(other), Code::kDenied,
                          "reservation 'night' is of another tenant than 'b'"));
  Intent nobody = of("", 0, 64);
  nobody.named = NamedPartition{"r-night"};
  nobody.share.reset();
  const base::Result<Lease> lease = ledger_.acquire(nobody);
  ASSERT_TRUE(test::succeeds(lease));
  EXPECT_EQ(lease.value().tenant, "a");
}

TEST_F(TenantsTest, CountAGcdThatTheyShareOnce) {
  PartitionRecord two;
  two.pool = pool_.name;
  two.name = "p0";
  two.source = config::source_of(pool_);
  two.ipus = 8;
  two.gcds = 2;
  two.shared = true;
  two.owner = releaser_;
  ASSERT_TRUE(test::succeeds(ledger_.partitions().intend(two)));
  ASSERT_TRUE(test::succeeds(ledger_.partitions().mark_ready(two)));
  for (const char* tenant : {"a", "a", "b"}) {
    Intent what = of(tenant, 0, 4);
    what.named = NamedPartition{"p0", 1};
    EXPECT_TRUE(test::succeeds(ledger_.acquire(what)));
  }
  EXPECT_EQ(use({"a"}).held, 4U);
  EXPECT_EQ(use({"b"}).held, 4U);
  Intent all = of("a", 0, 7);
  all.named = NamedPartition{"p0", std::nullopt, true};
  EXPECT_TRUE(test::fails(ledger_.acquire(all), Code::kDenied, "may have at most 7"));
  all.share->limit = 8;
  EXPECT_TRUE(test::succeeds(ledger_.acquire(all)));
  EXPECT_EQ(use({"a"}).held, 8U);
}

TEST_F(TenantsTest, BorrowNoMoreWhileALoanIsOverdue) {
  const auto next = [&] { return ledger_.acquire(of("a", 4, 16, 4, hours(1))); };
  Lease first = next().take();
  now_ += 1;
  Lease second = next().take();
  const Share share{"a", 4, 16, hours(1)};
  now_ += std::chrono::milliseconds(hours(2)).count();
  EXPECT_EQ(use(share).overdue, 0U) << "it waits for its IPUs";
  ASSERT_TRUE(test::succeeds(ledger_.mark_allocated(
      second, {ipu("10.5.1.1", 0), ipu("10.5.1.1", 1), ipu("10.5.1.1", 2), ipu("10.5.1.1", 3)}, {},
      {})));
  now_ += std::chrono::milliseconds(hours(1)).count();
  EXPECT_EQ(use(share).borrowed, 4U);
  EXPECT_EQ(use(share).overdue, 0U);
  now_ += 1;
  EXPECT_EQ(use(share).overdue, 4U);
  EXPECT_TRUE(test::fails(next(), Code::kBusy,
                          "tenant 'a' has borrowed 4 IPUs for longer than its borrow_time, 1h"));
  // With the end of the oldest lease, what was borrowed is within the guaranteed share.
  release(first);
  EXPECT_EQ(use(share).overdue, 0U);
  EXPECT_TRUE(test::succeeds(next()));
}

TEST_F(TenantsTest, ThatGiveBackAreNotStoppedByALoan) {
  Lease first = ledger_.acquire(of("a", 4, 16, 8, hours(1))).take();
  Lease second = ledger_.acquire(of("a", 8, 16, 8, hours(1))).take();
  now_ += std::chrono::milliseconds(hours(2)).count();
  release(second);
  EXPECT_TRUE(test::succeeds(ledger_.acquire(of("a", 4, 16, 8, hours(1)))));
}

TEST_F(TenantsTest, HaveSoManyPlacesInTheQueue) {
  Waiter waiter;
  waiter.tenant = "a";
  EXPECT_TRUE(test::succeeds(ledger_.queue().enter(waiter, {8, 1})));
  EXPECT_TRUE(test::fails(ledger_.queue().enter(waiter, {8, 1}), Code::kDenied, "places"));
  waiter.tenant = "b";
  EXPECT_TRUE(test::succeeds(ledger_.queue().enter(waiter, {8, 1})));
  EXPECT_TRUE(test::fails(ledger_.queue().enter(waiter, {2, 8}), Code::kBusy, "full"));
  EXPECT_EQ(ledger_.queue().list().value().at(1).tenant, "b");
}

}  // namespace
}  // namespace hook::ledger
