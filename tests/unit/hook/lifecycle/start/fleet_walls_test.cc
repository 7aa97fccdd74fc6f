// SPDX-License-Identifier: Apache-2.0
// Tenants with V-IPU allocations in a fleet: its store says which, for all hosts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "base/names.h"
#include "hook/fleet/queue.h"
#include "hook/lifecycle/partitions/partitions.h"
#include "hook/lifecycle/start/reserve.h"
#include "tests/support/warm_fleet.h"

namespace hook::lifecycle::start {
namespace {

using namespace base::names;
using std::chrono::milliseconds;
using testing::IsEmpty;

class FleetWallsTest : public test::WarmFleet {
 protected:
  void SetUp() override {
    WarmFleet::SetUp();
    for (test::HookHost* host : {&a_, &b_}) host->config.pools[0].allocation = "rest";
    ASSERT_TRUE(a_.prepare("first", 1).ok());  // its host joins the fleet
    ASSERT_TRUE(test::succeeds(stop(a_, "first")));
    wall("a", "x");
    wall("b", "y");
    wall("c", "");
  }
  void wall(const std::string& name, const std::string& allocation) {
    config::TenantConfig tenant = fleet::find_tenant(fleet(), name).take().share;
    const int64_t seen = fleet::find_tenant(fleet(), name).take().revision;
    tenant.allocation = allocation;
    ASSERT_TRUE(fleet::set_tenant(fleet(), tenant, seen).take());
  }
  static Status start(test::HookHost& host, const std::string& container, const std::string& tenant,
                      uint32_t ipus, const std::string& partition = "") {
    request::Request request;
    request.tenant = tenant;
    request.ipus = ipus;
    request.partition = partition;
    return host.prepare(container, request);
  }
  std::string allocation_of(test::HookHost& host, const std::string& container) {
    return a_.controller.pool().partitions.at(host.lease_of(container).partition).allocation;
  }
};

TEST_F(FleetWallsTest, HoldOnAllHosts) {
  ASSERT_TRUE(test::succeeds(start(a_, "one", "a", 2)));
  ASSERT_TRUE(test::succeeds(start(b_, "two", "a", 2)));
  ASSERT_TRUE(test::succeeds(start(b_, "open", "c", 2)));
  EXPECT_EQ(allocation_of(a_, "one"), "x");
  EXPECT_EQ(allocation_of(b_, "two"), "x");
  EXPECT_EQ(allocation_of(b_, "open"), "rest");
  wall("a", "z");
  ASSERT_TRUE(test::succeeds(start(b_, "later", "a", 2)));
  EXPECT_EQ(allocation_of(b_, "later"), "z");
}

TEST_F(FleetWallsTest, AHostWhosePoolCannotKeepThemStartsNothingElse) {
  b_.config.pools[0].allocation = "";
  EXPECT_TRUE(test::fails(start(b_, "open", "c", 2), Code::kInvalid,
                          "has no allocation, so tenant 'c' could get IPUs"));
  b_.config.pools[0].allocation = "y";
  EXPECT_TRUE(test::fails(start(b_, "open", "c", 2), Code::kInvalid, "is a tenant's"));
  EXPECT_THAT(grants(), IsEmpty());
  ASSERT_TRUE(test::succeeds(start(b_, "walled", "a", 2)));
  EXPECT_EQ(allocation_of(b_, "walled"), "x");
  config::TenantConfig other;
  other.name = "a";
  other.allocation = "w";
  b_.config.policy.tenants = {other};
  EXPECT_TRUE(test::fails(start(b_, "torn", "a", 2), Code::kInvalid, "make them the same"));
}

TEST_F(FleetWallsTest, WarmPartitionsAreForTenantsOfTheirAllocation) {
  const std::vector<std::string> made = fill(a_).made;
  ASSERT_EQ(made.size(), 2U);
  ASSERT_TRUE(test::succeeds(start(b_, "walled", "a", 4)));
  EXPECT_EQ(allocation_of(b_, "walled"), "x");
  EXPECT_THAT(made, testing::Not(testing::Contains(b_.lease_of("walled").partition)));
  ASSERT_TRUE(test::succeeds(start(b_, "open", "c", 4)));
  EXPECT_THAT(made, testing::Contains(b_.lease_of("open").partition));
  // A host that keeps them in tenant a's allocation keeps them for tenant a.
  a_.config.pools[0].allocation = "x";
  keep({{1, 1}});
  const std::vector<std::string> others = fill(a_).made;
  ASSERT_EQ(others.size(), 1U);
  ASSERT_TRUE(test::succeeds(start(b_, "small", "a", 1)));
  EXPECT_EQ(b_.lease_of("small").partition, others[0]);
}

TEST_F(FleetWallsTest, ANamedPartitionIsForTenantsOfItsAllocation) {
  partitions::NewPartition wanted{a_.config.pools[0], {"px", 4}};
  wanted.request.allocation = "x";
  ASSERT_TRUE(test::succeeds(partitions::create_partition(a_.env, wanted, soon())));
  for (const char* const tenant : {"b", "c"})
    EXPECT_TRUE(test::fails(start(b_, "web", tenant, 0, "px"), Code::kDenied,
                            "partition 'px' is in allocation 'x'"));
  EXPECT_THAT(gc(b_), IsEmpty());
  EXPECT_THAT(fleet::find_partition(fleet(), {"pod16", "px"}).take()->claims, IsEmpty());
  ASSERT_TRUE(test::succeeds(start(b_, "web", "a", 0, "px")));
  EXPECT_EQ(a_.controller.resets("px"), 0U);
}

TEST_F(FleetWallsTest, AReservationIsForItsTenantAsLongAsThatHasItsAllocation) {
  ReservationRequest wanted{"night", 4, milliseconds(0), milliseconds(0), "alice"};
  wanted.tenant = "a";
  ASSERT_TRUE(test::succeeds(reserve(a_.env, a_.config, a_.config.pools[0], wanted)));
  const auto start_night = [&](const std::string& tenant) {
    request::Request night;
    night.partition = "night";
    night.is_reservation = true;
    night.tenant = tenant;
    return a_.prepare("web", night);
  };
  EXPECT_TRUE(test::fails(start_night("b"), Code::kDenied, "is of another tenant"));
  EXPECT_TRUE(test::fails(start_night(""), Code::kDenied, "which may be another tenant's"));
  wall("a", "z");
  EXPECT_TRUE(test::fails(start_night("a"), Code::kDenied,
                          "is in allocation 'x', but tenant 'a' is kept to allocation 'z'"));
  wall("a", "x");
  fails_at_ = calls_;
  fate_ = test::Call::kFails;
  EXPECT_FALSE(start_night("a").ok()) << "the store does not say whose wall that is";
  ASSERT_GT(calls_, fails_at_);
  fails_at_ = -1;
  EXPECT_TRUE(test::succeeds(start_night("a")));
}

// Its allocation is not known: who has no wall of their own could get its IPUs.
TEST_F(FleetWallsTest, AShareThatCannotBeReadLetsOnlyWalledTenantsStart) {
  fleet::Txn txn;
  txn.puts = {{kPrefix_ + "tenants/b", "{\"allocation\": 7}"}};
  ASSERT_TRUE(store_.commit(txn, soon()).take().done);
  const char* const kWhy = "the share of tenant 'b' in etcd cannot be read";
  partitions::NewPartition named{a_.config.pools[0], {"open", 4}};
  named.request.allocation = "rest";
  ASSERT_TRUE(test::succeeds(partitions::create_partition(a_.env, named, soon())));
  EXPECT_TRUE(test::fails(start(a_, "open", "c", 2), Code::kInvalid, kWhy));
  EXPECT_TRUE(test::fails(start(a_, "named", "c", 0, "open"), Code::kInvalid, kWhy));
  ReservationRequest wanted{"night", 4, milliseconds(0), milliseconds(0), "alice"};
  wanted.tenant = "c";
  EXPECT_TRUE(
      test::fails(reserve(a_.env, a_.config, a_.config.pools[0], wanted), Code::kInvalid, kWhy));
  EXPECT_THAT(gc(a_), IsEmpty());
  EXPECT_THAT(grants(), IsEmpty());
  ASSERT_TRUE(test::succeeds(start(a_, "walled", "a", 2)));
  EXPECT_EQ(allocation_of(a_, "walled"), "x");
}

// While its controller is silent, a request that waits keeps its grant.
TEST_F(FleetWallsTest, ARequestThatWaitsFollowsItsTenantToAnotherAllocation) {
  request::Request request;
  request.tenant = "a";
  request.ipus = 4;
  request.wait = milliseconds(20'000);
  bool was_asked = false;
  a_.before_create = [&] {
    if (std::exchange(was_asked, true)) return;
    a_.controller.fail_next(Error(Code::kUnavailable, "x: no answer"));
    wall("a", "z");
  };
  ASSERT_TRUE(test::succeeds(a_.prepare("web", request)));
  EXPECT_EQ(allocation_of(a_, "web"), "z");
  EXPECT_THAT(grants(), testing::SizeIs(1));
}

// Another tenant gets the pool's allocation before any call of a start that comes before its grant.
TEST_F(FleetWallsTest, AWallThatIsNewBeforeTheGrantHolds) {
  constexpr int kMostCalls = 20;
  int at = 0;
  for (bool is_before = true; is_before && at < kMostCalls; ++at) {
    SCOPED_TRACE(at);
    is_before = false;
    interrupt(a_, at, [&] {
      is_before = grants().empty();
      if (is_before) wall("b", "rest");
    });
    const Status started = start(a_, "web", "c", 2);
    EXPECT_EQ(started.ok(), !is_before);
    if (started.ok()) continue;
    EXPECT_TRUE(test::fails(started, Code::kInvalid, "is a tenant's"));
    EXPECT_THAT(gc(a_), IsEmpty());
    EXPECT_THAT(grants(), IsEmpty());
    wall("b", "y");
  }
  EXPECT_GT(at, 3);
  EXPECT_LT(at, kMostCalls);
}

TEST_F(FleetWallsTest, ARequestThatWaitsKeepsOnlyTenantsOfItsAllocationWaiting) {
  wait_on(b_, "waits", 16, "a");
  EXPECT_TRUE(test::fails(start(a_, "same", "a", 1), Code::kBusy, "1 request is ahead"));
  EXPECT_TRUE(test::succeeds(start(a_, "other", "b", 1)));
  EXPECT_TRUE(test::succeeds(start(a_, "open", "c", 1)));
}

// The tenant gets another allocation while the start does not know whether it has its grant.
TEST_F(FleetWallsTest, AGrantWhoseAnswerWasLostFollowsItsTenant) {
  constexpr int kMostCalls = 30;
  int followed = 0;
  int at = 0;
  for (bool was_reached = true; was_reached && at < kMostCalls; ++at) {
    SCOPED_TRACE(at);
    int calls = 0;
    bool is_made = false;  // when the allocation changed
    was_reached = false;
    a_.env.store = [&](const config::FleetConfig&) {
      return std::make_unique<test::LentStore>(store_, [&] {
        const int call = calls++;
        if (call == at + 1) {
          is_made = !a_.controller.pool().partitions.empty();
          wall("a", "z");
        }
        was_reached = was_reached || call == at + 1;
        return call == at ? test::Call::kAnswerIsLost : test::Call::kAnswered;
      });
    };
    request::Request request;
    request.tenant = "a";
    request.ipus = 4;
    request.wait = milliseconds(20'000);
    const bool is_started = a_.prepare("web", request).ok();
    interrupt(a_, -1, [] {});
    if (is_started) {
      EXPECT_EQ(allocation_of(a_, "web"), was_reached && !is_made ? "z" : "x");
      followed += was_reached && !is_made ? 1 : 0;
      ASSERT_TRUE(test::succeeds(stop(a_, "web")));
    }
    EXPECT_THAT(gc(a_), IsEmpty());
    ASSERT_THAT(grants(), IsEmpty());
    wall("a", "x");
  }
  EXPECT_GT(followed, 2);
  EXPECT_LT(at, kMostCalls);
}

// The controller is away from some call on, and comes back when the tenant has another allocation.
TEST_F(FleetWallsTest, AClaimOfANamedPartitionIsCheckedAtEachAttempt) {
  partitions::NewPartition wanted{a_.config.pools[0], {"px", 4}};
  wanted.request.allocation = "x";
  ASSERT_TRUE(test::succeeds(partitions::create_partition(a_.env, wanted, soon())));
  request::Request request;
  request.tenant = "a";
  request.partition = "px";
  request.wait = milliseconds(20'000);
  constexpr int kMostCalls = 40;
  int at = 0;
  for (bool is_away = true; is_away && at < kMostCalls; ++at) {
    SCOPED_TRACE(at);
    is_away = false;
    bool waits = false;
    interrupt(a_, at, [&] {
      is_away = true;
      a_.controller.set_unreachable(true);
    });
    a_.env.still_wanted = [&]() -> Status {
      if (is_away) wall("a", "z");
      waits = is_away;
      a_.controller.set_unreachable(false);
      return {};
    };
    const Status started = a_.prepare("web", request);
    a_.controller.set_unreachable(false);
    // Its last look at etcd is after the controller's last answer.
    EXPECT_EQ(started.ok(), !waits) << (started.ok() ? "" : started.error().message());
    EXPECT_TRUE(started.ok() || test::fails(started, Code::kDenied, "allocation 'z'"));
    const Status stopped = started.ok() ? stop(a_, "web") : Status();
    ASSERT_TRUE(test::succeeds(stopped));
    EXPECT_THAT(gc(a_), IsEmpty());
    wall("a", "x");
  }
  EXPECT_GT(at, 3);
  EXPECT_LT(at, kMostCalls);
}

// The walls may be in config.toml alone, and the queue is the fleet's.
TEST_F(FleetWallsTest, AWallOfTheHostKeepsTheFleetsQueueApart) {
  for (const char* const tenant : {"a", "b"}) wall(tenant, "");
  config::TenantConfig walled;
  walled.name = "b";
  walled.allocation = "y";
  a_.config.policy.tenants = {walled};
  wait_on(b_, "waits", 16, "a");
  EXPECT_TRUE(test::fails(start(a_, "open", "c", 1), Code::kBusy, "1 request is ahead"));
  EXPECT_TRUE(test::succeeds(start(a_, "other", "b", 1)));
}

// Whichever answer of the store is lost or is none.
TEST_F(FleetWallsTest, NoLostAnswerPutsATenantIntoAnotherAllocation) {
  constexpr int kMostCalls = 60;
  for (const test::Call fate : {test::Call::kFails, test::Call::kAnswerIsLost}) {
    int at = 0;
    for (; at < kMostCalls; ++at) {
      SCOPED_TRACE(at);
      calls_ = 0;
      fails_at_ = at;
      fate_ = fate;
      const std::string web = str("web", at);
      const Status started = start(a_, web, "a", 4);
      const bool was_reached = calls_ > at;
      fails_at_ = -1;
      if (started.ok()) {
        EXPECT_EQ(allocation_of(a_, web), "x");
        ASSERT_TRUE(test::succeeds(stop(a_, web)));
      }
      EXPECT_THAT(gc(a_), IsEmpty());
      ASSERT_TRUE(a_.is_empty());
      ASSERT_THAT(grants(), IsEmpty());
      if (!was_reached) break;
    }
    EXPECT_GT(at, 2);
    EXPECT_LT(at, kMostCalls);
  }
}

}  // namespace
}  // namespace hook::lifecycle::start
