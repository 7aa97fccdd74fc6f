// SPDX-License-Identifier: Apache-2.0
// Taints by an operator, in a pool of slices. tests/e2e/health.bats runs health commands.
#include "hook/lifecycle/health.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include "base/text.h"
#include "tests/support/hook_host.h"
#include "tests/support/local_hosts.h"

namespace hook::lifecycle {
namespace {

using base::Code;
using base::str;
using testing::ElementsAre;
using testing::IsEmpty;

class PoolHealthTest : public testing::Test {
 protected:
  void SetUp() override {
    host_.config.pools[0].provider = config::Provider::kIpuof;
    host_.config.pools[0].file = slices_.file;
    host_.env.controller = [this](const config::PoolConfig&) { return slices_.controller(); };
  }
  // The newest event of the container's lease.
  std::string last_event_of(const std::string& container) {
    const ledger::Lease lease = host_.lease_of(container);
    return host_.ledger.events().of_lease(lease.id).take().back().text;
  }

  test::IpuofHost slices_;
  test::HookHost host_;
};

TEST_F(PoolHealthTest, AnOperatorsTaintIsToldToWhoeverHasTheIpuAndToNobodyElse) {
  ASSERT_TRUE(test::succeeds(host_.prepare("first", 4)));
  ASSERT_TRUE(test::succeeds(host_.prepare("second", 4)));
  const std::string before = last_event_of("second");
  ASSERT_TRUE(test::succeeds(taint_ipu(host_.env, host_.config.pools[0], "10.5.1.1:2", "fan")));
  EXPECT_EQ(last_event_of("first"),
            "its IPU 10.5.1.1:2 is tainted: fan; the container goes on, but may fail");
  EXPECT_EQ(last_event_of("second"), before);
  EXPECT_EQ(host_.ledger.health().all().take().size(), 1U);
}

TEST_F(PoolHealthTest, OnlyAnIpuOfThePoolIsTainted) {
  EXPECT_TRUE(test::fails(taint_ipu(host_.env, host_.config.pools[0], "10.5.9.9:0", "fan"),
                          Code::kInvalid,
                          "has no IPU '10.5.9.9:0'; an IPU is named as in its"
                          " IPUoF file, ip:device_id, such as 10.5.1.1:0"));
  host_.config.pools[0].provider = config::Provider::kVipu;
  EXPECT_TRUE(test::fails(taint_ipu(host_.env, host_.config.pools[0], "10.5.1.1:0", "fan"),
                          Code::kUnsupported, "its V-IPU controller places the partitions"));
}

TEST_F(PoolHealthTest, ACheckThatCannotRunRecordsNothing) {
  config::PoolConfig& pool = host_.config.pools[0];
  const auto check = [&] { return check_health(host_.env, pool, test::HookHost::soon()); };
  EXPECT_TRUE(test::fails(check(), Code::kInvalid, "has no health_command"));
  if (::getuid() != 0) return;
  pool.health_command = "/nonexistent/health";
  EXPECT_TRUE(test::fails(check(), Code::kNotFound, "/nonexistent/health"));
  pool.health_command = "/bin/false";
  EXPECT_TRUE(test::fails(check(), Code::kInternal, "failed with exit status 1"));
  pool.health_command = "/bin/true";
  EXPECT_TRUE(test::fails(check(), Code::kInvalid, "health_command '/bin/true'"));
  EXPECT_TRUE(host_.ledger.health().all().take().empty());
}

// With a V-IPU controller.
TEST(PartitionHealthTest, AnErrorIsToldOnceToTheOwnerWithItsReasonsAndThatItIsOver) {
  test::HookHost host;
  const auto check = [&] {
    std::vector<std::string> texts;
    for (const Told& told :
         check_partitions(host.env, host.config.pools[0], test::HookHost::soon()).take()) {
      texts.push_back(str(told.lease.container, " ", told.text));
    }
    return texts;
  };
  EXPECT_THAT(check(), IsEmpty());
  const ledger::Lease first = host.start("first", 4);
  host.start("second", 4);
  EXPECT_THAT(check(), IsEmpty());
  host.controller.tear(first.partition, "link 3 is down");
  EXPECT_THAT(check(), ElementsAre("first its partition is in state ERROR: link 3 is down; the"
                                   " container goes on, but may fail"));
  EXPECT_THAT(check(), IsEmpty());
  host.controller.tear(first.partition, "link 4 is down");
  EXPECT_EQ(check().size(), 1U);
  ASSERT_TRUE(
      host.controller.reset(first.partition, vipu::Relocate::kNo, test::HookHost::soon()).ok());
  EXPECT_THAT(check(), ElementsAre("first its partition is ACTIVE again"));
  EXPECT_THAT(check(), IsEmpty());
  EXPECT_EQ(host.stored(first).generation, host.lease_of("first").generation);
  EXPECT_EQ(host.stored(first).state, ledger::LeaseState::kAllocated);
}

TEST(PartitionHealthTest, AControllerWithoutLiveLeasesIsNotAsked) {
  test::HookHost host;
  host.controller.set_unreachable(true);
  EXPECT_TRUE(
      test::succeeds(check_partitions(host.env, host.config.pools[0], test::HookHost::soon())));
}

}  // namespace
}  // namespace hook::lifecycle
