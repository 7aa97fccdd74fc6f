// SPDX-License-Identifier: Apache-2.0
// Places in the fleet's queue of which the store, or the host, has forgotten something.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "base/clock.h"
#include "base/names.h"
#include "hook/fleet/grants.h"
#include "hook/fleet/queue.h"
#include "hook/lifecycle/fleet_place.h"
#include "hook/lifecycle/open_fleet.h"
#include "hook/lifecycle/start/reserve.h"
#include "tests/support/fleet_hosts.h"

namespace hook::lifecycle::partitions {
namespace {

using namespace base::names;
using std::chrono::milliseconds;
using testing::IsEmpty;

class FleetLineTest : public test::FleetHosts {
 protected:
  const fleet::Resource pool_{"pod16"};

  static Status start(test::HookHost& host, const std::string& container, uint32_t ipus) {
    request::Request request;
    request.ipus = ipus;
    return host.prepare(container, request);
  }
  std::vector<fleet::Ticket> line() { return fleet::read_line(fleet(), pool_).take().tickets; }
};

// What may be at the controller counts for its tenant until it is removed.
TEST_F(FleetLineTest, AReservationThatWasCutShortIsInTheBooksUntilItsPartitionIsGone) {
  start::ReservationRequest wanted;
  wanted.name = "night";
  wanted.ipus = 8;
  const auto grants = [&] {
    std::vector<Error> obstacles;
    return fleet::list_grants(fleet(), obstacles).take().size();
  };
  a_.controller.fail_next(Error(Code::kTimeout, "no answer"),
                          test::FakeController::When::kAfterAndLeave);
  EXPECT_FALSE(start::reserve(a_.env, a_.config, a_.config.pools[0], wanted).ok());
  EXPECT_EQ(a_.controller.pool().partitions.size(), 1U);
  EXPECT_EQ(grants(), 1U);
  a_.controller.set_unreachable(false);
  EXPECT_THAT(gc(a_), IsEmpty());
  EXPECT_THAT(a_.partitions(), IsEmpty());
  EXPECT_EQ(grants(), 0U);
}

TEST_F(FleetLineTest, AReservationThatIsRefusedIsNotInTheBooks) {
  ASSERT_TRUE(a_.controller.create({"all", 16}, soon()).ok());
  start::ReservationRequest wanted;
  wanted.name = "night";
  wanted.ipus = 8;
  EXPECT_TRUE(test::fails(start::reserve(a_.env, a_.config, a_.config.pools[0], wanted),
                          Code::kBusy, "no free block"));
  std::vector<Error> obstacles;
  EXPECT_THAT(fleet::list_grants(fleet(), obstacles).take(), IsEmpty());
}

// The store has forgotten what changed since the last look, so there was a change.
TEST_F(FleetLineTest, AWaitForNewsThatTheStoreForgotIsOver) {
  const fleet::Ticket first = wait_on(b_, "first", 4);
  const int64_t seen = fleet::read_line(fleet(), pool_).take().revision;
  ASSERT_TRUE(test::succeeds(fleet::leave_line(fleet(), pool_, first)));
  wait_on(b_, "second", 4);
  store_.compact();
  const fleet::Fleet brief{store_, kPrefix_, Deadline::after(milliseconds(10))};
  EXPECT_TRUE(
      test::succeeds(fleet::wait_for_news(brief, fleet::queue_prefix(kPrefix_, pool_), seen)));
}

TEST_F(FleetLineTest, AWaitForRoomThatTheStoreForgotIsOver) {
  ASSERT_TRUE(test::succeeds(start(a_, "one", 4)));
  FleetPlace place(a_.env, *open_fleet(a_.env).take(), pool_, nullptr);
  ASSERT_TRUE(test::succeeds(place.wait_for_room(milliseconds(1), soon())));
  ASSERT_TRUE(test::succeeds(stop(a_, "one")));
  ASSERT_TRUE(test::succeeds(start(a_, "two", 4)));
  store_.compact();
  EXPECT_TRUE(test::succeeds(place.wait_for_room(milliseconds(1), soon())));
  EXPECT_TRUE(test::succeeds(place.wait_for_room(milliseconds(1), soon())));
}

// An answer of lease_ticket() was lost, so the ticket says the lease before.
TEST_F(FleetLineTest, WhoeverLeavesIsGoneUnderWhateverLease) {
  const fleet::Ticket known = wait_on(b_, "first", 16);
  fleet::Ticket now = known;
  ASSERT_TRUE(fleet::lease_ticket(fleet(), pool_, now, std::chrono::seconds(60)).take());
  ASSERT_NE(now.lease, known.lease);
  ASSERT_TRUE(test::succeeds(fleet::leave_line(fleet(), pool_, known)));
  EXPECT_THAT(line(), IsEmpty());
}

// The order is that of etcd, also if the hosts' clocks are hours apart.
TEST_F(FleetLineTest, TheOrderIsThatOfArrivalWhateverTheClocksSay) {
  for (const int hours : {5, -5}) {
    const fleet::Ticket large = wait_on(b_, "large", 16, "", std::chrono::hours(hours));
    EXPECT_TRUE(test::fails(start(a_, "small", 1), Code::kBusy, "1 request is ahead")) << hours;
    bool is_late = false;  // another one of that host comes, and the first one goes
    a_.env.still_wanted = [&]() -> Status {
      if (std::exchange(is_late, true)) return {};
      wait_on(b_, "late", 16, "", std::chrono::hours(hours));
      return fleet::leave_line(fleet(), pool_, large);
    };
    request::Request request;
    request.ipus = 4;
    request.wait = milliseconds(20'000);
    EXPECT_TRUE(test::succeeds(a_.prepare("own", request))) << hours;
    ASSERT_TRUE(test::succeeds(stop(a_, "own")));
    a_.env.still_wanted = [] { return Status(); };
    ASSERT_EQ(line().size(), 1U);
    ASSERT_TRUE(test::succeeds(fleet::leave_line(fleet(), pool_, line().front())));
  }
}

// The other host's request comes at each moment of the start.
TEST_F(FleetLineTest, HostsThatAskAtTheSameTimeHaveNoMoreWaitersThanTheTenantMay) {
  for (const char* name : {"vision", "nlp"}) {
    config::TenantConfig tenant;
    tenant.name = name;
    tenant.max_waiters = 1;
    ASSERT_TRUE(test::succeeds(fleet::set_tenant(fleet(), tenant, 0)));
  }
  request::Request all;
  all.ipus = 16;
  all.tenant = "nlp";
  ASSERT_TRUE(test::succeeds(b_.prepare("all", all)));
  int refused = 0;
  for (int moment = 0; moment < 20; ++moment) {
    int call = 0;
    bool is_first = false;
    std::optional<fleet::Ticket> other;
    a_.env.store = [&](const config::FleetConfig&) {
      return std::make_unique<test::LentStore>(store_, [&] {
        if (call++ == moment) {
          is_first = fleet::list_queue(fleet()).take().empty();
          other = wait_on(b_, "other", 4, "vision");
        }
        return test::Call::kAnswered;
      });
    };
    request::Request request;
    request.ipus = 4;
    request.tenant = "vision";
    request.wait = std::chrono::seconds(20);
    int looks = 0;
    a_.env.still_wanted = [&] {
      return ++looks < 3 ? Status() : Error(Code::kTimeout, "waited long enough");
    };
    const Status started = a_.prepare("one", request);
    if (is_first) {
      ++refused;
      EXPECT_TRUE(test::fails(started, Code::kDenied, "max_waiters")) << moment;
    }
    if (other) {
      ASSERT_TRUE(test::succeeds(fleet::leave_line(fleet(), {"pod16"}, *other)));
    }
    EXPECT_TRUE(fleet::list_queue(fleet()).take().empty()) << moment;
  }
  EXPECT_GT(refused, 2);
}

}  // namespace
}  // namespace hook::lifecycle::partitions
