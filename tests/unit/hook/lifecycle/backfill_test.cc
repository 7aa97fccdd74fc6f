// SPDX-License-Identifier: Apache-2.0
// Who passes the first in the queue, and who does not.
#include "hook/lifecycle/backfill.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "hook/lifecycle/partitions/warm.h"
#include "hook/lifecycle/queue_turn.h"
#include "hook/lifecycle/start/reserve.h"
#include "tests/support/crowded_pool.h"
#include "tests/support/hook_host.h"

namespace hook::lifecycle {
namespace {

using base::Code;
using base::Deadline;
using std::chrono::milliseconds;
using testing::ElementsAre;

using test::kHigh;
using test::kLow;

class BackfillTurnTest : public testing::Test {
 protected:
  void SetUp() override {
    host_.config.pools[0].backfill = true;
    host_.config.pools[0].provider = config::Provider::kIpuof;
    host_.config.pools[0].file = "/etc/ipuof.conf.d/p16.conf";
    test::crowd(host_.controller);
  }

  void hold(const std::string& name, uint32_t ipu) { test::hold(host_.controller, name, ipu); }
  // The turn of a request for 8 IPUs that is alone in the queue.
  Turn begin_first() {
    WaitFor what{"pod16", "web", 8, milliseconds(60'000)};
    what.backfill = &host_.config.pools[0];
    return Turn::await(host_.env, what, soon()).take();
  }
  std::optional<vipu::Block> pinned() { return host_.ledger.queue().list().take().at(0).pinned; }
  static Deadline soon() { return test::HookHost::soon(); }

  // Somebody who waits first, for whom PINNED is pinned.
  int64_t enter(const std::optional<vipu::Block>& pinned, const std::string& container = "large",
                const std::string& tenant = "") {
    ledger::Waiter waiter;
    waiter.resource = "pod16";
    waiter.container = container;
    waiter.tenant = tenant;
    waiter.ipus = 8;
    waiter.owner = base::identify_process(1).take();
    waiter.boot_id = base::boot_id().take();
    waiter.until_ms = base::unix_millis() + 3'600'000;
    const int64_t ticket = host_.ledger.queue().enter(waiter).take();
    if (pinned) {
      EXPECT_TRUE(test::succeeds(host_.ledger.queue().pin(ticket, *pinned)));
    }
    return ticket;
  }

  base::Status prepare(const std::string& name, uint32_t ipus, milliseconds wait = {}) {
    request::Request request;
    request.ipus = ipus;
    request.wait = wait;
    return host_.prepare(name, request);
  }
  // The numbers of the IPUs that the container's partition has.
  std::vector<uint32_t> ipus_of(const std::string& container) {
    const std::string partition = host_.lease_of(container).partition;
    std::vector<uint32_t> numbers;
    for (const vipu::Partition& listed : host_.controller.list(soon()).take()) {
      if (listed.id != partition) continue;
      for (const vipu::IpuPlace& place : listed.ipus) numbers.push_back(place.ipu);
    }
    return numbers;
  }

  test::HookHost host_;
};

TEST_F(BackfillTurnTest, ARequestForNamedCardsPassesNoOtherAndIsToldSo) {
  enter(kLow);
  for (const milliseconds wait : {milliseconds(0), milliseconds(30)}) {
    const auto turn = Turn::await(host_.env, {"pod16", "cards", 1, wait}, Deadline::after(wait));
    EXPECT_TRUE(test::fails(turn, Code::kBusy,
                            "; a request for named cards, or without backfill, passes no other; "));
  }
}

TEST_F(BackfillTurnTest, ASmallerRequestPassesBesideThePinnedBlockWithAWaitOrWithout) {
  enter(kLow);
  ASSERT_TRUE(test::succeeds(prepare("four", 4)));
  EXPECT_THAT(ipus_of("four"), ElementsAre(12, 13, 14, 15));
  ASSERT_TRUE(test::succeeds(prepare("one", 1, milliseconds(20'000))));
  EXPECT_THAT(ipus_of("one"), ElementsAre(11));
  EXPECT_TRUE(test::fails(prepare("more", 1), Code::kBusy,
                          "the first for 8 IPUs by container large); IPUs 0-7 and what may be free"
                          " as soon are kept for it; queue behind them with IPU_WAIT=60s"));
  EXPECT_TRUE(test::fails(prepare("more", 1, milliseconds(30)), Code::kBusy,
                          "waited 0 s for 1 IPUs of 'pod16', but 1 request is ahead"));
}

TEST_F(BackfillTurnTest, NobodyPassesOneOfTheSameSizeOrWithoutAPinnedBlock) {
  const int64_t first = enter(std::nullopt);
  EXPECT_TRUE(test::fails(prepare("four", 4), Code::kBusy, "others wait"));
  ASSERT_TRUE(test::succeeds(host_.ledger.queue().pin(first, {0, 4})));
  EXPECT_TRUE(test::fails(prepare("four", 4), Code::kBusy, "others wait"));
}

TEST_F(BackfillTurnTest, NobodyPassesWhereItIsSwitchedOff) {
  enter(kLow);
  host_.config.pools[0].backfill = false;
  EXPECT_TRUE(test::fails(prepare("four", 4), Code::kBusy, "others wait"));
}

// Its controller may have refused these IPUs, and then nobody knows for what the request waits.
TEST_F(BackfillTurnTest, WithAControllerABlockThatIsFreeIsNotPinned) {
  config::PoolConfig& pool = host_.config.pools[0];
  EXPECT_EQ(block_to_pin(host_.env, pool, 8, std::nullopt), kLow);
  ASSERT_TRUE(host_.controller.remove("a", vipu::Force::kNo, soon()).ok());
  EXPECT_EQ(block_to_pin(host_.env, pool, 8, std::nullopt), kLow);
  pool.provider = config::Provider::kVipu;
  EXPECT_EQ(block_to_pin(host_.env, pool, 8, std::nullopt), std::nullopt);
  EXPECT_EQ(block_to_pin(host_.env, pool, 8, kLow), std::nullopt);
  hold("a", 0);
  EXPECT_EQ(block_to_pin(host_.env, pool, 8, std::nullopt), kLow);
  // The block is withdrawn from who waits, too.
  Turn turn = begin_first();
  ASSERT_TRUE(test::succeeds(turn.join(soon())));
  EXPECT_EQ(pinned(), kLow);
  ASSERT_TRUE(host_.controller.remove("a", vipu::Force::kNo, soon()).ok());
  ASSERT_TRUE(test::succeeds(turn.join(soon())));
  EXPECT_EQ(pinned(), std::nullopt);
}

// Otherwise a tenant could keep its own first request waiting for ever.
TEST_F(BackfillTurnTest, NobodyPassesWhoseTenantWouldBeOverItsLimit) {
  config::TenantConfig tenant;
  tenant.name = "red";
  tenant.limit = 8;
  host_.config.policy.tenants = {tenant};
  enter(kLow, "large", "red");
  request::Request request;
  request.ipus = 4;
  request.tenant = "red";
  EXPECT_TRUE(test::fails(host_.prepare("four", request), Code::kBusy, "others wait"));
}

TEST_F(BackfillTurnTest, TheFirstPinsTheBlockThatIsNearlyFreeAndKeepsItUntilItIsTainted) {
  Turn turn = begin_first();
  ASSERT_TRUE(test::succeeds(turn.join(soon())));
  EXPECT_EQ(pinned(), kLow);
  for (const uint32_t ipu : {1U, 2U, 3U, 4U}) hold(base::str("x", ipu), ipu);
  ASSERT_TRUE(test::succeeds(turn.join(soon())));
  EXPECT_EQ(pinned(), kLow);
  host_.controller.set_unreachable(true);
  ASSERT_TRUE(test::succeeds(turn.join(soon())));
  host_.controller.set_unreachable(false);
  EXPECT_EQ(pinned(), kLow);
  host_.controller.pool().tainted = {{{0, 7}, "bad link"}};
  ASSERT_TRUE(test::succeeds(turn.join(soon())));
  EXPECT_EQ(pinned(), kHigh);
  EXPECT_EQ(turn.pinned(), std::nullopt);
}

TEST_F(BackfillTurnTest, AWaiterPassesWhenSomethingBesideThePinnedBlockBecomesFree) {
  enter(kLow);
  ASSERT_TRUE(test::succeeds(prepare("four", 4)));
  hold("e", 11);
  host_.env.still_wanted = [this] {
    if (host_.ledger.queue().list().take().size() == 2)
      (void)host_.controller.remove("e", vipu::Force::kNo, soon());
    return base::Status();
  };
  EXPECT_TRUE(test::succeeds(prepare("one", 1, milliseconds(20'000))));
  EXPECT_THAT(ipus_of("one"), ElementsAre(11));
  EXPECT_EQ(host_.ledger.queue().list().take().size(), 1U);
}

// The request has chosen its IPUs when another one becomes first, and pins them.
TEST_F(BackfillTurnTest, GivesBackWhatWasPinnedMeanwhileAndLooksForOtherIpus) {
  const int64_t first = enter(kHigh);
  host_.before_create = [&, calls = 0]() mutable {
    if (calls++ == 0) (void)host_.ledger.queue().pin(first, kLow);
  };
  // Six holders in the lower block: two IPUs of it are left, but only while the upper is pinned.
  for (const uint32_t ipu : {1U, 2U, 3U, 4U, 5U}) hold(base::str("x", ipu), ipu);
  EXPECT_TRUE(test::fails(prepare("two", 2), Code::kBusy));
  EXPECT_EQ(host_.partitions().size(), 9U) << "only the holders are left";
  EXPECT_EQ(host_.live_leases(), 0U);
}

TEST_F(BackfillTurnTest, ARequestThatFoundNobodyGivesBackWhatWasPinnedMeanwhile) {
  std::vector<std::vector<std::string>> seen;
  host_.before_create = [&] {
    seen.push_back(host_.partitions());
    if (seen.size() == 1) enter(kLow);
  };
  ASSERT_TRUE(test::succeeds(prepare("four", 4)));
  EXPECT_EQ(seen.size(), 2U) << "it has asked again";
  EXPECT_EQ(seen.back().size(), 4U) << "it has given back what it had";
  EXPECT_THAT(ipus_of("four"), ElementsAre(12, 13, 14, 15));
}

// Its IPUs become free in the moment in which somebody takes its place away.
TEST_F(BackfillTurnTest, GivesUpWhenItsPlaceIsTakenAway) {
  size_t calls = 0;
  host_.before_create = [&] {
    ++calls;
    const std::vector<ledger::Waiter> waiters = host_.ledger.queue().list().take();
    if (waiters.empty()) return;
    (void)host_.controller.remove("a", vipu::Force::kNo, soon());
    (void)host_.ledger.queue().leave(waiters.front().ticket);
  };
  EXPECT_TRUE(test::fails(prepare("eight", 8, milliseconds(20'000)), Code::kBusy));
  EXPECT_LE(calls, 3U);
  EXPECT_EQ(host_.partitions().size(), 3U) << "only the holders are left";
  EXPECT_EQ(host_.live_leases(), 0U);
}

TEST_F(BackfillTurnTest, WarmPartitionsAreForTheFirst) {
  hold("e", 11);  // the warm partition is one more holder of the lower block
  host_.config.pools[0].warm = {{4, 1}};
  ASSERT_TRUE(test::succeeds(partitions::refill(host_.env, host_.config.pools[0], soon())));
  const auto pinned = block_to_pin(host_.env, host_.config.pools[0], 8, std::nullopt);
  EXPECT_EQ(pinned, kLow);
  enter(pinned);
  ASSERT_TRUE(test::succeeds(prepare("four", 4)));
  EXPECT_EQ(host_.lease_of("four").partition,
            ledger::partition_name(host_.ledger.host().tag(), host_.lease_of("four").id));
  EXPECT_THAT(ipus_of("four"), ElementsAre(12, 13, 14, 15));
}

TEST_F(BackfillTurnTest, AReservationPasses) {
  enter(kLow);
  start::ReservationRequest wanted;
  wanted.name = "r";
  wanted.ipus = 4;
  const auto reserve = [&] {
    return start::reserve(host_.env, host_.config, host_.config.pools[0], wanted);
  };
  EXPECT_TRUE(test::succeeds(reserve()));
  wanted.name = "s";
  EXPECT_TRUE(test::fails(reserve(), Code::kBusy, "IPUs 0-7"));
}

}  // namespace
}  // namespace hook::lifecycle
