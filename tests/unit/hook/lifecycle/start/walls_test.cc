// SPDX-License-Identifier: Apache-2.0
// Tenants with V-IPU allocations: what each may have, and what the controller may not give it.
#include "hook/lifecycle/start/walls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/names.h"
#include "hook/lifecycle/partitions/partitions.h"
#include "hook/lifecycle/partitions/warm.h"
#include "hook/lifecycle/start/reserve.h"
#include "tests/support/hook_host.h"

namespace hook::lifecycle::start {
namespace {

using namespace base::names;
using std::chrono::milliseconds;
using When = test::FakeController::When;

class WallsTest : public testing::Test {
 protected:
  WallsTest() {
    for (const auto& [name, allocation] :
         {std::pair("a", "x"), std::pair("b", "y"), std::pair("c", "")}) {
      config::TenantConfig tenant;
      tenant.name = name;
      tenant.allocation = allocation;
      host_.config.policy.tenants.push_back(tenant);
    }
    pool().allocation = "rest";
  }
  config::PoolConfig& pool() { return host_.config.pools[0]; }

  static request::Request of(const std::string& tenant, uint32_t ipus) {
    request::Request request;
    request.tenant = tenant;
    request.ipus = ipus;
    return request;
  }
  static request::Request named(const std::string& tenant, const std::string& partition) {
    request::Request request = of(tenant, 0);
    request.partition = partition;
    return request;
  }
  // Returns the allocation of CONTAINER's partition at the controller.
  std::string allocation_of(const std::string& container) {
    return host_.controller.pool().partitions.at(host_.lease_of(container).partition).allocation;
  }
  void make(const std::string& name, const std::string& allocation) {
    partitions::NewPartition wanted{pool(), {name, 4}};
    wanted.request.allocation = allocation;
    ASSERT_TRUE(
        test::succeeds(partitions::create_partition(host_.env, wanted, test::HookHost::soon())));
  }
  Status reserve_for(const std::string& tenant) {
    ReservationRequest wanted{"night", 4, milliseconds(0), milliseconds(0), "alice"};
    wanted.tenant = tenant;
    return reserve(host_.env, host_.config, pool(), wanted);
  }

