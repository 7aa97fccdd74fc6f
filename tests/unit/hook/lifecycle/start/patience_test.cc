// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/start/patience.h"

#include <gtest/gtest.h>

#include "base/names.h"
#include "tests/support/hook_host.h"

namespace hook::lifecycle::start {
namespace {

using namespace base::names;
using std::chrono::milliseconds;

constexpr milliseconds kNoTime{0};
constexpr milliseconds kLongGrace{60'000};

class PatienceTest : public testing::Test {
 protected:
  // The patience of a request that may queue for TIME.
  Patience queue_for(milliseconds time, milliseconds grace = kLongGrace) {
    turn_.emplace(Turn::await(host_.env, {"pod16", "web", 4, time}, Deadline::after(time)).take());
    return Patience::of_request(host_.env, "pod16", *turn_, Deadline::after(time), grace).take();
  }
  // Another process changes the ledger.
  void change_ledger() {
    ledger::Waiter waiter;
    waiter.resource = "elsewhere";
    waiter.owner = base::current_process().take();
    waiter.boot_id = base::boot_id().take();
    waiter.until_ms = base::unix_millis() + 3'600'000;
    ASSERT_TRUE(test::succeeds(other_.queue().enter(waiter)));
  }
  // A container whose lease a process that runs is releasing.
  ledger::Lease release_under_way() {
    ledger::Lease lease = host_.start("ending", 16);
    EXPECT_TRUE(
        test::succeeds(host_.ledger.begin_release(lease, base::identify_process(1).take(), "")));
    return lease;
  }
  static testing::AssertionResult says(const Result<Next>& next, Next expected) {
    const testing::AssertionResult ok = test::succeeds(next);
    if (!ok) return ok;
    return next.value() == expected ? testing::AssertionSuccess()
                                    : testing::AssertionFailure() << "the other one";
  }

  test::HookHost host_;
  ledger::Ledger other_ = ledger::Ledger::open(host_.dir / "state/ledger.db").take();
  std::optional<Turn> turn_;
};

TEST_F(PatienceTest, QueuesAndTriesAgainWhenTheLedgerChanges) {
  Patience patience = queue_for(milliseconds(60'000));
  change_ledger();
  EXPECT_TRUE(says(patience.wait(), Next::kTryAgain));
  const std::vector<ledger::Waiter> waiters = waiting(host_.env).take();
  ASSERT_EQ(waiters.size(), 2U);
  EXPECT_EQ(waiters.back().container, "web") << "it keeps its place while it tries again";
}

TEST_F(PatienceTest, TriesAgainAfterATimeBecauseOtherHostsDoNotChangeThisLedger) {
  host_.env.retry_time = milliseconds(200);
  Patience patience = queue_for(milliseconds(60'000));
  const Deadline too_early = Deadline::after(milliseconds(190));
  EXPECT_TRUE(says(patience.wait(), Next::kTryAgain));
  EXPECT_TRUE(too_early.passed());
}

TEST_F(PatienceTest, EndsInTheQueueWithWhatIsAhead) {
  Patience patience = queue_for(milliseconds(1500));
  ledger::Waiter first;
  first.resource = "pod16";
  first.container = "first";
  first.owner = base::identify_process(1).take();
  first.boot_id = base::boot_id().take();
  first.until_ms = base::unix_millis() + 3'600'000;
  ASSERT_TRUE(test::succeeds(other_.queue().enter(first)));
  EXPECT_TRUE(test::fails(patience.wait(), Code::kBusy, "1 request is ahead"));
}

TEST_F(PatienceTest, EndsWhenNobodyWaitsForTheContainerAnyMore) {
  Patience patience = queue_for(milliseconds(60'000));
  host_.env.still_wanted = [] { return base::Error(Code::kTimeout, "killed"); };
  EXPECT_TRUE(test::fails(patience.wait(), Code::kTimeout, "killed"));
}

TEST_F(PatienceTest, TriesAgainAtOnceWhereADeadContainerHeldSomething) {
  ledger::Lease lease = host_.start("dead", 16);
  ASSERT_TRUE(test::succeeds(host_.ledger.begin_release(lease, test::dead_process(), "")));
  Patience patience = queue_for(kNoTime);
  EXPECT_TRUE(says(patience.wait(), Next::kTryAgain));
  EXPECT_FALSE(ledger::is_live(host_.stored(lease).state));
  EXPECT_TRUE(says(patience.wait(), Next::kGiveUp));
}

TEST_F(PatienceTest, WaitsForAReleaseUnderWay) {
  ledger::Lease ending = release_under_way();
  Patience patience = queue_for(kNoTime);
  EXPECT_TRUE(says(patience.wait(), Next::kTryAgain));
  ASSERT_TRUE(test::succeeds(other_.finish_release(ending)));
  EXPECT_TRUE(says(patience.wait(), Next::kTryAgain)) << "it ended since the attempt";
  EXPECT_TRUE(says(patience.wait(), Next::kGiveUp));
}

TEST_F(PatienceTest, WaitsForAReleaseNoLongerThanItsGrace) {
  release_under_way();
  Patience patience = queue_for(kNoTime, milliseconds(500));
  EXPECT_TRUE(says(patience.wait(), Next::kTryAgain));
  int attempts = 1;
  while (attempts < 1000 && !says(patience.wait(), Next::kGiveUp)) ++attempts;
  EXPECT_LT(attempts, 1000);
}

TEST_F(PatienceTest, TakesTheNewsOfABusyLedgerForAReleaseOnlyOnce) {
  Patience patience = queue_for(kNoTime);
  change_ledger();
  EXPECT_TRUE(says(patience.wait(), Next::kTryAgain));
  change_ledger();
  EXPECT_TRUE(says(patience.wait(), Next::kGiveUp));
}

TEST_F(PatienceTest, GivesUpAtOnceWhereNothingIsUnderWay) {
  EXPECT_TRUE(says(queue_for(kNoTime).wait(), Next::kGiveUp));
}

TEST_F(PatienceTest, ForIpusNeverQueues) {
  Patience patience =
      Patience::for_ipus(host_.env, "pod16", {}, base::Deadline::after(kNoTime)).take();
  EXPECT_TRUE(says(patience.wait(), Next::kGiveUp));
  change_ledger();
  EXPECT_TRUE(says(patience.wait(), Next::kTryAgain));
  EXPECT_EQ(waiting(host_.env).take().size(), 1U) << "the one of the change";
}

// Its releaser removed the partition, but never had the answer; nor has the next one.
TEST_F(PatienceTest, ForIpusOutlastsAReleaseThatFails) {
  ledger::Lease lease = host_.start("ended", 16);
  ASSERT_TRUE(test::succeeds(host_.ledger.begin_release(lease, test::dead_process(), "")));
  Patience patience = Patience::for_ipus(host_.env, "pod16", {host_.stored(lease).devices.back()},
                                         base::Deadline::after(std::chrono::seconds(30)))
                          .take();
  host_.controller.set_unreachable(true);
  EXPECT_TRUE(says(queue_for(kNoTime).wait(), Next::kGiveUp)) << "who has nothing yet";
  EXPECT_TRUE(says(patience.wait(), Next::kTryAgain));
  EXPECT_TRUE(says(patience.wait(), Next::kTryAgain));
  host_.controller.set_unreachable(false);
  EXPECT_TRUE(says(patience.wait(), Next::kTryAgain));
  EXPECT_FALSE(ledger::is_live(host_.stored(lease).state));
  EXPECT_TRUE(says(patience.wait(), Next::kGiveUp));
}

TEST_F(PatienceTest, ForIpusDoesNotWaitForOthers) {
  ledger::Lease ended = host_.start("ended", 4);
  const ledger::Lease other = host_.start("other", 4);
  ASSERT_TRUE(test::succeeds(host_.ledger.begin_release(ended, test::dead_process(), "")));
  host_.controller.set_unreachable(true);
  const auto soon = base::Deadline::after(std::chrono::seconds(30));
  Patience patience =
      Patience::for_ipus(host_.env, "pod16", host_.stored(other).devices, soon).take();
  (void)patience.wait();  // the attempt to release may be news
  EXPECT_TRUE(says(patience.wait(), Next::kGiveUp));
}

}  // namespace
}  // namespace hook::lifecycle::start
