// SPDX-License-Identifier: Apache-2.0
#include "hook/ledger/drain.h"

#include <gmock/gmock.h>

#include "base/names.h"
#include "tests/unit/hook/ledger/ledger_fixture.h"

namespace hook::ledger {
namespace {

using namespace base::names;
using testing::Contains;
using testing::Field;

class DrainTest : public LedgerFixture {
 protected:
  bool is_drained() { return ledger_.drain().find().take().has_value(); }
};

TEST_F(DrainTest, RefusesEachNewLeaseAndSaysWhy) {
  const Lease before = acquire("before");
  ASSERT_TRUE(test::succeeds(ledger_.drain().begin("new\nkernel")));
  EXPECT_TRUE(test::fails(ledger_.acquire(intent("late")), Code::kDenied, "(new kernel)"));
  EXPECT_TRUE(test::fails(open().acquire(intent("late")), Code::kDenied, "'ipuctl drain --end'"));
  EXPECT_EQ(ledger_.live().take().size(), 1U);
  EXPECT_EQ(ledger_.get(before.id).take().state, LeaseState::kIntent);
}

TEST_F(DrainTest, MayBeginAndEndTwice) {
  EXPECT_FALSE(ledger_.drain().end().take());
  const int64_t since = now_;
  ASSERT_TRUE(test::succeeds(ledger_.drain().begin("")));
  now_ += 1000;
  ASSERT_TRUE(test::succeeds(ledger_.drain().begin("another reason")));
  EXPECT_EQ(ledger_.drain().find().take()->since_ms, since);
  EXPECT_EQ(ledger_.drain().find().take()->reason, "another reason");
  EXPECT_TRUE(ledger_.drain().end().take());
  EXPECT_FALSE(is_drained());
  acquire();
}

TEST_F(DrainTest, IsHistory) {
  ASSERT_TRUE(test::succeeds(ledger_.drain().begin("upgrade")));
  ASSERT_TRUE(ledger_.drain().end().take());
  const std::vector<Event> events = ledger_.events().after(0, 10).take();
  EXPECT_THAT(events, Contains(Field(&Event::text, "the host is drained: upgrade")));
  EXPECT_THAT(events, Contains(Field(&Event::text, "the host is drained no more")));
}

TEST_F(DrainTest, OfOnePoolRefusesItsIpusAlone) {
  ASSERT_TRUE(test::succeeds(ledger_.drain("pod64").begin("repair")));
  EXPECT_FALSE(is_drained());
  EXPECT_TRUE(test::fails(ledger_.acquire(intent("late")), Code::kDenied,
                          "'ipuctl pool drain pod64 --end'"));
  Intent other = intent("other");
  other.pool.name = "pod16";
  EXPECT_TRUE(test::succeeds(ledger_.acquire(other)));
  // Both are said, the host first, and each ends alone.
  ASSERT_TRUE(test::succeeds(ledger_.drain().begin("kernel")));
  EXPECT_TRUE(test::fails(ledger_.drain("pod64").check(), Code::kDenied, "(kernel)"));
  ASSERT_TRUE(ledger_.drain().end().take());
  EXPECT_TRUE(test::fails(ledger_.drain("pod64").check(), Code::kDenied, "(repair)"));
  EXPECT_TRUE(ledger_.drain("pod64").end().take());
  EXPECT_FALSE(ledger_.drain("pod64").end().take());
  acquire();
}

TEST_F(DrainTest, MakesNoWarmPartition) {
  PartitionRecord record;
  record.pool = "pod64";
  record.name = "w-0123456789ab";
  record.kind = PartitionKind::kWarm;
  record.ipus = 2;
  ASSERT_TRUE(test::succeeds(ledger_.drain().begin("")));
  EXPECT_EQ(ledger_.partitions().intend_warm(record, 1).take(), Partitions::Recorded::kNo);
  ASSERT_TRUE(ledger_.drain().end().take());
  EXPECT_EQ(ledger_.partitions().intend_warm(record, 1).take(), Partitions::Recorded::kYes);
}

}  // namespace
}  // namespace hook::ledger