  test::HookHost host_{64};
};

TEST_F(WallsTest, ANewPartitionIsInTheAllocationOfItsTenant) {
  for (const auto& [tenant, allocation] :
       {std::pair("a", "x"), std::pair("b", "y"), std::pair("c", "rest")}) {
    ASSERT_TRUE(test::succeeds(host_.prepare(str("web-", tenant), of(tenant, 4))));
    EXPECT_EQ(allocation_of(str("web-", tenant)), allocation);
  }
}

TEST_F(WallsTest, OneThatTheControllerMadeElsewhereIsRefusedAndRemoved) {
  for (const char* const elsewhere : {"y", "rest"}) {
    host_.controller.pool().misplaced_in = elsewhere;
    EXPECT_TRUE(test::fails(host_.prepare("web", of("a", 4)), Code::kInternal,
                            str("in allocation '", elsewhere, "' instead of 'x'")));
    EXPECT_TRUE(host_.is_empty());
    request::Request waits = of("a", 4);
    waits.wait = milliseconds(2000);
    EXPECT_TRUE(test::fails(host_.prepare("web", waits), Code::kInternal, "instead of 'x'"));
    EXPECT_TRUE(host_.is_empty());
  }
  EXPECT_TRUE(test::fails(reserve_for("a"), Code::kInternal, "instead of 'x'"));
  EXPECT_TRUE(host_.is_empty());
  EXPECT_TRUE(test::succeeds(host_.prepare("other", of("c", 4))))
      << "it is made where it should be";
}

TEST_F(WallsTest, ATenantWithoutAnAllocationGetsNoIpusOfOneWithOne) {
  host_.controller.pool().misplaced_in = "x";
  EXPECT_TRUE(test::fails(host_.prepare("web", of("c", 4)), Code::kInternal, "instead of 'rest'"));
  EXPECT_TRUE(host_.is_empty());
  pool().allocation = "";
  EXPECT_TRUE(test::fails(host_.prepare("web", of("c", 4)), Code::kInvalid,
                          "pool 'pod16' has no allocation, so tenant 'c' could get IPUs"));
  EXPECT_TRUE(host_.is_empty());
}

TEST_F(WallsTest, AfterALostAnswerThePartitionIsStillReadBack) {
  host_.controller.pool().misplaced_in = "y";
  request::Request waits = of("a", 4);
  waits.wait = milliseconds(5000);
  bool is_lost = false;
  host_.before_create = [&] {
    if (!std::exchange(is_lost, true))
      host_.controller.fail_next(Error(Code::kTimeout, "no answer"), When::kAfter);
  };
  EXPECT_FALSE(host_.prepare("web", waits).ok());
  EXPECT_TRUE(host_.is_empty());
  // A controller that goes away before it can be asked leaves nothing, either.
  host_.controller.pool().misplaced_in.clear();
  host_.controller.fail_next(Error(Code::kTimeout, "no answer"), When::kAfterAndLeave);
  EXPECT_FALSE(host_.prepare("web", of("a", 4)).ok());
  host_.controller.set_unreachable(false);
  ASSERT_TRUE(test::succeeds(end::reconcile(host_.env, test::HookHost::soon())));
  EXPECT_TRUE(host_.is_empty());
}

TEST_F(WallsTest, WarmPartitionsAreForTenantsOfTheirAllocation) {
  pool().warm = {{4, 1}};
  const auto warm = partitions::refill(host_.env, pool(), test::HookHost::soon()).take().made;
  ASSERT_EQ(warm.size(), 1U);
  ASSERT_TRUE(test::succeeds(host_.prepare("walled", of("a", 4))));
  EXPECT_NE(host_.lease_of("walled").partition, warm[0]);
  EXPECT_EQ(allocation_of("walled"), "x");
  ASSERT_TRUE(test::succeeds(host_.prepare("open", of("c", 4))));
  EXPECT_EQ(host_.lease_of("open").partition, warm[0]);
}

TEST_F(WallsTest, AWarmPartitionOfAnotherAllocationIsReplaced) {
  pool().warm = {{4, 1}};
  host_.controller.pool().misplaced_in = "x";
  const auto warm = partitions::refill(host_.env, pool(), test::HookHost::soon()).take().made;
  ASSERT_EQ(warm.size(), 1U);
  host_.controller.pool().misplaced_in.clear();
  ASSERT_TRUE(test::succeeds(host_.prepare("open", of("c", 4))));
  EXPECT_EQ(allocation_of("open"), "rest");
  const auto others = partitions::refill(host_.env, pool(), test::HookHost::soon()).take();
  ASSERT_EQ(others.made.size(), 1U);
  pool().allocation = "elsewhere";  // the administrator has changed it
  EXPECT_EQ(partitions::refill(host_.env, pool(), test::HookHost::soon()).take().removed.size(),
            1U);
}

TEST_F(WallsTest, AFullAllocationGivesBackWarmPartitionsOfItsOwnAlone) {
  pool().warm = {{4, 1}};
  ASSERT_EQ(partitions::refill(host_.env, pool(), test::HookHost::soon()).take().made.size(), 1U);
  host_.before_create = [&] { host_.controller.fail_next(Error(Code::kBusy, "x: no free block")); };
  EXPECT_TRUE(test::fails(host_.prepare("walled", of("a", 4)), Code::kBusy,
                          "tenant 'a' is kept to allocation 'x' of pool \"pod16\", which has no"
                          " free block of 4 IPUs now"));
  EXPECT_EQ(host_.partitions().size(), 1U);
  EXPECT_TRUE(test::fails(host_.prepare("large", of("c", 8)), Code::kBusy));
  EXPECT_EQ(host_.partitions().size(), 0U);
}

TEST_F(WallsTest, ARefusalNamesTheTenantAndWhatToDo) {
  host_.before_create = [&] {
    host_.controller.fail_next(Error(Code::kInvalid, "no allocation 'x': there is y"));
  };
  EXPECT_TRUE(test::fails(host_.prepare("web", of("a", 4)), Code::kInvalid,
                          "no allocation 'x': there is y; tenant 'a' is kept to allocation 'x': if"
                          " 'vipu list allocations' does not have it"));
  EXPECT_TRUE(host_.is_empty());
}

TEST_F(WallsTest, ANamedPartitionIsForTenantsOfItsAllocationAndNoOtherResetsIt) {
  make("px", "x");
  make("pz", "z");
  for (const char* const tenant : {"b", "c"})
    EXPECT_TRUE(test::fails(host_.prepare("web", named(tenant, "px")), Code::kDenied,
                            "partition 'px' is in allocation 'x'"));
  EXPECT_TRUE(test::fails(host_.prepare("web", named("a", "pz")), Code::kDenied,
                          "but tenant 'a' is kept to allocation 'x'"));
  ASSERT_TRUE(test::succeeds(host_.prepare("mine", named("a", "px"))));
  ASSERT_TRUE(test::succeeds(host_.prepare("nobodys", named("c", "pz"))));
  const ledger::Lease lease = host_.lease_of("mine");
  ASSERT_TRUE(test::succeeds(end::release_by_id(host_.env, lease.id, test::HookHost::soon())));
  EXPECT_TRUE(test::fails(host_.prepare("web", named("b", "px")), Code::kDenied));
  EXPECT_EQ(host_.controller.resets("px"), 0U);
  ASSERT_TRUE(test::succeeds(host_.prepare("mine", named("a", "px"))));
  EXPECT_EQ(host_.controller.resets("px"), 1U);
}

TEST_F(WallsTest, AReservationIsInTheAllocationOfItsTenant) {
  ASSERT_TRUE(test::succeeds(reserve_for("a")));
  ASSERT_EQ(host_.partitions().size(), 1U);
  EXPECT_EQ(host_.controller.pool().partitions.begin()->second.allocation, "x");
  request::Request night = named("b", "night");
  night.is_reservation = true;
  EXPECT_TRUE(test::fails(host_.prepare("web", night), Code::kDenied, "is of another tenant"));
  night.tenant = "a";
  EXPECT_TRUE(test::succeeds(host_.prepare("web", night)));
}

// What tenant a gives back serves no other tenant.
TEST_F(WallsTest, ARequestThatWaitsKeepsOnlyTenantsOfItsAllocationWaiting) {
  request::Request waits = of("a", 4);
  waits.wait = milliseconds(20'000);
  bool is_full = true;
  host_.before_create = [&] {
    if (is_full) host_.controller.fail_next(Error(Code::kBusy, "x: no free block"));
  };
  bool is_nested = false;
  host_.env.still_wanted = [&]() -> Status {
    if (std::exchange(is_nested, true)) return {};
    EXPECT_EQ(host_.ledger.queue().list().take().size(), 1U);
    EXPECT_TRUE(test::fails(host_.prepare("same", of("a", 1)), Code::kBusy, "others wait for"));
    is_full = false;
    EXPECT_TRUE(test::succeeds(host_.prepare("other", of("b", 4))));
    EXPECT_TRUE(test::succeeds(host_.prepare("open", of("c", 4))));
    return Error(Code::kTimeout, "nobody wants it any more");
  };
  EXPECT_TRUE(test::fails(host_.prepare("web", waits), Code::kTimeout, "nobody wants it"));
  EXPECT_TRUE(is_nested);
}

}  // namespace
}  // namespace hook::lifecycle::start
