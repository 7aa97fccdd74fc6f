// SPDX-License-Identifier: Apache-2.0
#include "hook/ledger/queue.h"

#include <gmock/gmock.h>

#include "tests/unit/hook/ledger/ledger_fixture.h"

namespace hook::ledger {
namespace {

using testing::SizeIs;

class QueueTest : public LedgerFixture {};

TEST_F(QueueTest, AWaiterHasTheBlockThatWasPinnedLast) {
  Queue queue = ledger_.queue();
  const int64_t first = queue.enter({}).take();
  const int64_t second = queue.enter({}).take();
  ASSERT_TRUE(test::succeeds(queue.pin(first, {16, 16})));
  ASSERT_TRUE(test::succeeds(queue.pin(first, {0, 16})));
  ASSERT_TRUE(test::succeeds(queue.pin(second + 1, {0, 16}))) << "it left";
  const std::vector<Waiter> waiters = queue.list().take();
  EXPECT_EQ(waiters[0].pinned, (vipu::Block{0, 16}));
  EXPECT_EQ(waiters[1].pinned, std::nullopt);
}

TEST_F(QueueTest, AWaiterAsksForWhatItSaidLast) {
  Queue queue = ledger_.queue();
  ASSERT_TRUE(test::succeeds(queue.enter({})));
  const int64_t second = queue.enter({}).take();
  ASSERT_TRUE(test::succeeds(queue.resize(second, 16)));
  ASSERT_TRUE(test::succeeds(queue.resize(second + 1, 16))) << "it left";
  EXPECT_EQ(queue.list().take()[0].ipus, 0U);
  EXPECT_EQ(queue.list().take()[1].ipus, 16U);
}

TEST_F(QueueTest, QueueTicketsAreNeverGivenTwice) {
  Queue queue = ledger_.queue();
  Waiter waiter;
  waiter.resource = "pod64";
  waiter.container = "a";
  waiter.ipus = 16;
  waiter.owner = releaser_;
  waiter.boot_id = "boot";
  waiter.since_ms = 1;
  waiter.until_ms = 2;
  waiter.user = 1000;
  const int64_t first = queue.enter(waiter).take();
  EXPECT_EQ(queue.leave(first).value(), base::Removed::kNow);
  EXPECT_EQ(queue.leave(first).value(), base::Removed::kWasAbsent);
  const int64_t second = queue.enter(waiter).take();
  EXPECT_GT(second, first);
  const std::vector<Waiter> waiters = queue.list().take();
  ASSERT_THAT(waiters, SizeIs(1));
  EXPECT_EQ(waiters[0].ticket, second);
  EXPECT_EQ(waiters[0].user, 1000);
  EXPECT_EQ(waiters[0].container, "a");
  EXPECT_EQ(waiters[0].ipus, 16U);
  EXPECT_EQ(waiters[0].owner, releaser_);
  EXPECT_EQ(waiters[0].boot_id, "boot");
  EXPECT_EQ(waiters[0].until_ms, 2);
}

TEST_F(QueueTest, ChangesOfAnotherProcessAreSeenByTheVersion) {
  const int64_t before = ledger_.data_version().take();
  EXPECT_EQ(ledger_.data_version().take(), before);
  acquire();
  EXPECT_EQ(ledger_.data_version().take(), before) << "its own";
  Ledger other = open();
  ASSERT_TRUE(other.acquire(intent("b")).ok());
  EXPECT_NE(ledger_.data_version().take(), before);
}

}  // namespace
}  // namespace hook::ledger
