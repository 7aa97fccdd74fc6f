// SPDX-License-Identifier: Apache-2.0
// Tenants that wait for more than their share: whom they keep waiting.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <utility>

#include "base/names.h"
#include "hook/lifecycle/partitions/partitions.h"
#include "hook/lifecycle/start/create.h"
#include "hook/lifecycle/start/reserve.h"
#include "tests/support/hook_host.h"

namespace hook::lifecycle::start {
namespace {

using namespace base::names;
using std::chrono::milliseconds;

class SharesStartTest : public testing::Test {
 protected:
  SharesStartTest() { host_.config.policy.tenants = {{"a", 4, 4}, {"b", 4, 8}}; }

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
  // Calls THEN once while the next request waits, which then gives up.
  void while_it_waits(const std::function<void()>& then) {
    host_.env.still_wanted = [this, then]() -> Status {
      if (std::exchange(is_nested_, true)) return {};
      queue_ = host_.ledger.queue().list().take();
      then();
      return Error(Code::kTimeout, "nobody wants it any more");
    };
  }

  test::HookHost host_{64};
  std::vector<ledger::Waiter> queue_;  // when the request waited
  bool is_nested_ = false;             // another request asks meanwhile
};

TEST_F(SharesStartTest, KeepNobodyFromANamedPartitionAtTheirLimit) {
  partitions::NewPartition made{host_.config.pools[0], {"p0", 4}};
  ASSERT_TRUE(
      test::succeeds(partitions::create_partition(host_.env, made, test::HookHost::soon())));
  ASSERT_TRUE(test::succeeds(host_.prepare("a1", of("a", 4))));
  while_it_waits([&] { EXPECT_TRUE(test::succeeds(host_.prepare("b1", named("b", "p0")))); });
  request::Request waits = named("a", "p0");
  waits.wait = milliseconds(20'000);
  EXPECT_TRUE(test::fails(host_.prepare("a2", waits), Code::kTimeout, "nobody wants it"));
  ASSERT_EQ(queue_.size(), 1U);
  EXPECT_EQ(queue_[0].ipus, 4U) << "of the record";
}

TEST_F(SharesStartTest, KeepNobodyFromGcdsOfWhichTheyWantAll) {
  partitions::NewPartition made{host_.config.pools[0], {"p0", 4}};
  made.request.gcds = 4;
  ASSERT_TRUE(
      test::succeeds(partitions::create_partition(host_.env, made, test::HookHost::soon())));
  ASSERT_TRUE(test::succeeds(host_.prepare("a1", of("a", 2))));
  request::Request all = named("a", "p0");
  all.all_gcds = true;
  all.wait = milliseconds(20'000);
  while_it_waits([&] {
    request::Request one = named("b", "p0");
    one.gcd = 1;
    EXPECT_TRUE(test::succeeds(host_.prepare("b1", one)));
  });
  EXPECT_TRUE(test::fails(host_.prepare("a2", all), Code::kTimeout, "nobody wants it"));
  ASSERT_EQ(queue_.size(), 1U);
  EXPECT_EQ(queue_[0].ipus, 4U) << "all GCDs";
}

TEST_F(SharesStartTest, KeepNobodyFromAPoolByTheNameOfAReservation) {
  config::PoolConfig other = host_.config.pools[0];
  other.name = "podB";
  host_.config.pools.push_back(other);
  ReservationRequest night{"night", 4, milliseconds(0), milliseconds(0), "alice"};
  night.tenant = "a";
  const auto reserve_in = [&](const config::PoolConfig& pool) {
    return reserve(host_.env, host_.config, pool, night);
  };
  ASSERT_TRUE(test::succeeds(reserve_in(host_.config.pools[0])));
  while_it_waits([&] {
    request::Request request = of("b", 4);
    request.pool = "podB";
    EXPECT_TRUE(test::succeeds(host_.prepare("b1", request)));
  });
  night.wait = milliseconds(20'000);
  EXPECT_TRUE(test::fails(reserve_in(other), Code::kTimeout, "nobody wants it"));
  ASSERT_EQ(queue_.size(), 1U);
  EXPECT_EQ(queue_[0].container, "reservation night");
}

}  // namespace
}  // namespace hook::lifecycle::start
