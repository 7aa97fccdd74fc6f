// SPDX-License-Identifier: Apache-2.0
// The life of a simulated partition.
#include "cmd/vipu-simulator/model/model.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/support/outcome.h"
#include "tests/unit/cmd/vipu-simulator/model/model_support.h"

namespace vipu::simulator {
namespace {

using base::Code;
using test::create;
using test::kAutoReset;
using test::kCreate;
using test::kReset;
using test::kStart;
using test::make_model;
using test::named;

ReadyState ready_of(const Model& model, const std::string& id) {
  return model.records().at(id).ready;
}

OperationState operation_of(const Model& model, const std::string& id) {
  return model.records().at(id).operation;
}

TEST(ModelTest, APartitionIsPendingUntilTheDelayHasPassed) {
  Model model = make_model("pod16");
  ASSERT_TRUE(test::succeeds(create(model, "p0", 4)));
  model.advance_to(kStart + kCreate - Time(1));
  EXPECT_EQ(ready_of(model, "p0"), ReadyState::kPending);
  EXPECT_EQ(operation_of(model, "p0"), OperationState::kCreating);
  EXPECT_TRUE(test::fails(model.config("p0"), Code::kBusy, "'p0' is PENDING and not ACTIVE"));
  model.advance_to(kStart + kCreate);
  EXPECT_EQ(ready_of(model, "p0"), ReadyState::kActive);
  EXPECT_EQ(operation_of(model, "p0"), OperationState::kIdle);
  EXPECT_TRUE(test::succeeds(model.config("p0")));
}

TEST(ModelTest, HoldsItsIpusWhilePending) {
  Model model = make_model("pod16");
  ASSERT_TRUE(test::succeeds(create(model, "p0", 16)));
  EXPECT_TRUE(test::fails(create(model, "p1", 1), Code::kBusy));
  EXPECT_EQ(model.holder_of(0), "p0");
}

TEST(ModelTest, SaysHowMuchIsFreeWhenThereIsNoBlock) {
  Model model = make_model("pod16");
  ASSERT_TRUE(test::succeeds(create(model, "p0", 8)));
  ASSERT_TRUE(test::succeeds(create(model, "p1", 1)));
  EXPECT_TRUE(test::fails(create(model, "p2", 8), Code::kBusy, "no free block of 8 IPUs"));
  EXPECT_TRUE(test::fails(create(model, "p2", 8), Code::kBusy, "largest free: 4"));
  EXPECT_TRUE(test::fails(create(model, "p2", 8), Code::kBusy, "without p1"));
}

TEST(ModelTest, RefusesSizesAndNamesThatNoPartitionCanHave) {
  Model model = make_model("pod16");
  for (const uint32_t size : {0U, 3U, 12U, 32U, UINT32_MAX}) {
    EXPECT_TRUE(test::fails(create(model, "p0", size), Code::kInvalid, "size"));
  }
  for (const std::string& id : {std::string(), std::string(37, 'x'), std::string("a b"),
                                std::string("a/b"), std::string("a\n"), std::string("\xC3\xA9")}) {
    EXPECT_TRUE(test::fails(create(model, id, 4), Code::kInvalid, "name")) << id;
  }
  EXPECT_TRUE(test::succeeds(create(model, std::string(36, 'x'), 4)));
}

TEST(ModelTest, RefusesASecondPartitionOfTheSameName) {
  Model model = make_model("pod16");
  ASSERT_TRUE(test::succeeds(create(model, "p0", 4)));
  EXPECT_TRUE(test::fails(create(model, "p0", 4), Code::kExists, "'p0'"));
}

TEST(ModelTest, GcdsAndReplicasMustShareTheIpus) {
  Model model = make_model("pod16");
  PartitionRequest wanted = named("p0", 4);
  for (const uint32_t gcds : {3U, 8U}) {
    wanted.gcds = gcds;
    EXPECT_TRUE(test::fails(create(model, wanted), Code::kInvalid, "GCDs"));
  }
  wanted.gcds = 2;
  wanted.replicas = 3;
  EXPECT_TRUE(test::fails(create(model, wanted), Code::kInvalid, "3 replicas"));
  wanted.replicas = 4;
  ASSERT_TRUE(test::succeeds(create(model, wanted)));
  EXPECT_EQ(model.records().at("p0").wanted.replicas, 4U);
}

TEST(ModelTest, WhatIsLeftOpenIsFilledIn) {
  Model model = make_model("pod64");
  PartitionRequest wanted = named("small", 4);
  wanted.gcds = 2;
  ASSERT_TRUE(test::succeeds(create(model, wanted)));
  const PartitionRequest small = model.records().at("small").wanted;
  EXPECT_EQ(small.allocation, "alloc-1");
  EXPECT_EQ(small.cluster, "c-pod64");
  EXPECT_EQ(small.segments, 1U);
  EXPECT_EQ(small.replicas, 2U);
  EXPECT_EQ(small.link_routing, LinkRouting::kDnc);
  EXPECT_EQ(small.gateway_routing, GatewayRouting::kUndefined);
  EXPECT_EQ(small.sync, SyncType::kGs2Default);
  ASSERT_TRUE(test::succeeds(model.remove("small", Force::kNo)));
  ASSERT_TRUE(test::succeeds(create(model, "all", 64)));
  EXPECT_EQ(model.records().at("all").wanted.link_routing, LinkRouting::kRingSwnc);
}

TEST(ModelTest, WhatIsGivenIsKept) {
  Model model = make_model("pod64");
  PartitionRequest wanted = named("p0", 4);
  wanted.link_routing = LinkRouting::kBtnc;
  wanted.gateway_routing = GatewayRouting::kSwRing;
  wanted.sync = SyncType::kPodNativeReplicatedPipeline;
  ASSERT_TRUE(test::succeeds(create(model, wanted)));
  const PartitionRequest kept = model.records().at("p0").wanted;
  EXPECT_EQ(kept.link_routing, LinkRouting::kBtnc);
  EXPECT_EQ(kept.gateway_routing, GatewayRouting::kSwRing);
  EXPECT_EQ(kept.sync, SyncType::kPodNativeReplicatedPipeline);
}

TEST(ModelTest, AReconfigurablePartitionHasACompatibleSyncType) {
  Model model = make_model("pod16");
  PartitionRequest wanted = named("p0", 4);
  wanted.reconfigurable = true;
  wanted.sync = SyncType::kPodNativeDefault;
  EXPECT_TRUE(test::fails(create(model, wanted), Code::kInvalid, "c2-compatible"));
  wanted.sync = SyncType::kGs2Default;
  EXPECT_TRUE(test::succeeds(create(model, wanted)));
  wanted = named("p1", 4);
  wanted.sync = SyncType::kGs2IndependentRails;
  EXPECT_TRUE(test::fails(create(model, wanted), Code::kInvalid, "ST_GS2_INDEPENDENT_RAILS"));
}

TEST(ModelTest, RemovedIpusAreFreeAtOnce) {
  Model model = make_model("pod16");
  ASSERT_TRUE(test::succeeds(create(model, "p0", 16)));
  ASSERT_TRUE(test::succeeds(model.remove("p0", Force::kNo)));
  EXPECT_TRUE(model.records().empty());
  EXPECT_EQ(model.holder_of(0), "");
  EXPECT_TRUE(test::succeeds(create(model, "p1", 16)));
}

TEST(ModelTest, EventsTellWhoHeldWhichIpus) {
  Model model = make_model("pod4");
  ASSERT_TRUE(test::succeeds(create(model, "p0", 2)));
  ASSERT_TRUE(test::succeeds(model.remove("p0", Force::kNo)));
  const std::vector<Event> expected = {{Event::Kind::kHold, "p0", {0, 1}},
                                       {Event::Kind::kFree, "p0", {0, 1}}};
  EXPECT_EQ(model.take_events(), expected);
  EXPECT_TRUE(model.take_events().empty());
}

TEST(ModelTest, WhatIsNotThereIsNotFound) {
  Model model = make_model("pod16");
  EXPECT_TRUE(test::fails(model.remove("p0", Force::kNo), Code::kNotFound, "'p0'"));
  EXPECT_TRUE(test::fails(model.reset("p0", Relocate::kNo), Code::kNotFound));
  EXPECT_TRUE(test::fails(model.set_error("p0", {"x"}), Code::kNotFound));
  EXPECT_TRUE(test::fails(model.config("p0"), Code::kNotFound));
}

TEST(ModelTest, ResetMakesItPendingForADelayOfItsOwn) {
  Model model = make_model("pod16");
  ASSERT_TRUE(test::succeeds(create(model, "p0", 4)));
  model.advance_to(kStart + kCreate);
  ASSERT_TRUE(test::succeeds(model.reset("p0", Relocate::kNo)));
  EXPECT_EQ(ready_of(model, "p0"), ReadyState::kPending);
  EXPECT_EQ(operation_of(model, "p0"), OperationState::kResetting);
  model.advance_to(kStart + kCreate + kReset);
  EXPECT_EQ(ready_of(model, "p0"), ReadyState::kActive);
}

TEST(ModelTest, AFailedPartitionSaysWhyAndGoesOnlyByForceOrReset) {
  Model model = make_model("pod16", {}, "link 3 is down");
  for (const char* id : {"p0", "p1"}) ASSERT_TRUE(test::succeeds(create(model, id, 4)));
  model.advance_to(kStart + kCreate);
  EXPECT_EQ(ready_of(model, "p0"), ReadyState::kError);
  EXPECT_EQ(operation_of(model, "p0"), OperationState::kFailed);
  EXPECT_EQ(model.records().at("p0").errors, std::vector<std::string>{"link 3 is down"});
  EXPECT_TRUE(test::fails(model.config("p0"), Code::kBusy));
  EXPECT_TRUE(test::fails(model.remove("p0", Force::kNo), Code::kBusy, "force"));
  EXPECT_TRUE(test::succeeds(model.remove("p0", Force::kYes)));
  EXPECT_TRUE(test::succeeds(model.reset("p1", Relocate::kNo)));
  model.advance_to(kStart + kCreate + kReset);
  EXPECT_EQ(ready_of(model, "p1"), ReadyState::kActive);
}

TEST(ModelTest, AnErrorIsResetAfterADelayAndCounted) {
  Model model = make_model("pod16");
  ASSERT_TRUE(test::succeeds(create(model, "p0", 4)));
  ASSERT_TRUE(test::succeeds(model.set_error("p0", {"parity"})));
  model.advance_to(kStart + kAutoReset - Time(1));
  EXPECT_EQ(ready_of(model, "p0"), ReadyState::kError);
  model.advance_to(kStart + kAutoReset);
  EXPECT_EQ(ready_of(model, "p0"), ReadyState::kPending);
  EXPECT_EQ(operation_of(model, "p0"), OperationState::kResetting);
  EXPECT_EQ(model.records().at("p0").auto_resets, 1U);
  EXPECT_EQ(model.records().at("p0").last_auto_reset, kStart + kAutoReset);
  model.advance_to(kStart + kAutoReset + kReset);
  EXPECT_EQ(ready_of(model, "p0"), ReadyState::kActive);
}

TEST(ModelTest, AnErrorThatStaysIsResetSoOftenAndNoMore) {
  Model model = make_model("pod16", {}, "link 3 is down");
  ASSERT_TRUE(test::succeeds(create(model, "p0", 4)));
  model.advance_to(kStart + Time(1'000'000));
  EXPECT_EQ(ready_of(model, "p0"), ReadyState::kError);
  EXPECT_EQ(model.records().at("p0").auto_resets, 3U);
  EXPECT_EQ(model.records().at("p0").last_auto_reset,
            kStart + kCreate + 3 * kAutoReset + 2 * kReset);
  ASSERT_TRUE(test::succeeds(model.reset("p0", Relocate::kNo)));
  EXPECT_EQ(model.records().at("p0").auto_resets, 0U);
}

TEST(ModelTest, AutoResetCanBeSwitchedOff) {
  Model model = make_model("pod16");
  PartitionRequest wanted = named("p0", 4);
  wanted.disable_auto_reset = true;
  ASSERT_TRUE(test::succeeds(create(model, wanted)));
  ASSERT_TRUE(test::succeeds(model.set_error("p0", {"parity"})));
  model.advance_to(kStart + Time(1'000'000));
  EXPECT_EQ(ready_of(model, "p0"), ReadyState::kError);
  EXPECT_EQ(model.records().at("p0").auto_resets, 0U);
}

TEST(ModelTest, AStuckPartitionStaysPendingUntilItIsReset) {
  Model model = make_model("pod16");
  const Outcome stuck{{}, false, true};
  ASSERT_TRUE(test::succeeds(model.create(named("p0", 4), Access::to_all(), stuck)));
  model.advance_to(kStart + Time(1'000'000));
  EXPECT_EQ(ready_of(model, "p0"), ReadyState::kPending);
  ASSERT_TRUE(test::succeeds(model.reset("p0", Relocate::kNo)));
  model.advance_to(kStart + Time(2'000'000));
  EXPECT_EQ(ready_of(model, "p0"), ReadyState::kActive);
}

TEST(ModelTest, TheIpusOfAMachineStandInTheOrderOfGcInfo) {
  Model model = make_model("pod16");
  ASSERT_TRUE(test::succeeds(create(model, "p0", 8)));
  model.advance_to(kStart + kCreate);
  const std::vector<IpuofConfig> gcds = model.config("p0").take();
  std::vector<uint32_t> ids;
  for (const IpuofDevice& device : gcds.at(0).devices) ids.push_back(device.device_id);
  EXPECT_EQ(ids, (std::vector<uint32_t>{3, 2, 1, 0, 3, 2, 1, 0}));
}

TEST(ModelTest, EveryIpuHasAnEndpointOfItsOwn) {
  Model model = make_model("pod256");
  ASSERT_TRUE(test::succeeds(create(model, "all", 256)));
  model.advance_to(kStart + kCreate);
  const std::vector<IpuofConfig> gcds = model.config("all").take();
  ASSERT_EQ(gcds.size(), 1U);
  ASSERT_EQ(gcds[0].devices.size(), 256U);
  const IpuofDevice& last = gcds[0].devices.back();
  EXPECT_EQ(last.ip, "10.5.1.64");
  EXPECT_EQ(last.device_id, 0U);
  EXPECT_EQ(last.server_port, 50052U);
  EXPECT_EQ(last.rdma_port, 50152U);
  EXPECT_EQ(last.routing_id, 255U);
  EXPECT_EQ(last.ipulink_segment_id, 3U);
  std::set<std::pair<std::string, uint32_t>> endpoints;
  for (const IpuofDevice& device : gcds[0].devices) {
    endpoints.insert({device.ip, device.server_port});
    endpoints.insert({device.ip, device.rdma_port});
  }
  EXPECT_EQ(endpoints.size(), 512U);
}

TEST(ModelTest, GcdsShareTheDevicesEvenly) {
  Model model = make_model("pod16");
  PartitionRequest wanted = named("p0", 8);
  wanted.gcds = 4;
  wanted.reconfigurable = true;
  ASSERT_TRUE(test::succeeds(create(model, wanted)));
  model.advance_to(kStart + kCreate);
  const std::vector<IpuofConfig> gcds = model.config("p0").take();
  ASSERT_EQ(gcds.size(), 4U);
  for (uint32_t gcd = 0; gcd < 4; ++gcd) {
    ASSERT_EQ(gcds[gcd].devices.size(), 2U);
    EXPECT_EQ(gcds[gcd].devices[0].ipu_id, 2 * gcd);
    EXPECT_EQ(gcds[gcd].attributes.at("GCD Id"), std::to_string(gcd));
    EXPECT_EQ(gcds[gcd].attributes.at("Fabric Reconfigurable"), "true");
  }
}

}  // namespace
}  // namespace vipu::simulator
