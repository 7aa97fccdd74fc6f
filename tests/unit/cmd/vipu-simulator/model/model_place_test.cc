// SPDX-License-Identifier: Apache-2.0
// Where the simulator puts partitions: allocations, segments, named IPUs, and IPUs that fail.
#include <gtest/gtest.h>

#include "tests/support/outcome.h"
#include "tests/unit/cmd/vipu-simulator/model/model_support.h"

namespace vipu::simulator {
namespace {

using base::Code;
using test::create;
using test::ipus_of;
using test::kAutoReset;
using test::kCreate;
using test::kReset;
using test::kStart;
using test::make_model;
using test::named;

PartitionRequest in_allocation(const std::string& id, uint32_t size, const std::string& name) {
  PartitionRequest wanted = named(id, size);
  wanted.allocation = name;
  return wanted;
}

PartitionRequest of_ipus(const std::string& id, const std::vector<IpuPlace>& places) {
  PartitionRequest wanted = named(id, static_cast<uint32_t>(places.size()));
  wanted.cluster = "c-pod128";
  for (const IpuPlace& place : places) wanted.ipus.push_back({place});
  return wanted;
}

TEST(ModelPlaceTest, UnknownAllocationsAndClustersAreRefusedWithThoseThatExist) {
  Model model = make_model("pod16", {"a=ag1-ag2", "b=ag3,ag4"});
  EXPECT_TRUE(test::fails(create(model, in_allocation("p0", 4, "c")), Code::kInvalid,
                          "no allocation 'c': there is a, b"));
  PartitionRequest wanted = named("p0", 4);
  wanted.cluster = "elsewhere";
  EXPECT_TRUE(test::fails(create(model, wanted), Code::kInvalid,
                          "no cluster 'elsewhere': there is 'c-pod16'"));
}

TEST(ModelPlaceTest, APartitionStaysWithinItsAllocation) {
  Model model = make_model("pod16", {"a=ag1-ag2", "b=ag3,ag4"});
  ASSERT_TRUE(test::succeeds(create(model, in_allocation("p0", 4, "b"))));
  EXPECT_EQ(ipus_of(model, "p0").front(), 8U);
  ASSERT_TRUE(test::succeeds(create(model, in_allocation("p1", 4, "b"))));
  EXPECT_TRUE(test::fails(create(model, in_allocation("p2", 4, "b")), Code::kBusy, "b: no free"));
  EXPECT_TRUE(test::fails(create(model, in_allocation("p2", 16, "b")), Code::kInvalid, "'b'"));
  EXPECT_TRUE(test::fails(create(model, "p2", 16), Code::kInvalid, "any allocation"));
}

TEST(ModelPlaceTest, WithoutAnAllocationAnyWithRoomWillDo) {
  Model model = make_model("pod16", {"a=ag1-ag2", "b=ag3,ag4"});
  ASSERT_TRUE(test::succeeds(create(model, "p0", 8)));
  ASSERT_TRUE(test::succeeds(create(model, "p1", 8)));
  EXPECT_EQ(model.records().at("p0").wanted.allocation, "a");
  EXPECT_EQ(model.records().at("p1").wanted.allocation, "b");
  EXPECT_TRUE(test::fails(create(model, "p2", 8), Code::kBusy, "; b: no free block"));
}

TEST(ModelPlaceTest, AUserGetsOnlyOfTheUsersAllocations) {
  Model model = make_model("pod16", {"a=ag1-ag2", "b=ag3,ag4"});
  const Access access = Access::to({"b"});
  EXPECT_TRUE(test::fails(model.create(in_allocation("p0", 4, "a"), access), Code::kDenied,
                          "'a' is not yours"));
  ASSERT_TRUE(test::succeeds(model.create(named("p0", 4), access)));
  EXPECT_EQ(model.records().at("p0").wanted.allocation, "b");
}

TEST(ModelPlaceTest, SegmentsAreFromDomainsOfTheirOwn) {
  Model model = make_model("pod128");
  PartitionRequest wanted = named("p0", 8);
  wanted.segments = 2;
  ASSERT_TRUE(test::succeeds(create(model, wanted)));
  const Record& record = model.records().at("p0");
  EXPECT_EQ(record.wanted.gateway_routing, GatewayRouting::kRing);
  EXPECT_EQ(record.ipus[3].place.domain, 0U);
  EXPECT_EQ(record.ipus[4].place.domain, 1U);
  EXPECT_EQ(record.ipus[4].domain_routing_id, 1U);
  EXPECT_EQ(record.ipus[4].place.ipu, record.ipus[0].place.ipu);
  wanted.id = "p1";
  wanted.segments = 4;
  EXPECT_TRUE(test::fails(create(model, wanted), Code::kInvalid));
}

TEST(ModelPlaceTest, APod128AsAWholeHasTwoSegments) {
  Model model = make_model("pod128");
  ASSERT_TRUE(test::succeeds(create(model, "all", 128)));
  EXPECT_EQ(model.records().at("all").wanted.segments, 2U);
  EXPECT_EQ(model.records().at("all").wanted.link_routing, LinkRouting::kRingSwnc);
  EXPECT_TRUE(model.violations().empty());
}

TEST(ModelPlaceTest, NamedIpusAreGivenInTheOrderOfTheirRoutingIds) {
  Model model = make_model("pod128");
  PartitionRequest wanted = of_ipus("p0", {{0, 5}, {1, 9}});
  wanted.ipus[0] = {{0, 5}, 1, 1};
  wanted.ipus[1] = {{1, 9}, 0, 0};
  ASSERT_TRUE(test::succeeds(create(model, wanted)));
  EXPECT_EQ(ipus_of(model, "p0"), (std::vector<uint32_t>{73, 5}));
  EXPECT_EQ(model.records().at("p0").wanted.segments, 2U);
  ASSERT_TRUE(test::succeeds(create(model, of_ipus("p1", {{0, 7}, {0, 3}}))));
  EXPECT_EQ(ipus_of(model, "p1"), (std::vector<uint32_t>{7, 3}));
  EXPECT_TRUE(model.violations().empty());
}

TEST(ModelPlaceTest, NamedIpusMustBeThereFreeAndAsManyAsTheSize) {
  Model model = make_model("pod128");
  ASSERT_TRUE(test::succeeds(create(model, of_ipus("p0", {{0, 5}}))));
  ASSERT_TRUE(test::succeeds(model.taint(6, "burnt")));
  EXPECT_TRUE(test::fails(create(model, of_ipus("p1", {{0, 5}})), Code::kBusy, "held by 'p0'"));
  EXPECT_TRUE(test::fails(create(model, of_ipus("p1", {{0, 6}})), Code::kBusy, "'burnt'"));
  EXPECT_TRUE(test::fails(create(model, of_ipus("p1", {{0, 64}})), Code::kInvalid, "not in"));
  EXPECT_TRUE(test::fails(create(model, of_ipus("p1", {{2, 0}})), Code::kInvalid, "not in"));
  EXPECT_TRUE(test::fails(create(model, of_ipus("p1", {{0, 8}, {0, 8}})), Code::kInvalid, "twice"));
  PartitionRequest wanted = of_ipus("p1", {{0, 8}, {0, 9}});
  wanted.size = 4;
  EXPECT_TRUE(test::fails(create(model, wanted), Code::kInvalid, "number of IPUs"));
  wanted = of_ipus("p1", {{0, 8}, {0, 9}});
  wanted.cluster = "";
  EXPECT_TRUE(test::fails(create(model, wanted), Code::kInvalid, "cluster"));
  wanted = of_ipus("p1", {{0, 8}, {0, 9}});
  wanted.ipus[1].routing_id = 2;
  EXPECT_TRUE(test::fails(create(model, wanted), Code::kInvalid, "routing ids"));
  wanted = of_ipus("p1", {{0, 8}, {0, 9}});
  wanted.segments = 2;
  EXPECT_TRUE(test::fails(create(model, wanted), Code::kInvalid, "segments"));
}

TEST(ModelPlaceTest, NamedIpusMustBeOfOneAllocation) {
  Model model = make_model("pod128", {"a=ag1-ag2", "b=ag3-ag4"});
  EXPECT_TRUE(
      test::fails(create(model, of_ipus("p0", {{0, 0}, {0, 8}})), Code::kInvalid, "allocation"));
  ASSERT_TRUE(test::succeeds(create(model, of_ipus("p0", {{0, 8}, {0, 9}}))));
  EXPECT_EQ(model.records().at("p0").wanted.allocation, "b");
}

TEST(ModelPlaceTest, TaintedIpusAreGivenToNobody) {
  Model model = make_model("pod4");
  EXPECT_TRUE(test::fails(model.taint(4, "x"), Code::kInvalid, "no IPU 4"));
  ASSERT_TRUE(test::succeeds(model.taint(0, "x")));
  EXPECT_TRUE(test::fails(create(model, "p0", 4), Code::kBusy));
  ASSERT_TRUE(test::succeeds(create(model, "p0", 1)));
  EXPECT_EQ(ipus_of(model, "p0"), std::vector<uint32_t>{1});
  ASSERT_TRUE(test::succeeds(model.remove("p0", Force::kNo)));
  ASSERT_TRUE(test::succeeds(model.untaint(0)));
  EXPECT_TRUE(test::succeeds(create(model, "p0", 4)));
}

TEST(ModelPlaceTest, WithItsAgentAPartitionFailsAndStaysWhereItIs) {
  Model model = make_model("pod16");
  ASSERT_TRUE(test::succeeds(create(model, "p0", 4)));
  model.advance_to(kStart + kCreate);
  EXPECT_TRUE(test::fails(model.take_agent_down("ag5"), Code::kInvalid, "ag1 to ag4"));
  ASSERT_TRUE(test::succeeds(model.take_agent_down("ag1")));
  const Record& record = model.records().at("p0");
  EXPECT_EQ(record.ready, ReadyState::kError);
  EXPECT_EQ(record.errors, std::vector<std::string>{"agent ag1 is down"});
  model.advance_to(kStart + Time(1'000'000));
  EXPECT_EQ(record.ready, ReadyState::kError);
  EXPECT_EQ(record.auto_resets, 0U);
  EXPECT_EQ(ipus_of(model, "p0").front(), 0U);
}

TEST(ModelPlaceTest, AResetHelpsWhenTheAgentIsUpAgain) {
  Model model = make_model("pod4");
  ASSERT_TRUE(test::succeeds(create(model, "p0", 4)));
  ASSERT_TRUE(test::succeeds(model.take_agent_down("ag1")));
  model.advance_to(kStart + kCreate);
  EXPECT_EQ(model.records().at("p0").ready, ReadyState::kError);  // it was PENDING
  ASSERT_TRUE(test::succeeds(model.reset("p0", Relocate::kYes)));
  model.advance_to(kStart + kCreate + kReset);
  EXPECT_EQ(model.records().at("p0").ready, ReadyState::kError);  // there is no other place
  ASSERT_TRUE(test::succeeds(model.bring_agent_up("ag1")));
  ASSERT_TRUE(test::succeeds(model.reset("p0", Relocate::kNo)));
  model.advance_to(kStart + kCreate + 2 * kReset);
  EXPECT_EQ(model.records().at("p0").ready, ReadyState::kActive);
}

TEST(ModelPlaceTest, ARelocatablePartitionMovesAwayFromItsAgent) {
  Model model = make_model("pod16");
  PartitionRequest wanted = named("p0", 4);
  wanted.relocatable = true;
  ASSERT_TRUE(test::succeeds(create(model, wanted)));
  model.advance_to(kStart + kCreate);
  ASSERT_TRUE(test::succeeds(model.take_agent_down("ag1")));
  EXPECT_EQ(ipus_of(model, "p0").front(), 0U);
  model.advance_to(kStart + kCreate + kAutoReset + kReset);
  const Record& record = model.records().at("p0");
  EXPECT_EQ(record.ready, ReadyState::kActive);
  EXPECT_EQ(record.auto_resets, 1U);
  EXPECT_NE(ipus_of(model, "p0").front(), 0U);
  const std::vector<Event> events = model.take_events();
  ASSERT_EQ(events.size(), 3U);
  EXPECT_EQ(events[1], (Event{Event::Kind::kFree, "p0", {0, 1, 2, 3}}));
  EXPECT_EQ(events[2], (Event{Event::Kind::kHold, "p0", ipus_of(model, "p0")}));
  EXPECT_TRUE(model.violations().empty());
}

TEST(ModelPlaceTest, AResetThatMayRelocateMovesAwayFromTaintedIpus) {
  Model model = make_model("pod16");
  ASSERT_TRUE(test::succeeds(create(model, "p0", 4)));
  ASSERT_TRUE(test::succeeds(model.reset("p0", Relocate::kYes)));
  EXPECT_EQ(ipus_of(model, "p0").front(), 0U);  // nothing ails it
  ASSERT_TRUE(test::succeeds(model.taint(2, "x")));
  ASSERT_TRUE(test::succeeds(model.reset("p0", Relocate::kNo)));
  EXPECT_EQ(ipus_of(model, "p0").front(), 0U);
  ASSERT_TRUE(test::succeeds(model.reset("p0", Relocate::kYes)));
  EXPECT_EQ(ipus_of(model, "p0").front(), 4U);
}

TEST(ModelPlaceTest, APartitionMovesWithinItsAllocationOnly) {
  Model model = make_model("pod16", {"a=ag1", "b=ag2-ag4"});
  ASSERT_TRUE(test::succeeds(create(model, in_allocation("p0", 4, "a"))));
  ASSERT_TRUE(test::succeeds(model.take_agent_down("ag1")));
  ASSERT_TRUE(test::succeeds(model.reset("p0", Relocate::kYes)));
  EXPECT_EQ(ipus_of(model, "p0").front(), 0U);
}

}  // namespace
}  // namespace vipu::simulator
