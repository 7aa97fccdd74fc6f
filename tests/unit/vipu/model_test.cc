// SPDX-License-Identifier: Apache-2.0
#include "vipu/simulator/model.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/support/outcome.h"

namespace vipu::simulator {
namespace {

using base::Code;

constexpr Time kDelay(50);
constexpr Time kStart(1000);

Model pod16() { return {parse_pod("pod16", "10.5.1.0/24").take(), kDelay}; }

Requirements named(const std::string& id, uint32_t size) {
  Requirements wanted;
  wanted.id = id;
  wanted.size = size;
  return wanted;
}

TEST(ModelTest, APartitionIsPendingUntilTheDelayHasPassed) {
  Model model = pod16();
  ASSERT_TRUE(test::succeeds(model.create(named("p0", 4), kStart)));
  const Time just_before = kStart + kDelay - Time(1);
  EXPECT_EQ(model.status("p0", just_before).value().ready, ReadyState::kPending);
  EXPECT_EQ(model.status("p0", just_before).value().operation, OperationState::kCreating);
  EXPECT_EQ(model.list(just_before)[0].ready, ReadyState::kPending);
  EXPECT_TRUE(test::fails(model.config("p0", just_before), Code::kBusy, "'p0' is not ACTIVE"));
  EXPECT_EQ(model.status("p0", kStart + kDelay).value().ready, ReadyState::kActive);
  EXPECT_EQ(model.status("p0", kStart + kDelay).value().operation, OperationState::kIdle);
  EXPECT_TRUE(test::succeeds(model.config("p0", kStart + kDelay)));
}

TEST(ModelTest, HoldsItsIpusWhilePending) {
  Model model = pod16();
  ASSERT_TRUE(test::succeeds(model.create(named("p0", 16), kStart)));
  EXPECT_TRUE(test::fails(model.create(named("p1", 1), kStart), Code::kBusy));
  EXPECT_EQ(model.holder_of(0), "p0");
}

TEST(ModelTest, SaysHowMuchIsFreeWhenThereIsNoBlock) {
  Model model = pod16();
  ASSERT_TRUE(test::succeeds(model.create(named("p0", 8), kStart)));
  ASSERT_TRUE(test::succeeds(model.create(named("p1", 1), kStart)));
  EXPECT_TRUE(test::fails(model.create(named("p2", 8), kStart), Code::kBusy,
                          "no free block of 8 IPUs (largest free: 4)"));
}

TEST(ModelTest, RefusesSizesAndNamesThatNoPartitionCanHave) {
  Model model = pod16();
  for (const uint32_t size : {0U, 3U, 12U, 32U, UINT32_MAX}) {
    EXPECT_TRUE(test::fails(model.create(named("p0", size), kStart), Code::kInvalid, "size"));
  }
  for (const std::string& id : {std::string(), std::string(37, 'x'), std::string("a b"),
                                std::string("a/b"), std::string("a\n"), std::string("\xC3\xA9")}) {
    EXPECT_TRUE(test::fails(model.create(named(id, 4), kStart), Code::kInvalid, "name")) << id;
  }
  EXPECT_TRUE(test::succeeds(model.create(named(std::string(36, 'x'), 4), kStart)));
}

TEST(ModelTest, RefusesASecondPartitionOfTheSameNameAndAnUnknownAllocation) {
  Model model = pod16();
  ASSERT_TRUE(test::succeeds(model.create(named("p0", 4), kStart)));
  EXPECT_TRUE(test::fails(model.create(named("p0", 4), kStart), Code::kExists, "'p0'"));
  Requirements elsewhere = named("p1", 4);
  elsewhere.allocation = "alloc-2";
  EXPECT_TRUE(test::fails(model.create(elsewhere, kStart), Code::kInvalid, "'alloc-2'"));
  elsewhere.allocation = kAllocation;
  EXPECT_TRUE(test::succeeds(model.create(elsewhere, kStart)));
}

TEST(ModelTest, RemovedIpusAreFreeAtOnce) {
  Model model = pod16();
  ASSERT_TRUE(test::succeeds(model.create(named("p0", 16), kStart)));
  ASSERT_TRUE(test::succeeds(model.remove("p0", Force::kNo, kStart)));
  EXPECT_TRUE(model.list(kStart).empty());
  EXPECT_EQ(model.holder_of(0), std::nullopt);
  EXPECT_TRUE(test::succeeds(model.create(named("p1", 16), kStart)));
}

TEST(ModelTest, WhatIsNotThereIsNotFound) {
  Model model = pod16();
  EXPECT_TRUE(test::fails(model.remove("p0", Force::kNo, kStart), Code::kNotFound, "'p0'"));
  EXPECT_TRUE(test::fails(model.reset("p0", kStart), Code::kNotFound));
  EXPECT_TRUE(test::fails(model.status("p0", kStart), Code::kNotFound));
  EXPECT_TRUE(test::fails(model.config("p0", kStart), Code::kNotFound));
}

TEST(ModelTest, ResetMakesItPendingForAsLongAsCreatingTook) {
  Model model = pod16();
  ASSERT_TRUE(test::succeeds(model.create(named("p0", 4), kStart)));
  const Time later = kStart + kDelay;
  ASSERT_TRUE(test::succeeds(model.reset("p0", later)));
  EXPECT_EQ(model.status("p0", later).value().ready, ReadyState::kPending);
  EXPECT_EQ(model.status("p0", later).value().operation, OperationState::kResetting);
  EXPECT_EQ(model.status("p0", later + kDelay).value().ready, ReadyState::kActive);
}

TEST(ModelTest, AFailedPartitionSaysWhyAndGoesOnlyByForceOrReset) {
  Model model(parse_pod("pod16", "10.5.1.0/24").take(), kDelay, "link 3 is down");
  const Time later = kStart + kDelay;
  for (const char* id : {"p0", "p1"}) {
    ASSERT_TRUE(test::succeeds(model.create(named(id, 4), kStart)));
    EXPECT_EQ(model.status(id, kStart).value().ready, ReadyState::kPending);
    EXPECT_EQ(model.status(id, later).value().ready, ReadyState::kError);
    EXPECT_EQ(model.status(id, later).value().operation, OperationState::kFailed);
    EXPECT_EQ(model.status(id, later).value().errors, std::vector<std::string>{"link 3 is down"});
    EXPECT_TRUE(test::fails(model.config(id, later), Code::kBusy));
    EXPECT_TRUE(test::fails(model.remove(id, Force::kNo, later), Code::kBusy, "force"));
  }
  EXPECT_TRUE(test::succeeds(model.remove("p0", Force::kYes, later)));
  EXPECT_TRUE(test::succeeds(model.reset("p1", later)));
  EXPECT_EQ(model.status("p1", later + kDelay).value().ready, ReadyState::kActive);
}

TEST(ModelTest, EveryIpuHasAnEndpointOfItsOwn) {
  Model model(parse_pod("pod64", "10.5.1.0/24").take(), Time(0));
  ASSERT_TRUE(test::succeeds(model.create(named("all", 64), kStart)));
  const std::vector<IpuofConfig> gcds = model.config("all", kStart).take();
  ASSERT_EQ(gcds.size(), 1U);
  ASSERT_EQ(gcds[0].devices.size(), 64U);
  const IpuofDevice& last = gcds[0].devices.back();
  EXPECT_EQ(last.ip, "10.5.1.16");
  EXPECT_EQ(last.device_id, 3U);
  EXPECT_EQ(last.server_port, 50055U);
  EXPECT_EQ(last.rdma_port, 50155U);
  EXPECT_EQ(last.routing_id, 63U);
  std::set<std::pair<std::string, uint32_t>> endpoints;
  for (const IpuofDevice& device : gcds[0].devices) {
    endpoints.insert({device.ip, device.server_port});
    endpoints.insert({device.ip, device.rdma_port});
  }
  EXPECT_EQ(endpoints.size(), 128U);
}

TEST(ModelTest, GcdsShareTheDevicesEvenly) {
  Model model = pod16();
  Requirements wanted = named("p0", 8);
  wanted.gcds = 4;
  wanted.reconfigurable = true;
  ASSERT_TRUE(test::succeeds(model.create(wanted, kStart)));
  const std::vector<IpuofConfig> gcds = model.config("p0", kStart + kDelay).take();
  ASSERT_EQ(gcds.size(), 4U);
  for (uint32_t gcd = 0; gcd < 4; ++gcd) {
    ASSERT_EQ(gcds[gcd].devices.size(), 2U);
    EXPECT_EQ(gcds[gcd].devices[0].ipu_id, 2 * gcd);
    EXPECT_EQ(gcds[gcd].attributes.at("GCD Id"), std::to_string(gcd));
    EXPECT_EQ(gcds[gcd].attributes.at("Fabric Reconfigurable"), "true");
  }
  EXPECT_EQ(model.list(kStart)[0].replicas, 4U);
  wanted = named("p1", 2);
  for (const uint32_t gcds_wanted : {3U, 4U}) {
    wanted.gcds = gcds_wanted;
    EXPECT_TRUE(test::fails(model.create(wanted, kStart), Code::kInvalid, "GCDs"));
  }
}

TEST(ModelStateTest, PartitionsComeBackAndAreActive) {
  Model before = pod16();
  Requirements wanted = named("p0", 4);
  wanted.gcds = 2;
  wanted.reconfigurable = true;
  ASSERT_TRUE(test::succeeds(before.create(named("gap", 4), kStart)));
  ASSERT_TRUE(test::succeeds(before.create(wanted, kStart)));
  ASSERT_TRUE(test::succeeds(before.remove("gap", Force::kNo, kStart)));
  Model after = pod16();
  ASSERT_TRUE(test::succeeds(after.load_state(before.to_state())));
  EXPECT_EQ(after.list(Time(0)), before.list(kStart + kDelay));
  EXPECT_EQ(after.list(Time(0))[0].ready, ReadyState::kActive);
  EXPECT_EQ(after.to_state(), before.to_state());
}

TEST(ModelStateTest, RefusesAFileThatCannotBeRight) {
  const auto with = [](const std::string& partitions) {
    return R"({"pod":"pod16","partitions":[)" + partitions + "]}";
  };
  const auto entry = [](const std::string& id, int first, int size) {
    return R"({"id":")" + id + R"(","first":)" + std::to_string(first) + R"(,"size":)" +
           std::to_string(size) + R"(,"gcds":1,"replicas":1,"reconfigurable":false})";
  };
  ASSERT_TRUE(test::succeeds(pod16().load_state(with(entry("a", 4, 4)))));
  for (const std::string& bad :
       {std::string(), std::string("{"), std::string("[]"), std::string("{}"),
        std::string(R"({"pod":"pod64","partitions":[]})"), with("7"), with(entry("a", 2, 4)),
        with(entry("a", 0, 3)), with(entry("a", 16, 1)), with(entry("a", -4, 4)),
        with(entry("a b", 0, 4)), with(entry("a", 0, 4) + "," + entry("b", 0, 8)),
        with(entry("a", 0, 4) + "," + entry("a", 4, 4))}) {
    EXPECT_TRUE(test::fails(pod16().load_state(bad), Code::kInvalid)) << bad;
  }
}

TEST(PodTest, RefusesUnknownPodsAndNetworksThatAreTooSmall) {
  EXPECT_TRUE(test::fails(parse_pod("pod32", "10.5.1.0/24"), Code::kInvalid, "'pod32'"));
  for (const char* bad : {"", "10.5.1.0", "10.5.1.0/", "10.5.1.1/24", "10.5.1/24", "10.5.1.0/33",
                          "10.5.1.0/28", "::/64", "10.5.1.0/24 "}) {
    EXPECT_TRUE(test::fails(parse_pod("pod64", bad), Code::kInvalid, "network")) << bad;
  }
  EXPECT_TRUE(test::succeeds(parse_pod("pod64", "10.5.1.0/27")));
  EXPECT_TRUE(test::succeeds(parse_pod("pod16", "10.5.1.0/29")));
}

}  // namespace
}  // namespace vipu::simulator
