// SPDX-License-Identifier: Apache-2.0
// A partition is held by its GCDs, or as a whole.
#include "base/text.h"
#include "tests/support/sql.h"
#include "tests/unit/hook/ledger/ledger_fixture.h"

namespace hook::ledger {
namespace {

using base::Code;

class GcdsTest : public LedgerFixture {
 protected:
  PartitionRecord record(const std::string& name) {
    PartitionRecord record;
    record.pool = pool_.name;
    record.name = name;
    record.source = config::source_of(pool_);
    record.ipus = 4;
    return record;
  }
  void make(const PartitionRecord& record) {
    ASSERT_TRUE(test::succeeds(ledger_.partitions().intend(record)));
    ASSERT_TRUE(test::succeeds(ledger_.partitions().mark_ready(record)));
  }
  void make_two_gcds() {
    PartitionRecord two = record("p0");
    two.ipus = 8;
    two.gcds = 2;
    make(two);
  }
  Lease use(const std::string& name, uint32_t gcd) {
    Intent named = intent("user");
    named.named = NamedPartition{name, gcd};
    return ledger_.acquire(named).take();
  }
  void allocate(Lease& lease, std::vector<LeasedIpu> ipus) {
    ASSERT_TRUE(test::succeeds(ledger_.mark_allocated(lease, std::move(ipus), {}, {})));
  }
};

TEST_F(GcdsTest, AreHeldByTheirGcdsOrAsAWhole) {
  make_two_gcds();
  Intent all = intent("all");
  all.named = NamedPartition{"p0", {}, true};
  Lease whole = ledger_.acquire(all).take();
  EXPECT_EQ(whole.gcd, 0U);
  EXPECT_EQ(whole.gcds, 2U);
  EXPECT_EQ(whole.ipus, 8U);
  EXPECT_EQ(stored(whole).gcds, 2U);
  for (const uint32_t gcd : {0U, 1U}) {
    Intent one = intent("one");
    one.named = NamedPartition{"p0", gcd};
    EXPECT_TRUE(test::fails(ledger_.acquire(one), Code::kBusy,
                            base::str("GCD ", gcd,
                                      " of partition 'p0' is in use by container all"
                                      " (all 2 GCDs)")));
  }
  EXPECT_TRUE(test::fails(ledger_.acquire(all), Code::kBusy,
                          "not all 2 GCDs of partition 'p0' are free: in use by container all;"));
  release(whole);
  const Lease second = use("p0", 1);
  EXPECT_TRUE(test::fails(ledger_.acquire(all), Code::kBusy,
                          "not all 2 GCDs of partition 'p0' are free: in use by container user"
                          " (GCD 1);"));
  release(second);
  EXPECT_TRUE(test::succeeds(ledger_.acquire(all)));
}

TEST_F(GcdsTest, AreKeptFromASecondHolderByTheDatabase) {
  make_two_gcds();
  Lease second = use("p0", 1);
  const auto widened = "UPDATE lease SET gcd = 0, gcds = 2";
  EXPECT_TRUE(test::succeeds(test::run_sql(path_, widened))) << "nobody else has the other one";
  ASSERT_TRUE(test::succeeds(test::run_sql(path_, "UPDATE lease SET gcd = 1, gcds = 1")));
  use("p0", 0);
  EXPECT_FALSE(test::run_sql(path_, "UPDATE lease SET gcds = 2 WHERE gcd = 0").ok());
  EXPECT_FALSE(test::run_sql(path_, "UPDATE lease SET gcd = 0, gcds = 2 WHERE gcd = 1").ok());
}

TEST_F(GcdsTest, OfOneGcdAreWholeByIt) {
  make(record("p0"));
  Intent all = intent("all");
  all.named = NamedPartition{"p0", {}, true};
  const Lease lease = ledger_.acquire(all).take();
  EXPECT_EQ(lease.gcds, 1U);
  EXPECT_EQ(lease.ipus, 4U);
}

TEST_F(GcdsTest, AreSharedAsAWholeAndByTheirGcds) {
  PartitionRecord shared = record("p0");
  shared.ipus = 2;
  shared.gcds = 2;
  shared.shared = true;
  make(shared);
  Intent all = intent("all");
  all.named = NamedPartition{"p0", {}, true};
  Lease whole = ledger_.acquire(all).take();
  Lease first = use("p0", 0);
  allocate(whole, {ipu("10.5.1.1", 0), ipu("10.5.1.1", 1)});
  allocate(first, {ipu("10.5.1.1", 0)});
  EXPECT_EQ(stored(whole).devices.size(), 2U);
  EXPECT_EQ(stored(first).devices.size(), 1U);
}

}  // namespace
}  // namespace hook::ledger
