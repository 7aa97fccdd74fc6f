// SPDX-License-Identifier: Apache-2.0
// Two hosts of a fleet: the queue of both, and the IPUs of leases in the fleet's books.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/names.h"
#include "base/text.h"
#include "hook/fleet/grants.h"
#include "hook/fleet/queue.h"
#include "hook/lifecycle/partitions/partitions.h"
#include "hook/lifecycle/partitions/warm.h"
#include "hook/lifecycle/start/reserve.h"
#include "tests/support/fleet_hosts.h"

namespace hook::lifecycle::partitions {
namespace {

using namespace base::names;
using std::chrono::milliseconds;
using std::chrono::seconds;
using test::Call;
using testing::IsEmpty;

class FleetQueueTest : public test::FleetHosts {
 protected:
  const fleet::Resource pool_{"pod16"};

  static Status start(test::HookHost& host, const std::string& container, uint32_t ipus,
                      milliseconds wait = milliseconds(0), const std::string& tenant = "") {
    request::Request request;
    request.ipus = ipus;
    request.wait = wait;
    request.tenant = tenant;
    return host.prepare(container, request);
  }
  std::vector<fleet::Ticket> line() { return fleet::read_line(fleet(), pool_).take().tickets; }
  std::vector<fleet::Grant> grants() {
    std::vector<Error> obstacles;
    auto all = fleet::list_grants(fleet(), obstacles).take();
    EXPECT_THAT(obstacles, IsEmpty());
    return all;
  }
  void share(const std::string& name, uint32_t guaranteed, uint32_t limit) {
    config::TenantConfig tenant;
    tenant.name = name;
    tenant.guaranteed = guaranteed;
    tenant.limit = limit;
    EXPECT_TRUE(test::succeeds(fleet::set_tenant(fleet(), tenant, 0)));
  }
  void run(const std::string& container) {
    ledger::Lease lease = a_.lease_of(container);
    const base::ProcessId self = base::current_process().take();
    ASSERT_TRUE(test::succeeds(a_.ledger.begin_attach(lease, self, {{4, 5, 6}, 3, 77})));
    ASSERT_TRUE(test::succeeds(a_.ledger.mark_running(lease, self)));
  }
};

TEST_F(FleetQueueTest, WhatALeaseHasIsInTheBooksUntilItsEnd) {
  ASSERT_TRUE(test::succeeds(start(a_, "one", 4, milliseconds(0), "vision")));
  ASSERT_EQ(grants().size(), 1U);
  EXPECT_EQ(grants().front().id, a_.lease_of("one").id);
  EXPECT_EQ(grants().front().host, a_.ledger.host().tag());
  EXPECT_EQ(grants().front().container, "one");
  EXPECT_EQ(grants().front().tenant, "vision");
  EXPECT_EQ(grants().front().ipus, 4U);
  ASSERT_TRUE(test::succeeds(stop(a_, "one")));
  EXPECT_THAT(grants(), IsEmpty());
}

// Otherwise the tenant's share has room while the controller still has the partition.
TEST_F(FleetQueueTest, WhatIsNotRemovedYetIsInTheBooks) {
  ASSERT_TRUE(test::succeeds(start(a_, "one", 4)));
  a_.controller.set_unreachable(true);
  EXPECT_TRUE(test::fails(stop(a_, "one"), Code::kUnavailable));
  EXPECT_EQ(grants().size(), 1U);
  a_.controller.set_unreachable(false);
  EXPECT_THAT(gc(a_), IsEmpty());
  EXPECT_THAT(grants(), IsEmpty());
  EXPECT_TRUE(a_.is_empty());
}

TEST_F(FleetQueueTest, ANewRequestPassesNoneOfAnotherHost) {
  const fleet::Ticket large = wait_on(b_, "large", 16);
  EXPECT_TRUE(test::fails(start(a_, "small", 1), Code::kBusy,
                          str("1 request is ahead, the first for 16 IPUs by container large on"
                              " host ",
                              b_.ledger.host().tag())));
  EXPECT_TRUE(a_.is_empty());
  EXPECT_THAT(grants(), IsEmpty());
  ASSERT_TRUE(test::succeeds(fleet::leave_line(fleet(), pool_, large)));
  EXPECT_TRUE(test::succeeds(start(a_, "small", 1)));
}

TEST_F(FleetQueueTest, ARequestWaitsForThoseBeforeItOnly) {
  const fleet::Ticket first = wait_on(b_, "first", 16);
  std::vector<std::string> order;
  a_.env.still_wanted = [&]() -> Status {
    const std::vector<fleet::Ticket> tickets = line();
    if (tickets.size() != 2 || !order.empty()) return {};
    for (const fleet::Ticket& one : tickets) order.push_back(one.container);
    wait_on(b_, "last", 16);
    return fleet::leave_line(fleet(), pool_, first);
  };
  ASSERT_TRUE(test::succeeds(start(a_, "own", 4, seconds(20))));
  EXPECT_EQ(order, (std::vector<std::string>{"first", "own"}));
  ASSERT_EQ(line().size(), 1U);
  EXPECT_EQ(line().front().container, "last");
}

TEST_F(FleetQueueTest, APlaceThatTheStoreLostIsTheSameAgain) {
  wait_on(b_, "first", 16);
  int looks = 0;
  std::vector<std::string> order;
  a_.env.still_wanted = [&]() -> Status {
    if (++looks == 1) {
      store_.advance(fleet::kTicketTime);
      EXPECT_THAT(line(), IsEmpty());
      wait_on(b_, "late", 16);
    }
    for (const fleet::Ticket& one : line()) order.push_back(one.container);
    return {};
  };
  ASSERT_TRUE(test::succeeds(start(a_, "own", 4, seconds(20))));
  EXPECT_EQ(order, (std::vector<std::string>{"late", "own", "late"}));
}

// Until then, one call to a slow controller is longer than a ticket lives.
TEST_F(FleetQueueTest, APlaceOutlastsACallToTheController) {
  ASSERT_TRUE(test::succeeds(start(b_, "holds", 8)));
  int calls = 0;
  a_.before_create = [&] {
    if (++calls == 1) return;  // it has no place yet
    store_.advance(seconds(a_.config.pools[0].timeout / seconds(1)));
    EXPECT_TRUE(test::fails(start(b_, "late", 1), Code::kBusy, "the first for 16 IPUs"));
    if (calls < 3) return;
    EXPECT_TRUE(test::succeeds(stop(b_, "holds")));
  };
  ASSERT_TRUE(test::succeeds(start(a_, "large", 16, seconds(20))));
  EXPECT_EQ(calls, 3);
  EXPECT_THAT(line(), IsEmpty());
}

// But who only waits leaves the line soon after its end.
TEST_F(FleetQueueTest, APlaceIsHeldForACallAlone) {
  ASSERT_TRUE(test::succeeds(start(b_, "holds", 8)));
  int looks = 0;
  a_.env.still_wanted = [&]() -> Status {
    const std::vector<fleet::Ticket> tickets = line();
    if (tickets.empty() || ++looks < 4) return {};
    store_.advance(fleet::kTicketTime);
    EXPECT_THAT(line(), IsEmpty());
    return Error(Code::kBusy, "nobody wants it");
  };
  EXPECT_FALSE(start(a_, "large", 16, seconds(20)).ok());
  EXPECT_EQ(looks, 4);
}

TEST_F(FleetQueueTest, AnotherHostCanTellARequestToGiveUp) {
  wait_on(b_, "first", 16);
  a_.env.still_wanted = [&]() -> Status {
    for (const fleet::Ticket& one : line())
      if (one.container == "own") return fleet::cancel_ticket(fleet(), pool_, one.id);
    return {};
  };
  EXPECT_TRUE(test::fails(start(a_, "own", 4, seconds(20)), Code::kBusy, "cancelled"));
  EXPECT_TRUE(a_.is_empty());
  EXPECT_EQ(line().size(), 1U);
}

// Of the store, which answers all else, the user hears nothing.
TEST_F(FleetQueueTest, AWaitThatEndsWhileItListensSaysWhoIsAhead) {
  wait_on(b_, "first", 16);
  loses_waits_ = true;
  EXPECT_TRUE(test::fails(start(a_, "second", 4, milliseconds(1'200)), Code::kBusy,
                          "waited 1 s for 4 IPUs of 'pod16', but 1 request is ahead"));
  // Likewise, if the controller is full and nobody else waits.
  for (const fleet::Ticket& one : line())
    ASSERT_TRUE(test::succeeds(fleet::leave_line(fleet(), pool_, one)));
  ASSERT_TRUE(a_.controller.create({"all", 16}, soon()).ok());
  EXPECT_TRUE(
      test::fails(start(a_, "third", 4, milliseconds(1'200)), Code::kBusy, "no free block"));
}

// Whoever cancels is told that the request waits no more, or it gives up: also in the moment in
// which its controller is asked.
TEST_F(FleetQueueTest, ACancelInTheMomentOfTheGrantIsObeyed) {
  const fleet::Ticket first = wait_on(b_, "first", 16);
  a_.env.still_wanted = [&] { return fleet::leave_line(fleet(), pool_, first); };
  int told = 0;
  a_.before_create = [&] {
    for (const fleet::Ticket& one : line())
      told += fleet::cancel_ticket(fleet(), pool_, one.id).ok() ? 1 : 0;
  };
  EXPECT_TRUE(test::fails(start(a_, "own", 4, seconds(20)), Code::kBusy, "cancelled"));
  EXPECT_EQ(told, 1);
  EXPECT_TRUE(a_.is_empty());
  EXPECT_THAT(grants(), IsEmpty());
  EXPECT_THAT(line(), IsEmpty());
}

TEST_F(FleetQueueTest, AWaitEndsByAMaxWaitThatBecameShorter) {
  share("vision", 8, 16);
  wait_on(b_, "first", 16, "vision");
  a_.env.still_wanted = [&]() -> Status {
    fleet::SeenTenant seen = fleet::find_tenant(fleet(), "vision").take();
    seen.share.max_wait = milliseconds(1);
    if (!fleet::set_tenant(fleet(), seen.share, seen.revision).take())
      return Error(Code::kInternal, "the share has changed");
    return {};
  };
  EXPECT_TRUE(test::fails(start(a_, "own", 4, seconds(20), "vision"), Code::kDenied, "max_wait"));
  EXPECT_TRUE(a_.is_empty());
  EXPECT_EQ(line().size(), 1U);
}

TEST_F(FleetQueueTest, WhatCannotBeReadKeepsItsTenantAlone) {
  share("vision", 8, 16);
  share("speech", 4, 8);
  const auto put = [&](const std::string& key, const std::string& value) {
    fleet::Txn txn;
    txn.puts = {{key, value}};
    ASSERT_TRUE(test::succeeds(store_.commit(txn, soon())));
  };
  put("/f/tenants/speech", R"({"guaranteed":"many"})");
  put("/f/grants/pod16/odd", "x");
  EXPECT_TRUE(test::succeeds(start(a_, "one", 4, milliseconds(0), "vision")));
  EXPECT_TRUE(test::fails(start(a_, "two", 4, milliseconds(0), "speech"), Code::kInvalid,
                          "'/f/tenants/speech' cannot be read"));
  put("/f/grants/pod16/odd", R"({"tenant":"vision","ipus":"many"})");
  EXPECT_TRUE(test::fails(start(a_, "three", 4, milliseconds(0), "vision"), Code::kInvalid,
                          "'/f/grants/pod16/odd' cannot be read"));
  EXPECT_EQ(a_.live_leases(), 1U);
}

TEST_F(FleetQueueTest, AGrantIsNotMadeForATicketThatWasCancelled) {
  fleet::Ticket ticket = wait_on(a_, "own", 4);
  const fleet::Shares shares = fleet::read_shares(fleet()).take();
  ASSERT_TRUE(test::succeeds(fleet::cancel_ticket(fleet(), pool_, ticket.id)));
  fleet::Grant grant;
  grant.pool = "pod16";
  grant.id = "own";
  grant.host = ticket.host;
  EXPECT_FALSE(fleet::grant_as_seen(fleet(), pool_, grant, &ticket, shares).take());
  EXPECT_EQ(fleet::leave_served(fleet(), pool_, ticket).take(), fleet::Left::kCancelled);
  ASSERT_TRUE(test::succeeds(fleet::leave_line(fleet(), pool_, ticket)));
  EXPECT_EQ(fleet::leave_served(fleet(), pool_, ticket).take(), fleet::Left::kYes);
}

TEST_F(FleetQueueTest, TicketsOfProcessesThatHaveEndedAreRemovedByTheirHostAlone) {
  wait_on(a_, "0-dead", 4);
  wait_on(b_, "0-dead", 4);
  EXPECT_THAT(gc(a_), IsEmpty());
  ASSERT_EQ(line().size(), 1U);
  EXPECT_EQ(line().front().host, b_.ledger.host().tag());
}

TEST_F(FleetQueueTest, ALimitCountsOverHosts) {
  share("vision", 0, 8);
  share("other", 0, 16);
  ASSERT_TRUE(test::succeeds(start(a_, "one", 4, milliseconds(0), "vision")));
  ASSERT_TRUE(test::succeeds(start(b_, "two", 4, milliseconds(0), "vision")));
  EXPECT_TRUE(test::fails(start(b_, "three", 1, milliseconds(0), "vision"), Code::kBusy,
                          "tenant 'vision' has 8 of at most 8 IPUs"));
  EXPECT_TRUE(test::fails(start(b_, "four", 16, milliseconds(0), "vision"), Code::kDenied,
                          "may have at most 8 IPUs in the fleet"));
  EXPECT_TRUE(test::fails(start(b_, "five", 1, milliseconds(0), "speech"), Code::kDenied,
                          "the fleet has no tenant 'speech'; its tenants are other, vision"));
  EXPECT_TRUE(test::fails(start(b_, "six", 1), Code::kDenied, "names no tenant"));
  EXPECT_EQ(grants().size(), 2U);
  ASSERT_TRUE(test::succeeds(stop(a_, "one")));
  EXPECT_TRUE(test::succeeds(start(b_, "three", 4, milliseconds(0), "vision")));
}

TEST_F(FleetQueueTest, GcdsOfNamedPartitionsCountForTheirTenant) {
  share("vision", 0, 8);
  NewPartition wanted{a_.config.pools[0], {}};
  wanted.request.id = "p0";
  wanted.request.size = 8;
  wanted.request.gcds = 2;
  ASSERT_TRUE(test::succeeds(create_partition(a_.env, wanted, soon())));
  const auto use = [](test::HookHost& host, const std::string& container, uint32_t gcd,
                      const std::string& tenant) {
    request::Request request;
    request.partition = "p0";
    request.gcd = gcd;
    request.tenant = tenant;
    return host.prepare(container, request);
  };
  ASSERT_TRUE(test::succeeds(use(b_, "one", 0, "vision")));
  ASSERT_TRUE(test::succeeds(start(a_, "two", 4, milliseconds(0), "vision")));
  EXPECT_TRUE(test::fails(use(a_, "three", 1, "vision"), Code::kBusy,
                          "tenant 'vision' has 8 of at most 8 IPUs"));
  EXPECT_TRUE(test::fails(start(b_, "four", 1, milliseconds(0), "vision"), Code::kBusy,
                          "tenant 'vision' has 8 of at most 8 IPUs"));
  EXPECT_TRUE(test::fails(use(a_, "five", 1, "speech"), Code::kDenied, "no tenant 'speech'"));
  ASSERT_TRUE(test::succeeds(stop(b_, "one")));
  EXPECT_TRUE(test::succeeds(use(a_, "three", 1, "vision")));
}

TEST_F(FleetQueueTest, WhoIsWithinItsShareIsServedBeforeABorrowerOfAnotherHost) {
  share("vision", 8, 16);
  share("borrows", 0, 16);
  wait_on(b_, "first", 16, "borrows");
  EXPECT_TRUE(test::fails(start(a_, "more", 4, milliseconds(0), "borrows"), Code::kBusy,
                          "1 request is ahead"));
  EXPECT_TRUE(test::succeeds(start(a_, "own", 4, milliseconds(0), "vision")));
}

TEST_F(FleetQueueTest, AFencedHostGetsNothingAndLeavesNothing) {
  ASSERT_TRUE(test::succeeds(start(a_, "one", 4)));
  wait_on(a_, "waits", 16);
  ASSERT_TRUE(
      test::succeeds(fleet::fence(fleet(), a_.ledger.host().tag(), b_.ledger.host().tag(), 1)));
  EXPECT_THAT(grants(), IsEmpty());
  EXPECT_THAT(line(), IsEmpty());
  EXPECT_TRUE(test::fails(start(a_, "two", 4), Code::kDenied, "declared dead"));
  EXPECT_THAT(grants(), IsEmpty());
}

TEST_F(FleetQueueTest, AReservationIsInTheBooksUntilItsEnd) {
  share("vision", 0, 8);
  start::ReservationRequest wanted;
  wanted.name = "night";
  wanted.ipus = 8;
  wanted.tenant = "vision";
  ASSERT_TRUE(test::succeeds(start::reserve(a_.env, a_.config, a_.config.pools[0], wanted)));
  ASSERT_EQ(grants().size(), 1U);
  EXPECT_EQ(grants().front().reservation, "night");
  EXPECT_TRUE(test::fails(start(b_, "two", 4, milliseconds(0), "vision"), Code::kBusy, "8 of at"));
  const std::string name = grants().front().id;
  ASSERT_TRUE(
      test::succeeds(remove_partition(a_.env, a_.config.pools[0], name, vipu::Force::kNo, soon())));
  EXPECT_THAT(grants(), IsEmpty());
  EXPECT_TRUE(test::succeeds(start(b_, "two", 4, milliseconds(0), "vision")));
}

// It is from before the host was in the fleet.
TEST_F(FleetQueueTest, WhatAHostKeepsWarmForItselfIsGivenBackForARequestOfAnotherHost) {
  config::PoolConfig& pool = b_.config.pools[0];
  pool.warm = {{8, 2}};
  const config::FleetConfig config = *b_.config.fleet;
  b_.config.fleet.reset();
  ASSERT_EQ(refill(b_.env, pool, soon()).take().made.size(), 2U);
  b_.config.fleet = config;
  EXPECT_TRUE(test::fails(start(a_, "large", 16), Code::kBusy, ""));
  EXPECT_THAT(grants(), IsEmpty());
  const fleet::Ticket large = wait_on(a_, "large", 16);
  ASSERT_TRUE(test::succeeds(give_back_to_fleet(a_.env, a_.config.pools, soon())));
  EXPECT_EQ(a_.partitions().size(), 2U);
  ASSERT_TRUE(test::succeeds(give_back_to_fleet(b_.env, b_.config.pools, soon())));
  EXPECT_THAT(a_.partitions(), IsEmpty());
  EXPECT_THAT(refill(b_.env, pool, soon()).take().made, IsEmpty());
  ASSERT_TRUE(test::succeeds(fleet::leave_line(fleet(), pool_, large)));
  EXPECT_EQ(refill(b_.env, pool, soon()).take().made.size(), 2U);
}

TEST_F(FleetQueueTest, TheBooksGetBackWhatRuns) {
  const config::FleetConfig fleet = *a_.config.fleet;
  a_.config.fleet.reset();
  ASSERT_TRUE(test::succeeds(start(a_, "one", 4)));  // before the host is in the fleet
  run("one");
  a_.config.fleet = fleet;
  EXPECT_THAT(gc(a_), IsEmpty());
  ASSERT_EQ(grants().size(), 1U);
  ASSERT_TRUE(test::succeeds(fleet::ungrant(this->fleet(), "pod16", grants().front().id)));
  EXPECT_THAT(gc(a_), IsEmpty());
  EXPECT_EQ(grants().size(), 1U);
}

// Each call to the store fails, or its answer is lost, once. In the end nothing is left.
TEST_F(FleetQueueTest, NothingIsLostWithACallOrItsAnswer) {
  share("vision", 0, 16);
  for (const Call fate : {Call::kFails, Call::kAnswerIsLost}) {
    int failed = 0;
    for (int at = 0; at < 12; ++at) {
      SCOPED_TRACE(str("call ", at, fate == Call::kFails ? " fails" : " is not answered"));
      calls_ = 0;
      fails_at_ = at;
      fate_ = fate;
      const std::string container = str("c", at);
      const Status started = start(a_, container, 4, milliseconds(0), "vision");
      const Status stopped = started.ok() ? stop(a_, container) : started;
      failed += started.ok() && stopped.ok() ? 0 : 1;
      fails_at_ = -1;
      EXPECT_THAT(gc(a_), IsEmpty());
      EXPECT_TRUE(a_.is_empty());
      EXPECT_THAT(grants(), IsEmpty());
      EXPECT_THAT(line(), IsEmpty());
    }
    EXPECT_GE(failed, 4);
  }
}

}  // namespace
}  // namespace hook::lifecycle::partitions
