// SPDX-License-Identifier: Apache-2.0
#include "hook/ledger/endpoints.h"

#include "tests/support/sql.h"
#include "tests/unit/hook/ledger/ledger_fixture.h"

namespace hook::ledger {
namespace {

using base::Code;

class EndpointsTest : public LedgerFixture {
 protected:
  Endpoints endpoints() { return ledger_.endpoints(); }
  const base::ProcessId process_{5000, 7, 9};
};

TEST_F(EndpointsTest, AreRecordedFoundAndForgotten) {
  const Lease lease = allocate();
  EXPECT_EQ(endpoints().find(lease.id).value(), std::nullopt);
  ASSERT_TRUE(test::succeeds(endpoints().record(lease.id, process_)));
  EXPECT_EQ(endpoints().find(lease.id).value(), process_);
  EXPECT_TRUE(stored(lease).has_endpoint);
  EXPECT_FALSE(lease.has_endpoint);
  const base::ProcessId later{5001, 8, 9};
  ASSERT_TRUE(test::succeeds(endpoints().record(lease.id, later)));
  EXPECT_EQ(endpoints().find(lease.id).value(), later);
  ASSERT_TRUE(test::succeeds(endpoints().forget(lease.id, process_)));
  EXPECT_EQ(endpoints().find(lease.id).value(), later) << "another process has its place";
  ASSERT_TRUE(test::succeeds(endpoints().forget(lease.id, later)));
  EXPECT_EQ(endpoints().find(lease.id).value(), std::nullopt);
  EXPECT_TRUE(test::succeeds(endpoints().forget(lease.id, later)));
}

TEST_F(EndpointsTest, AreListedOfLeasesThatRun) {
  Lease lease = allocate();
  ASSERT_TRUE(test::succeeds(endpoints().record(lease.id, process_)));
  EXPECT_TRUE(endpoints().all().value().empty());
  ASSERT_TRUE(test::succeeds(ledger_.mark_running(lease, releaser_)));
  const std::vector<Endpoint> all = endpoints().all().value();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].lease, lease.id);
  EXPECT_EQ(all[0].process, process_);
  EXPECT_EQ(all[0].attempts, 0U);
  ASSERT_TRUE(test::succeeds(test::run_sql(path_, "UPDATE endpoint SET boot_id = 'earlier'")));
  EXPECT_TRUE(endpoints().all().value().empty());
}

TEST_F(EndpointsTest, AreStartedAgainEverLessOften) {
  Lease lease = allocate();
  ASSERT_TRUE(test::succeeds(endpoints().record(lease.id, process_)));
  ASSERT_TRUE(test::succeeds(ledger_.mark_running(lease, releaser_)));
  int64_t last_ms = 0;
  for (uint32_t attempt = 1; attempt <= 12; ++attempt) {
    const Endpoint ended = endpoints().all().value().at(0);
    EXPECT_EQ(endpoints().begin_again(ended).value(), attempt);
    const Endpoint begun = endpoints().all().value().at(0);
    EXPECT_EQ(begun.attempts, attempt);
    EXPECT_GE(begun.retry_ms, last_ms);
    EXPECT_LE(begun.retry_ms, now_ + 300'000);
    last_ms = begun.retry_ms;
    ASSERT_TRUE(test::succeeds(endpoints().record(lease.id, process_)));
  }
  EXPECT_EQ(last_ms, now_ + 300'000);
  now_ = last_ms + 600'000;
  EXPECT_EQ(endpoints().begin_again(endpoints().all().value().at(0)).value(), 1U);
}

TEST_F(EndpointsTest, AreStartedAgainByOneProcess) {
  Lease lease = allocate();
  ASSERT_TRUE(test::succeeds(endpoints().record(lease.id, process_)));
  ASSERT_TRUE(test::succeeds(ledger_.mark_running(lease, releaser_)));
  const Endpoint ended = endpoints().all().value().at(0);
  ASSERT_TRUE(test::succeeds(endpoints().begin_again(ended)));
  EXPECT_TRUE(test::fails(endpoints().begin_again(ended), Code::kBusy, "another process"));
  const Endpoint again = endpoints().all().value().at(0);
  ASSERT_TRUE(test::succeeds(endpoints().record(lease.id, {5001, 8, 9})));
  EXPECT_TRUE(test::fails(endpoints().begin_again(again), Code::kBusy));
  const Endpoint newest = endpoints().all().value().at(0);
  ASSERT_TRUE(test::succeeds(ledger_.begin_release(lease, releaser_, "")));
  EXPECT_TRUE(test::fails(endpoints().begin_again(newest), Code::kBusy));
}

TEST_F(EndpointsTest, AreNotOfALeaseThatIsBeingReleased) {
  Lease lease = allocate();
  ASSERT_TRUE(test::succeeds(ledger_.begin_release(lease, releaser_, "")));
  EXPECT_TRUE(test::fails(endpoints().record(lease.id, process_), Code::kBusy, "being released"));
  EXPECT_TRUE(test::fails(endpoints().record("absent", process_), Code::kBusy));
  EXPECT_EQ(endpoints().find(lease.id).value(), std::nullopt);
}

TEST_F(EndpointsTest, OfAnEarlierBootAreGone) {
  const Lease lease = allocate();
  ASSERT_TRUE(test::succeeds(endpoints().record(lease.id, process_)));
  ASSERT_TRUE(test::succeeds(test::run_sql(path_, "UPDATE endpoint SET boot_id = 'earlier'")));
  EXPECT_EQ(endpoints().find(lease.id).value(), std::nullopt);
}

TEST_F(EndpointsTest, EndWithTheirLeaseAlsoThoseOfAnEarlierBoot) {
  Lease lease = allocate();
  ASSERT_TRUE(test::succeeds(endpoints().record(lease.id, process_)));
  ASSERT_TRUE(test::succeeds(test::run_sql(path_, "UPDATE endpoint SET boot_id = 'earlier'")));
  ASSERT_TRUE(test::succeeds(ledger_.begin_release(lease, releaser_, "")));
  ASSERT_TRUE(test::succeeds(ledger_.finish_release(lease)));
  EXPECT_EQ(test::query_sql(path_, "SELECT COUNT(*) FROM endpoint").at(0), "0");
}

}  // namespace
}  // namespace hook::ledger
