// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"
#include "tests/unit/hook/ledger/ledger_fixture.h"

namespace hook::ledger {
namespace {

class LatePartitionsTest : public LedgerFixture {
 protected:
  bool is_late(const std::string& name) {
    return ledger_.partitions().is_late({pool_.name, pool_.controller}, name).value();
  }
  size_t sources() { return ledger_.partitions().late_sources().value().size(); }
};

TEST_F(LatePartitionsTest, AreThoseOfLeasesThatEnded) {
  const Lease lease = acquire();
  EXPECT_FALSE(is_late(lease.partition));
  EXPECT_EQ(sources(), 0U);
  release(lease);
  EXPECT_TRUE(is_late(lease.partition));
  EXPECT_FALSE(is_late(lease.partition + "0"));
  EXPECT_FALSE(is_late(""));
  EXPECT_EQ(sources(), 1U);
}

TEST_F(LatePartitionsTest, AreOfTheirOwnPoolAndController) {
  const Lease lease = acquire();
  release(lease);
  Partitions partitions = ledger_.partitions();
  EXPECT_FALSE(partitions.is_late({"other", pool_.controller}, lease.partition).value());
  EXPECT_FALSE(partitions.is_late({pool_.name, "10.1.3.102:8090"}, lease.partition).value());
}

TEST_F(LatePartitionsTest, AreOfAFewSourcesHoweverManyLeasesEnded) {
  for (int i = 0; i < 5; ++i) release(acquire(base::str("container", i)));
  Intent elsewhere = intent("elsewhere");
  elsewhere.pool.name = "other";
  release(ledger_.acquire(elsewhere).take());
  const std::vector<PartitionSource> found = ledger_.partitions().late_sources().take();
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].pool, "other");
  EXPECT_EQ(found[1].pool, pool_.name);
  EXPECT_EQ(found[1].source, pool_.controller);
}

// Whoever has the partition of a lease that ended has inherited it.
TEST_F(LatePartitionsTest, AreNotWhatALiveLeaseHas) {
  const Lease sandbox = allocate("sandbox");
  Intent joins = intent("app");
  joins.sandbox = "sandbox";
  const Lease app = ledger_.acquire(joins).take();
  ASSERT_EQ(app.partition, sandbox.partition);
  release(sandbox);
  EXPECT_FALSE(is_late(sandbox.partition));
  release(stored(app));
  EXPECT_TRUE(is_late(sandbox.partition));
}

}  // namespace
}  // namespace hook::ledger
