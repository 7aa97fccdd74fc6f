// SPDX-License-Identifier: Apache-2.0
// What the ledger keeps of partitions that the hosts of a fleet share.
#include <gmock/gmock.h>

#include "hook/ledger/internal/partition_files.h"
#include "tests/unit/hook/ledger/ledger_fixture.h"

namespace hook::ledger {
namespace {

using base::Code;
using testing::IsEmpty;
using testing::SizeIs;

constexpr const char* kFleet = "/f/";

class FleetPartitionsTest : public LedgerFixture {
 protected:
  PartitionRecord record(uint32_t gcds = 2) {
    PartitionRecord record;
    record.pool = pool_.name;
    record.name = "p0";
    record.source = config::source_of(pool_);
    record.state = PartitionState::kReady;
    record.ipus = 4;
    record.gcds = gcds;
    record.fleet = kFleet;
    return record;
  }
  Intent use(const std::string& container, uint32_t gcd, const std::string& fleet = kFleet) {
    Intent named = intent(container);
    named.named = NamedPartition{"p0", gcd};
    named.fleet = fleet;
    return named;
  }
  std::optional<PartitionRecord> known() {
    return ledger_.partitions().find(pool_.name, "p0").take();
  }
  std::vector<PartitionRecord> files() {
    std::vector<std::string> notes;
    return read_partition_files(path_, notes);
  }
};

TEST_F(FleetPartitionsTest, ALeaseOfOneHasAClaim) {
  ASSERT_TRUE(test::succeeds(ledger_.partitions().learn(record())));
  ASSERT_TRUE(test::succeeds(ledger_.partitions().learn(record())));
  const Lease lease = ledger_.acquire(use("web", 1)).take();
  EXPECT_EQ(lease.claim, lease.id);
  EXPECT_EQ(lease.fleet, kFleet);
  const Lease stored = ledger_.find(lease.id).take().value();
  EXPECT_EQ(stored.claim, lease.id);
  EXPECT_EQ(stored.fleet, kFleet);
  for (const char* other : {"", "/other/"}) {
    EXPECT_TRUE(
        test::fails(ledger_.acquire(use("api", 0, other)), Code::kUnsupported, "fleet '/f/'"));
  }
}

TEST_F(FleetPartitionsTest, IsNotChangedUnderALease) {
  ASSERT_TRUE(test::succeeds(ledger_.partitions().learn(record())));
  Lease lease = ledger_.acquire(use("web", 1)).take();
  EXPECT_TRUE(test::fails(ledger_.partitions().learn(record(4)), Code::kBusy, "web"));
  EXPECT_TRUE(test::fails(ledger_.partitions().unlearn(record()), Code::kBusy, "web"));
  EXPECT_EQ(known()->gcds, 2U);
  EXPECT_THAT(files(), SizeIs(1));
  release(lease);
  ASSERT_TRUE(test::succeeds(ledger_.partitions().learn(record(4))));
  EXPECT_EQ(known()->gcds, 4U);
  EXPECT_EQ(files().front().fleet, kFleet);
  ASSERT_TRUE(test::succeeds(ledger_.partitions().unlearn(record())));
  EXPECT_FALSE(known());
  EXPECT_THAT(files(), IsEmpty());
}

TEST_F(FleetPartitionsTest, SharingOneGivesItsLeasesClaims) {
  PartitionRecord own = record();
  own.fleet.clear();
  ASSERT_TRUE(test::succeeds(ledger_.partitions().learn(own)));
  const Lease lease = ledger_.acquire(use("web", 1, "")).take();
  EXPECT_EQ(lease.claim, "");
  EXPECT_TRUE(test::fails(ledger_.partitions().share(own, kFleet, {}), Code::kBusy, "web"));
  EXPECT_EQ(known()->fleet, "");
  ASSERT_TRUE(test::succeeds(ledger_.partitions().share(own, kFleet, {lease.id})));
  EXPECT_EQ(known()->fleet, kFleet);
  EXPECT_EQ(ledger_.find(lease.id).take()->claim, lease.id);
}

TEST_F(FleetPartitionsTest, AnHeirGetsTheClaim) {
  ASSERT_TRUE(test::succeeds(ledger_.partitions().learn(record())));
  Lease pod = ledger_.acquire(use("pod", 1)).take();
  ASSERT_TRUE(test::succeeds(ledger_.mark_allocated(pod, {}, {}, {})));
  Intent joins = use("app", 1);
  joins.sandbox = "pod";
  const Lease app = ledger_.acquire(joins).take();
  EXPECT_EQ(app.origin, Origin::kJoined);
  EXPECT_EQ(app.claim, "");
  ASSERT_TRUE(test::succeeds(ledger_.begin_release(pod, releaser_, "")));
  EXPECT_EQ(pod.claim, "");
  EXPECT_EQ(ledger_.find(pod.id).take()->claim, "");
  const Lease heir = ledger_.find(app.id).take().value();
  EXPECT_EQ(heir.origin, Origin::kNamed);
  EXPECT_EQ(heir.claim, pod.id);
  EXPECT_EQ(heir.fleet, kFleet);
}

}  // namespace
}  // namespace hook::ledger
