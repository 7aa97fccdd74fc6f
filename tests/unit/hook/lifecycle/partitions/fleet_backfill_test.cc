// SPDX-License-Identifier: Apache-2.0
// A small request of one host passes a large one of another, which waits first in the fleet's
// queue.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "base/names.h"
#include "hook/fleet/grants.h"
#include "hook/fleet/queue.h"
#include "hook/lifecycle/fleet_place.h"
#include "hook/lifecycle/open_fleet.h"
#include "hook/lifecycle/start/reserve.h"
#include "tests/support/crowded_pool.h"
#include "tests/support/fleet_hosts.h"

namespace hook::lifecycle::partitions {
namespace {

using namespace base::names;
using testing::Each;
using testing::Ge;
using testing::IsEmpty;
using testing::SizeIs;

using test::kHigh;
using test::kLow;

class FleetBackfillTest : public test::FleetHosts {
 protected:
  void SetUp() override {
    FleetHosts::SetUp();
    for (test::HookHost* host : {&a_, &b_}) host->config.pools[0].backfill = true;
    test::crowd(a_.controller);
  }
  fleet::Ticket wait_with(const std::optional<vipu::Block>& pinned) {
    fleet::Ticket ticket = wait_on(b_, "large", 8);
    ticket = fleet::read_line(fleet(), pool_).take().tickets.at(0);
    ticket.pinned = pinned;
    EXPECT_TRUE(test::succeeds(fleet::write_ticket(fleet(), pool_, ticket)));
    return fleet::read_line(fleet(), pool_).take().tickets.at(0);
  }
  static Status start(test::HookHost& host, const std::string& container, uint32_t ipus) {
    request::Request request;
    request.ipus = ipus;
    return host.prepare(container, request);
  }
  // The numbers of the IPUs of all partitions but those that crowd() made.
  std::vector<uint32_t> given() {
    std::vector<uint32_t> numbers;
    for (const vipu::Partition& one : a_.controller.list(soon()).take())
      for (const vipu::IpuPlace& place : one.ipus)
        if (one.id.size() > 1) numbers.push_back(place.ipu);
    return numbers;
  }
  size_t grants() {
    std::vector<Error> obstacles;
    return fleet::list_grants(fleet(), obstacles).take().size();
  }
  const fleet::Resource pool_{"pod16"};
};

TEST_F(FleetBackfillTest, ASmallRequestPassesBesideThePinnedBlock) {
  EXPECT_EQ(wait_with(kLow).pinned, kLow);
  ASSERT_TRUE(test::succeeds(start(a_, "small", 4)));
  EXPECT_THAT(given(), testing::ElementsAre(12, 13, 14, 15));
  EXPECT_TRUE(test::fails(start(a_, "more", 4), Code::kBusy, "IPUs 0-7 and what may be free"));
  EXPECT_EQ(grants(), 1U);
}

TEST_F(FleetBackfillTest, NobodyPassesWithoutAPinnedBlockOrAsLarge) {
  wait_with(std::nullopt);
  EXPECT_TRUE(test::fails(start(a_, "small", 4), Code::kBusy, "1 request is ahead"));
  store_.advance(std::chrono::hours(1));
  wait_with(kHigh);
  EXPECT_TRUE(test::fails(start(a_, "equal", 8), Code::kBusy, "1 request is ahead"));
  EXPECT_EQ(grants(), 0U);
}

// Whatever a broken host writes there.
TEST_F(FleetBackfillTest, NobodyPassesBesideABlockThatIsNone) {
  for (const vipu::Block& block : {vipu::Block{3, 8}, {0, 4}, {0, 7}, {16, 8}, {65'535, 65'536}}) {
    wait_with(block);
    EXPECT_TRUE(test::fails(start(a_, "small", 4), Code::kBusy, "1 request is ahead"));
    store_.advance(std::chrono::hours(1));
  }
}

TEST_F(FleetBackfillTest, TheFirstThatWaitsPinsItsBlockForAllHosts) {
  bool has_tried = false;
  a_.env.still_wanted = [&]() -> Status {
    const std::vector<fleet::Ticket> line = fleet::read_line(fleet(), pool_).take().tickets;
    if (line.empty() || !line[0].pinned || std::exchange(has_tried, true)) return {};
    EXPECT_EQ(line[0].pinned, kLow);
    EXPECT_TRUE(test::succeeds(start(b_, "small", 4)));
    return Error(Code::kBusy, "enough");
  };
  request::Request request;
  request.ipus = 8;
  request.wait = std::chrono::seconds(20);
  EXPECT_FALSE(a_.prepare("large", request).ok());
  EXPECT_TRUE(has_tried);
  EXPECT_THAT(given(), testing::ElementsAre(12, 13, 14, 15));
}

// The block is pinned while the controller makes the partition of a request that came before it.
TEST_F(FleetBackfillTest, WhoeverHadItsIpusFirstGivesThemBackIfTheyArePinned) {
  bool is_pinned = false;
  a_.env.store = [&](const config::FleetConfig&) {
    return std::make_unique<test::LentStore>(store_, [&] {
      // Its next look, once it has them.
      if (!given().empty() && !std::exchange(is_pinned, true)) wait_with(kLow);
      return test::Call::kAnswered;
    });
  };
  EXPECT_TRUE(test::succeeds(start(a_, "small", 4)));
  EXPECT_TRUE(is_pinned);
  EXPECT_THAT(given(), SizeIs(4));
  EXPECT_THAT(given(), Each(Ge(8U)));
  EXPECT_EQ(grants(), 1U);
}

TEST_F(FleetBackfillTest, AReservationPassesAsWell) {
  wait_with(kLow);
  start::ReservationRequest wanted;
  wanted.name = "night";
  wanted.ipus = 4;
  EXPECT_TRUE(test::succeeds(start::reserve(a_.env, a_.config, a_.config.pools[0], wanted)));
  EXPECT_THAT(given(), testing::ElementsAre(12, 13, 14, 15));
  wanted.name = "day";
  EXPECT_TRUE(test::fails(start::reserve(a_.env, a_.config, a_.config.pools[0], wanted),
                          Code::kBusy, "IPUs 0-7 and what may be free"));
  EXPECT_EQ(grants(), 1U);
}

// Each call to the store fails, or loses its answer.
TEST_F(FleetBackfillTest, WhateverTheStoreLosesNoIpuOfTheBlockIsGiven) {
  wait_with(kLow);
  for (const test::Call fate : {test::Call::kFails, test::Call::kAnswerIsLost}) {
    for (int call = 0;; ++call) {
      calls_ = 0;
      fails_at_ = call;
      fate_ = fate;
      request::Request request;
      request.ipus = 4;
      request.wait = std::chrono::seconds(5);
      const Status started = a_.prepare("small", request);
      const bool is_past = calls_ <= call;
      fails_at_ = -1;
      EXPECT_THAT(given(), Each(Ge(11U))) << call;
      if (started.ok()) {
        EXPECT_TRUE(test::succeeds(stop(a_, "small"))) << call;
      }
      (void)gc(a_);
      EXPECT_THAT(given(), IsEmpty()) << call;
      EXPECT_EQ(grants(), 0U) << call;
      if (is_past) break;
      ASSERT_LT(call, 100);
    }
  }
}

}  // namespace
}  // namespace hook::lifecycle::partitions
