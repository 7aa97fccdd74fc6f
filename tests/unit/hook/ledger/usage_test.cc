// SPDX-License-Identifier: Apache-2.0
#include "hook/ledger/usage.h"

#include <gmock/gmock.h>

#include "hook/ledger/rebuilder.h"
#include "tests/support/sql.h"
#include "tests/unit/hook/ledger/ledger_fixture.h"

namespace hook::ledger {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

class UsageTest : public LedgerFixture {
 protected:
  Lease run(const std::string& container, const std::string& tenant, uint32_t ipus,
            int64_t asked_ms = 0) {
    Intent what = intent(container);
    what.tenant = tenant;
    what.rails.clear();
    what.ipus = ipus;
    what.asked_ms = asked_ms;
    Lease lease = ledger_.acquire(what).take();
    std::vector<LeasedIpu> ipus_of_lease;
    for (uint32_t i = 0; i < ipus; ++i) ipus_of_lease.push_back(ipu("10.1.5.1", device_++));
    EXPECT_TRUE(test::succeeds(ledger_.mark_allocated(lease, std::move(ipus_of_lease), {}, {})));
    return lease;
  }
  std::vector<UsageRow> since(int64_t from_ms) {
    return ledger_.usage().between(from_ms / kDayMs, INT64_MAX).take();
  }
  std::vector<UsageRow> on(int64_t day_ms) {
    return ledger_.usage().between(day_ms / kDayMs, day_ms / kDayMs + 1).take();
  }
  uint32_t device_ = 0;
  const int64_t today_ = now_ / kDayMs * kDayMs;
};

TEST_F(UsageTest, CountsFromTheIpusToTheEnd) {
  const int64_t asked = now_;
  now_ += 3000;
  const Lease lease = run("web", "a", 4, asked);
  now_ += 10'000;
  ASSERT_THAT(since(today_), SizeIs(1)) << "a lease that lives counts too";
  EXPECT_EQ(since(today_)[0].held, 40'000);
  EXPECT_EQ(since(today_)[0].starts, 0);
  release(lease);
  now_ += 10'000;
  ASSERT_THAT(since(today_), SizeIs(1));
  EXPECT_EQ(since(today_)[0].tenant, "a");
  EXPECT_EQ(since(today_)[0].pool, "pod64");
  EXPECT_EQ(since(today_)[0].held, 40'000);
  EXPECT_EQ(since(today_)[0].starts, 1);
  EXPECT_EQ(since(today_)[0].waits.count(), 1);
  EXPECT_EQ(since(today_)[0].waits.largest_ms(), 3000);
}

TEST_F(UsageTest, AWaitIsOfTheDayOnWhichItEnded) {
  const int64_t asked = today_ + kDayMs - 1000;
  now_ = asked + 3000;
  const Lease lease = run("web", "a", 4, asked);
  now_ += kDayMs;
  EXPECT_EQ(since(today_)[0].waits.count(), 1);
  EXPECT_EQ(since(today_ + 2 * kDayMs)[0].waits.count(), 0);
  release(lease);
  release(run("web", "a", 4, now_ - 20));
  EXPECT_EQ(on(today_ + kDayMs)[0].waits.largest_ms(), 3000);
  EXPECT_EQ(on(today_ + 2 * kDayMs)[0].waits.largest_ms(), 20);
  EXPECT_EQ(since(today_)[0].waits.count(), 2);
}

TEST_F(UsageTest, ADayThatIsOverStaysAsItIs) {
  now_ = today_ + kDayMs - 1000;
  const Lease lease = run("web", "a", 2);
  now_ += kDayMs;
  ASSERT_THAT(on(today_), SizeIs(1));
  EXPECT_EQ(on(today_)[0].held, 2000);
  EXPECT_EQ(on(today_ + kDayMs)[0].held, 2 * (kDayMs - 1000));
  release(lease);
  EXPECT_EQ(on(today_)[0].held, 2000);
  EXPECT_EQ(on(today_)[0].starts, 0);
  EXPECT_EQ(on(today_ + kDayMs)[0].starts, 1);
  EXPECT_THAT(on(today_ + 2 * kDayMs), IsEmpty());
}

TEST_F(UsageTest, RemembersWhatAFleetWasTold) {
  EXPECT_FALSE(ledger_.usage().told().take());
  const Told told{"0123456789abcdef", "01234567", 20'000, 5};
  ASSERT_TRUE(test::succeeds(ledger_.usage().tell(told)));
  EXPECT_EQ(ledger_.usage().told().take(), told);
}

TEST_F(UsageTest, IsKeptWhenTheHistoryIsForgotten) {
  release(run("web", "a", 4));
  now_ += 10 * kDayMs;
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(test::succeeds(ledger_.events().forget(now_)));
  EXPECT_THAT(since(today_), SizeIs(1));
  EXPECT_THAT(since(today_ + kDayMs), IsEmpty());
}

TEST_F(UsageTest, IsDividedIntoTheDaysOfALease) {
  now_ = today_ + kDayMs - 1000;
  const Lease lease = run("web", "a", 2);
  now_ += kDayMs + 3000;
  release(lease);
  EXPECT_EQ(since(today_)[0].held, 2 * (kDayMs + 3000));
  EXPECT_EQ(since(today_ + kDayMs)[0].held, 2 * (kDayMs + 2000));
  EXPECT_EQ(since(today_ + 2 * kDayMs)[0].held, 2 * 2000);
  EXPECT_EQ(since(today_ + 2 * kDayMs)[0].starts, 1);
}

TEST_F(UsageTest, CountsALiveLeaseFromTheTimeThatIsAskedFor) {
  (void)run("web", "a", 2);
  now_ = today_ + kDayMs + 5000;
  EXPECT_EQ(since(today_ + kDayMs)[0].held, 2 * 5000);
}

TEST_F(UsageTest, IsOfNoStartThatGotNoIpus) {
  Intent what = intent("web");
  what.rails.clear();
  Lease lease = ledger_.acquire(what).take();
  now_ += 1000;
  ASSERT_TRUE(test::succeeds(ledger_.begin_release(lease, releaser_, "no room; wait")));
  ASSERT_TRUE(test::succeeds(ledger_.finish_release(lease)));
  EXPECT_THAT(since(today_), IsEmpty());
  const std::vector<RefusedRow> refused =
      ledger_.usage().refused(today_ / kDayMs, INT64_MAX).take();
  ASSERT_THAT(refused, SizeIs(1));
  EXPECT_EQ(refused[0].tenant, "team-a");
  EXPECT_EQ(refused[0].cause, "no room");
  EXPECT_EQ(refused[0].count, 1);
}

TEST_F(UsageTest, HasReservationsBesideLeases) {
  PartitionRecord record;
  record.pool = pool_.name;
  record.name = "r-1";
  record.ipus = 8;
  record.owner = releaser_;
  record.reservation = "night";
  record.tenant = "a";
  record.user = 1001;
  record.created_ms = now_;
  ASSERT_TRUE(test::succeeds(ledger_.partitions().intend(record)));
  ASSERT_TRUE(test::succeeds(ledger_.partitions().mark_ready(record)));
  now_ += 1000;
  EXPECT_EQ(since(today_)[0].reserved, 8000);
  PartitionRecord ready = ledger_.partitions().find(pool_.name, "r-1").take().value();
  ASSERT_TRUE(
      test::succeeds(ledger_.partitions().begin_removal(ready, releaser_, vipu::Force::kNo)));
  ASSERT_TRUE(test::succeeds(ledger_.partitions().finish_removal(ready)));
  now_ += 1000;
  ASSERT_THAT(since(today_), SizeIs(1));
  EXPECT_EQ(since(today_)[0].reserved, 8000);
  EXPECT_EQ(since(today_)[0].user, 1001);
  EXPECT_EQ(since(today_)[0].held, 0);
}

TEST_F(UsageTest, HasSoManyRowsADay) {
  for (int i = 0; i < 300; ++i) {
    release(run("web", "tenant-" + std::to_string(i), 1));
    device_ = 0;
  }
  EXPECT_THAT(since(today_), SizeIs(257)) << "256, and one of all others";
}

TEST_F(UsageTest, IsForgottenInTheEnd) {
  release(run("old", "a", 1));
  for (int64_t day = 0; day <= kUsageDays; ++day) {
    now_ += kDayMs;
    release(run("new", "b", 1));
    device_ = 0;
  }
  ASSERT_THAT(since(0), SizeIs(1));
  EXPECT_EQ(since(0)[0].tenant, "b");
}

// A host whose clock was wrong for a moment keeps what it knew.
TEST_F(UsageTest, AClockThatIsYearsAheadForgetsNothing) {
  release(run("old", "a", 1));
  const int64_t right = now_;
  const Lease running = run("running", "c", 1);
  now_ += 3 * kUsageDays * kDayMs;
  release(running);
  release(run("ahead", "b", 1));
  now_ = right;
  for (int day = 0; day < 3; ++day) {
    now_ += kDayMs;
    device_ = 0;
    release(run("new", "b", 1));
  }
  EXPECT_EQ(since(0)[0].tenant, "a");
}

// A ledger that an operator, or a newer release, gave another column loses nothing of the others.
TEST_F(UsageTest, SurvivesARebuild) {
  release(run("web", "a", 4));
  ASSERT_TRUE(test::succeeds(
      ledger_.record_refusal(intent("refused"), base::Error(base::Code::kBusy, "no IPUs"))));
  ledger_ = Ledger::open(dir_ / "other/ledger.db").take();
  ASSERT_TRUE(test::succeeds(test::run_sql(
      path_,
      "ALTER TABLE usage ADD COLUMN later INTEGER; ALTER TABLE lease ADD COLUMN later TEXT")));
  const size_t used = test::query_sql(path_, "SELECT * FROM usage").size();
  const size_t refused = test::query_sql(path_, "SELECT * FROM refused").size();
  const size_t leases = test::query_sql(path_, "SELECT * FROM lease").size();
  {
    Rebuilder rebuilder = Rebuilder::enter(path_).take();
    ASSERT_TRUE(test::succeeds(rebuilder.salvage()));
    ASSERT_TRUE(test::succeeds(rebuilder.open_new({})));
    ASSERT_TRUE(test::succeeds(rebuilder.begin_history("rebuilt")));
    ASSERT_TRUE(test::succeeds(rebuilder.put_in_place()));
  }
  ledger_ = open();
  EXPECT_EQ(used, 1U);
  EXPECT_EQ(refused, 1U);
  EXPECT_EQ(leases, 2U);
  EXPECT_THAT(test::query_sql(path_, "SELECT tenant FROM usage"), SizeIs(used));
  EXPECT_THAT(test::query_sql(path_, "SELECT tenant FROM refused"), SizeIs(refused));
  EXPECT_THAT(test::query_sql(path_, "SELECT id FROM lease"), SizeIs(leases));
}

}  // namespace
}  // namespace hook::ledger
