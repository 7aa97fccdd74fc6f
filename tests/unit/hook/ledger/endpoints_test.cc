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
  ASSERT_TRUE(test::succeeds(endpoints().forget(lease.id)));
  EXPECT_EQ(endpoints().find(lease.id).value(), std::nullopt);
  EXPECT_TRUE(test::succeeds(endpoints().forget(lease.id)));
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
