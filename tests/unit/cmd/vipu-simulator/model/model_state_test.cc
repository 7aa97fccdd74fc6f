// SPDX-License-Identifier: Apache-2.0
// The state file of the simulator, and the text that describes its POD.
#include <gtest/gtest.h>

#include "tests/support/outcome.h"
#include "tests/unit/cmd/vipu-simulator/model/model_support.h"

namespace vipu::simulator {
namespace {

using base::Code;
using test::create;
using test::ipus_of;
using test::kStart;
using test::make_model;
using test::named;

Model reloaded(const std::string& state, const std::string& pod) {
  Model model = make_model(pod);
  EXPECT_TRUE(test::succeeds(model.load_state(state)));
  return model;
}

TEST(ModelStateTest, PartitionsComeBackAndAreActive) {
  Model before = make_model("pod128");
  PartitionRequest wanted = named("p0", 8);
  wanted.gcds = 2;
  wanted.segments = 2;
  wanted.reconfigurable = true;
  wanted.link_routing = LinkRouting::kSwnc;
  wanted.gateway_routing = GatewayRouting::kSwRing;
  wanted.disable_auto_reset = true;
  wanted.relocatable = true;
  ASSERT_TRUE(test::succeeds(create(before, "gap", 4)));
  ASSERT_TRUE(test::succeeds(create(before, wanted)));
  ASSERT_TRUE(test::succeeds(before.remove("gap", Force::kNo)));
  Model after = reloaded(before.to_state(), "pod128");
  EXPECT_EQ(after.to_state(), before.to_state());
  const Record& record = after.records().at("p0");
  EXPECT_EQ(record.ready, ReadyState::kActive);
  EXPECT_EQ(record.operation, OperationState::kIdle);
  EXPECT_EQ(record.wanted, before.records().at("p0").wanted);
  EXPECT_EQ(record.ipus, before.records().at("p0").ipus);
  EXPECT_EQ(after.take_events().size(), 1U);
}

TEST(ModelStateTest, NamedIpusComeBackWithTheirRoutingIds) {
  Model before = make_model("pod16");
  PartitionRequest wanted = named("p0", 2);
  wanted.cluster = "c-pod16";
  wanted.ipus = {{{0, 7}, 0, 1}, {{0, 2}, 0, 0}};
  ASSERT_TRUE(test::succeeds(create(before, wanted)));
  EXPECT_EQ(ipus_of(reloaded(before.to_state(), "pod16"), "p0"), (std::vector<uint32_t>{2, 7}));
}

TEST(ModelStateTest, WhatFailedOrIsStuckStaysSo) {
  Model before = make_model("pod16");
  PartitionRequest failed = named("failed", 4);
  failed.disable_auto_reset = true;
  ASSERT_TRUE(test::succeeds(create(before, failed)));
  ASSERT_TRUE(test::succeeds(before.set_error("failed", {"a", "b"})));
  ASSERT_TRUE(
      test::succeeds(before.create(named("stuck", 4), Access::to_all(), {{}, false, true})));
  Model after = reloaded(before.to_state(), "pod16");
  after.advance_to(kStart + Time(1'000'000));
  EXPECT_EQ(after.records().at("failed").ready, ReadyState::kError);
  EXPECT_EQ(after.records().at("failed").errors, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(after.records().at("stuck").ready, ReadyState::kPending);
}

TEST(ModelStateTest, CountersOfAutoResetsComeBack) {
  Model before = make_model("pod16");
  ASSERT_TRUE(test::succeeds(create(before, "p0", 4)));
  ASSERT_TRUE(test::succeeds(before.set_error("p0", {"x"})));
  before.advance_to(kStart + Time(1000));
  ASSERT_EQ(before.records().at("p0").auto_resets, 1U);
  const Model after = reloaded(before.to_state(), "pod16");
  EXPECT_EQ(after.records().at("p0").auto_resets, 1U);
  EXPECT_EQ(after.records().at("p0").last_auto_reset, kStart);  // whole seconds
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

TEST(ModelStateTest, RefusesAFileThatCannotBeRight) {
  Model model = make_model("pod16");
  ASSERT_TRUE(test::succeeds(create(model, "a", 4)));
  ASSERT_TRUE(test::succeeds(create(model, "b", 1)));
  const std::string good = model.to_state();
  ASSERT_TRUE(test::succeeds(make_model("pod16").load_state(good)));
  for (const std::string& bad :
       {std::string(), std::string("{"), std::string("[]"), std::string("{}"),
        std::string(R"({"pod":"pod64","partitions":[]})"),
        std::string(R"({"pod":"pod16","partitions":[7]})"),
        replaced(good, R"("id": "a")", R"("id": "a b")"),
        replaced(good, R"("id": "a")", R"("id": "b")"),
        replaced(good, R"("size": 4)", R"("size": 3)"),
        replaced(good, R"("size": 4)", R"("size": 8)"),
        replaced(good, R"("ipu": 0)", R"("ipu": 1)"), replaced(good, R"("ipu": 0)", R"("ipu": 16)"),
        replaced(good, R"("ipu": 4)", R"("ipu": 3)"), replaced(good, "alloc-1", "alloc-2"),
        replaced(good, R"("DNC")", R"("XNC")"),
        replaced(good, R"("segments": 1)", R"("segments": 2)")}) {
    EXPECT_TRUE(test::fails(make_model("pod16").load_state(bad), Code::kInvalid)) << bad;
  }
}

base::Result<Pod> pod_with(const std::string& name, const std::string& fabric,
                           std::vector<std::string> allocations = {}) {
  PodText text;
  text.name = name;
  text.fabric = fabric;
  text.allocations = std::move(allocations);
  return parse_pod(text);
}

TEST(PodTest, KnowsGraphcoresPods) {
  for (const uint32_t ipus : {4U, 16U, 64U, 128U, 256U}) {
    const base::Result<Pod> pod = pod_with("pod" + std::to_string(ipus), "10.5.1.0/24");
    ASSERT_TRUE(test::succeeds(pod));
    EXPECT_EQ(pod.value().ipus(), ipus);
    EXPECT_EQ(pod.value().topology().domains(), (ipus + 63) / 64);
  }
  for (const char* bad : {"pod32", "pod", "64", "pod064"}) {
    EXPECT_TRUE(test::fails(pod_with(bad, "10.5.1.0/24"), Code::kInvalid, bad));
  }
}

TEST(PodTest, RefusesNetworksThatAreTooSmall) {
  for (const char* bad : {"", "10.5.1.0", "10.5.1.0/", "10.5.1.1/24", "10.5.1/24", "10.5.1.0/33",
                          "10.5.1.0/28", "::/64", "10.5.1.0/24 "}) {
    EXPECT_TRUE(test::fails(pod_with("pod64", bad), Code::kInvalid, "network")) << bad;
  }
  EXPECT_TRUE(test::succeeds(pod_with("pod64", "10.5.1.0/27")));
  EXPECT_TRUE(test::succeeds(pod_with("pod16", "10.5.1.0/29")));
  EXPECT_TRUE(test::fails(pod_with("pod256", "10.5.1.0/26"), Code::kInvalid));
  EXPECT_TRUE(test::succeeds(pod_with("pod256", "10.5.1.0/25")));
}

TEST(PodTest, AllocationsAreListsOfAgents) {
  const base::Result<Pod> pod = pod_with("pod64", "10.5.1.0/24", {"a=ag1-ag3,ag7", "b=ag16"});
  ASSERT_TRUE(test::succeeds(pod));
  const std::vector<Allocation>& allocations = pod.value().allocations;
  ASSERT_EQ(allocations.size(), 2U);
  EXPECT_TRUE(allocations[0].has_ipu(11));
  EXPECT_FALSE(allocations[0].has_ipu(12));
  EXPECT_TRUE(allocations[0].has_ipu(24));
  EXPECT_TRUE(allocations[1].has_ipu(63));
  for (const char* bad : {"a", "=ag1", "a=", "a=ag0", "a=ag17", "a=ag3-ag1", "a=1", "a=ag1,",
                          "a=ag1-ag2-ag3", "a=ag01", "a b=ag1"}) {
    EXPECT_TRUE(test::fails(pod_with("pod64", "10.5.1.0/24", {bad}), Code::kInvalid)) << bad;
  }
  EXPECT_TRUE(
      test::fails(pod_with("pod64", "10.5.1.0/24", {"a=ag1", "a=ag2"}), Code::kInvalid, "twice"));
}

TEST(PodTest, AttributesSayThatTheyAreSimulated) {
  const IpuAttributes attributes = attributes_of(6, "");
  EXPECT_EQ(attributes.agent, "ag2");
  EXPECT_EQ(attributes.ipu, 1U);
  EXPECT_EQ(attributes.attributes.at("board type"), "M2000");
  EXPECT_EQ(attributes.attributes.at("clock"), "1330MHz");
  EXPECT_EQ(attributes.attributes.at("board serial number"), "simulated-2-0");
  EXPECT_EQ(attributes.attributes.at("ipu error state"), "no errors");
  EXPECT_EQ(attributes_of(6, "agent ag2 is down").attributes.at("ipu error state"),
            "agent ag2 is down");
}

}  // namespace
}  // namespace vipu::simulator
