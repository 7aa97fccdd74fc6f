// SPDX-License-Identifier: Apache-2.0
#include "vipu/plan/plan.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/outcome.h"

namespace vipu::plan {
namespace {

constexpr uint64_t kMillion = 1'000'000;

Plan planned(const Question& question) {
  const base::Result<Plan> plan = make_plan(question);
  EXPECT_TRUE(test::succeeds(plan));
  return plan.ok() ? plan.value() : Plan();
}

// The ids of the findings, with "!" behind those of errors.
std::vector<std::string> found(const Question& question) {
  std::vector<std::string> ids;
  for (const Finding& finding : planned(question).findings)
    ids.push_back(finding.id + (finding.level == Level::kError ? "!" : ""));
  return ids;
}

std::string text_of(const Question& question, const std::string& id) {
  for (const Finding& finding : planned(question).findings)
    if (finding.id == id) return finding.text;
  return "";
}

using Ids = std::vector<std::string>;

Question bert(const Split& split) {
  Question question;
  question.split = split;
  question.model.parameters = 336 * kMillion;
  question.model.layers = 24;
  question.model.hidden = 1024;
  question.model.heads = 16;
  return question;
}

Question gpt3(const Split& split) {
  Question question;
  question.split = split;
  question.model.parameters = 175'000 * kMillion;
  question.model.layers = 96;
  question.model.hidden = 12'288;
  question.model.heads = 96;
  question.weight_shards = 4;
  question.optimizer_shards = 4;
  return question;
}

// ---- golden numbers: BERT-Large and GPT-3 as Graphcore trained them
// -------------------------------

TEST(PlanGoldenTest, BertLargeOverFourStagesLeavesNoRoomForTheOptimizer) {
  const Plan plan = planned(bert({1, 4, 4}));
  EXPECT_EQ(plan.split.ipus(), 16U);
  EXPECT_EQ(plan.partitions.count, 1U);
  EXPECT_EQ(plan.partitions.size, 16U);
  EXPECT_EQ(plan.partitions.idle, 0U);
  EXPECT_EQ(plan.partitions.domains, 1U);
  EXPECT_EQ(plan.launch.hosts, 1U);
  EXPECT_EQ(plan.launch.instances, 1U);
  EXPECT_EQ(pod_for(plan.partitions.size), "POD16");
  ASSERT_TRUE(plan.memory);
  EXPECT_EQ(plan.memory->weights, 168 * kMillion);
  EXPECT_EQ(plan.memory->all, 840 * kMillion);
  EXPECT_EQ(plan.memory->budget, 450 * kMillion);
  EXPECT_EQ(plan.memory->streamed, 840 * kMillion);
  EXPECT_FALSE(plan.memory->fits_with_optimizer());
  EXPECT_EQ(plan.memory->verdict, Verdict::kFits);
  EXPECT_TRUE(plan.findings.empty());
}

TEST(PlanGoldenTest, BertLargeOverEightStagesFitsWithItsOptimizer) {
  const Plan plan = planned(bert({1, 8, 2}));
  EXPECT_EQ(plan.partitions.size, 16U);
  ASSERT_TRUE(plan.memory);
  EXPECT_EQ(plan.memory->all, 420 * kMillion);
  EXPECT_TRUE(plan.memory->fits_with_optimizer());
  EXPECT_EQ(plan.memory->verdict, Verdict::kFits);
  EXPECT_STREQ(name_of(plan.memory->verdict), "FITS IN-PROCESSOR");
  EXPECT_EQ(plan.memory->least_phases, 1U);
}

TEST(PlanGoldenTest, Gpt3On256IpusNeedsThirteenPhases) {
  const Plan plan = planned(gpt3({8, 8, 4}));
  EXPECT_EQ(plan.split.of_replica(), 64U);
  EXPECT_EQ(plan.split.ipus(), 256U);
  EXPECT_EQ(plan.partitions.size, 256U);
  EXPECT_EQ(plan.partitions.idle, 0U);
  EXPECT_EQ(plan.partitions.domains, 4U);
  EXPECT_EQ(pod_for(plan.partitions.size), "POD256");
  EXPECT_EQ(plan.launch.usual_hosts, 16U);
  EXPECT_EQ(plan.launch.hosts, 4U);
  EXPECT_EQ(plan.launch.instances, 4U);
  ASSERT_TRUE(plan.memory);
  EXPECT_EQ(plan.memory->weights, 5'468'750'000U);
  EXPECT_EQ(plan.memory->least_phases, 13U);
  EXPECT_EQ(plan.memory->phases, 13U);
  EXPECT_EQ(plan.memory->streamed, 6'835'937'500U);
  EXPECT_EQ(plan.memory->verdict, Verdict::kNeedsPhases);
  EXPECT_STREQ(name_of(plan.memory->verdict), "NEEDS PHASED EXECUTION");
  // 12 layers a stage are no 13 equal parts.
  EXPECT_EQ(found(gpt3({8, 8, 4})), Ids{"W2"});
}

TEST(PlanGoldenTest, Gpt3WithAllOfTheMemoryNeedsSevenPhases) {
  Question question = gpt3({8, 8, 4});
  question.percent = 100;
  EXPECT_EQ(planned(question).memory->least_phases, 7U);
}

TEST(PlanGoldenTest, SixStagesLeave64OfThePartitionIdleAndTheNearestShapesAreNamed) {
  Question question;
  question.split = {8, 6, 4};
  const Plan plan = planned(question);
  EXPECT_EQ(plan.split.ipus(), 192U);
  EXPECT_EQ(plan.partitions.size, 256U);
  EXPECT_EQ(plan.partitions.idle, 64U);
  const std::vector<Split> expected = {{8, 8, 4}, {8, 6, 5}};
  EXPECT_EQ(plan.nearest, expected);
  EXPECT_EQ(found(question), Ids{"W1"});
  EXPECT_EQ(text_of(question, "W1"),
            "192 IPUs leave 64 idle of a partition of 256; nearest: t8 p8 r4 (256 IPUs, none idle),"
            " t8 p6 r5 (240 IPUs, 16 idle)");
}

TEST(PlanGoldenTest, A512IpuModelIsAGangOfTwo) {
  Question question;
  question.split = {8, 8, 8};
  const Plan plan = planned(question);
  EXPECT_EQ(plan.partitions.count, 2U);
  EXPECT_EQ(plan.partitions.size, 256U);
  EXPECT_EQ(plan.partitions.replicas_each, 4U);
  EXPECT_EQ(plan.partitions.idle, 0U);
  EXPECT_EQ(found(question), Ids{"E6!"});
  EXPECT_TRUE(plan.has_errors());
}

// ---- the checks
// ----------------------------------------------------------------------------------

TEST(PlanTest, E1RefusesWhatIsOutOfItsBounds) {
  const auto refused = [](const Question& question, const char* text) {
    return test::fails(make_plan(question), base::Code::kInvalid, text);
  };
  EXPECT_TRUE(refused({.split = {0, 1, 1}}, "tensor is 0; give 1 to 65535"));
  EXPECT_TRUE(refused({.split = {1, 65'536, 1}}, "pipeline is 65536"));
  EXPECT_TRUE(refused({.split = {1, 1, UINT64_MAX}}, "replicas is 18446744073709551615"));
  EXPECT_TRUE(refused({.batch = Batch{0, 1}}, "batch is 0"));
  EXPECT_TRUE(refused({.batch = Batch{1, 0}}, "micro is 0"));
  EXPECT_TRUE(refused({.weight_shards = 0}, "rts is 0"));
  EXPECT_TRUE(refused({.optimizer_shards = 0}, "optimizer-rts is 0"));
  EXPECT_TRUE(refused({.percent = 101}, "memory-percent is 101"));
  EXPECT_TRUE(refused({.largest = 0}, "largest partition is 0"));
  EXPECT_TRUE(refused({.model = {.parameters = kMaxParameters + 1}}, "parameters is 1000000000"));
}

TEST(PlanTest, E2TheShardsDivideTheReplicas) {
  Question question{.split = {1, 1, 4}, .weight_shards = 3, .optimizer_shards = 2};
  EXPECT_EQ(found(question), Ids{"E2!"});
  EXPECT_EQ(text_of(question, "E2"), "--rts 3 does not divide the 4 replicas; give a divisor");
  question.weight_shards = 4;
  question.optimizer_shards = 8;
  EXPECT_EQ(found(question), Ids{"E2!"});
  question.optimizer_shards = 1;
  EXPECT_EQ(found(question), Ids{});
}

TEST(PlanTest, E3TheBatchIsWholeMicroBatchesOfEachReplica) {
  Question question{.split = {1, 1, 4}, .batch = Batch{30, 1}};
  EXPECT_EQ(found(question), Ids{"E3!"});
  question.batch = Batch{32, 3};
  EXPECT_EQ(found(question), Ids{"E3!"});
  EXPECT_EQ(text_of(question, "E3"),
            "a batch of 32 is no multiple of 4 replicas x 3 (--micro); give a multiple of 12");
  EXPECT_EQ(planned(question).accumulation, std::nullopt);
  question.batch = Batch{32, 2};
  EXPECT_EQ(found(question), Ids{});
  EXPECT_EQ(planned(question).accumulation, 4U);
  EXPECT_EQ(planned(question).bubble, 0.0);
}

TEST(PlanTest, E4EachStageHasAMicroBatchAndWaitsForLittle) {
  Question question{.split = {1, 4, 2}, .batch = Batch{6, 1}};
  EXPECT_EQ(found(question), Ids{"E4!"});
  EXPECT_EQ(text_of(question, "E4"),
            "3 micro-batches a step for 4 stages leave stages without work; give --batch 8 or a "
            "larger multiple of 2");
  question.batch->global = 8;
  EXPECT_EQ(found(question), Ids{"E4"});
  EXPECT_EQ(text_of(question, "E4"),
            "4 micro-batches a step for 4 stages: each stage waits for 42% of the time; --batch 16 "
            "or more makes it less");
  EXPECT_DOUBLE_EQ(*planned(question).bubble, 3.0 / 7.0);
  question.batch->global = 14;
  EXPECT_EQ(found(question), Ids{"E4"});
  question.batch->global = 16;
  EXPECT_EQ(found(question), Ids{});
}

TEST(PlanTest, E5AReplicaFitsAPartitionAndRatherADomain) {
  EXPECT_EQ(found({.split = {8, 8, 1}}), Ids{});
  EXPECT_EQ(found({.split = {8, 16, 1}}), Ids{"E5"});
  EXPECT_EQ(found({.split = {16, 16, 1}}), Ids{"E5"});
  EXPECT_EQ(found({.split = {16, 32, 1}}), Ids{"E5!"});
  EXPECT_EQ(planned({.split = {16, 32, 1}}).partitions.count, 0U);
  EXPECT_EQ(found({.split = {8, 8, 1}, .largest = 32}), Ids{"E5!"});
}

TEST(PlanTest, E6MoreThanTheLargestPartitionIsAGangOfWholeReplicas) {
  // Five replicas of 96 IPUs: two of them fit 256, three do not.
  const Plan plan = planned({.split = {8, 12, 5}});
  EXPECT_EQ(plan.partitions.count, 3U);
  EXPECT_EQ(plan.partitions.replicas_each, 2U);
  EXPECT_EQ(plan.partitions.size, 256U);
  EXPECT_EQ(plan.partitions.idle, 288U);
  EXPECT_EQ(found({.split = {1, 4, 32}, .largest = 64}), Ids{"E6!"});
  EXPECT_EQ(found({.split = {1, 4, 16}, .largest = 64}), Ids{});
}

TEST(PlanTest, WhatFitsNeedsNoPhasesEvenIfSomeAreAskedFor) {
  Question question;
  question.split = {1, 4, 4};
  question.model.parameters = 336 * kMillion;
  question.phases = 4;
  EXPECT_EQ(planned(question).memory->least_phases, 1U);
  EXPECT_EQ(planned(question).memory->phases, 4U);
  EXPECT_EQ(planned(question).memory->verdict, Verdict::kFits);
}

TEST(PlanTest, E7MemoryOfTheProcessorAndOfTheExchange) {
  Question question;
  question.split = {1, 1, 2};
  question.model.parameters = 6'400 * kMillion;  // 10 bytes each: 64 GB
  EXPECT_EQ(planned(question).memory->verdict, Verdict::kNeedsPhases);
  EXPECT_EQ(found(question), Ids{});
  ++question.model.parameters;
  EXPECT_EQ(found(question), Ids{"E7!"});
  EXPECT_EQ(planned(question).memory->verdict, Verdict::kDoesNotFit);
  EXPECT_STREQ(name_of(Verdict::kDoesNotFit), "DOES NOT FIT");
  question.optimizer_shards = 2;
  EXPECT_EQ(found(question), Ids{});
  question.phases = 28;  // 12.8 GB / 28 is 0.457 GB
  EXPECT_EQ(found(question), Ids{"E7!"});
  EXPECT_NE(text_of(question, "E7").find("give --phases 29 or more"), std::string::npos);
  question.phases = 29;
  EXPECT_EQ(found(question), Ids{});
}

TEST(PlanTest, MemoryCountsTheBytesThatAreAskedFor) {
  Question question;
  question.split = {1, 2, 1};
  question.model = {.parameters = 101, .weight_bytes = 4, .optimizer_bytes = 12};
  const Memory memory = *planned(question).memory;
  EXPECT_EQ(memory.weights, 202U);
  EXPECT_EQ(memory.all, 202U + 606U);
  question.model.weight_bytes = 1;
  EXPECT_EQ(planned(question).memory->weights, 51U);  // rounded up
  EXPECT_EQ(planned({.split = {1, 2, 1}}).memory, std::nullopt);
}

TEST(PlanTest, W2TheLayersDivideIntoStagesAndPhases) {
  Question question{.split = {1, 4, 1}, .model = {.layers = 24}};
  EXPECT_EQ(found(question), Ids{});
  question.phases = 6;
  EXPECT_EQ(found(question), Ids{});
  question.phases = 5;
  EXPECT_EQ(found(question), Ids{"W2"});
  EXPECT_EQ(text_of(question, "W2"),
            "24 layers are no multiple of 4 stages x 5 phases: the parts are not equal, and the "
            "largest needs more");
  question.phases = 0;
  question.split = {1, 16, 1};
  EXPECT_EQ(found(question), Ids{"W2"});
}

TEST(PlanTest, W3HeadsAndHiddenDivideByTensor) {
  Question question{.split = {8, 1, 1}, .model = {.hidden = 1024, .heads = 16}};
  EXPECT_EQ(found(question), Ids{});
  question.model.heads = 12;
  EXPECT_EQ(found(question), Ids{"W3"});
  EXPECT_EQ(text_of(question, "W3"), "--heads 12 is no multiple of --tensor 8");
  question.model.hidden = 1020;
  EXPECT_EQ(found(question), (Ids{"W3", "W3"}));
}

TEST(PlanTest, W4ThePoolHasIpusOfOneType) {
  EXPECT_EQ(found({.types = {"M2000 ipu2"}}), Ids{});
  EXPECT_EQ(found({.types = {"BOW-2000 ipu2", "M2000 ipu2"}}), Ids{"W4"});
}

TEST(PlanTest, HostsAreThoseOfGraphcoresScriptsAsFarAsThereAreReplicas) {
  const auto launch = [](const Split& split) { return planned({.split = split}).launch; };
  EXPECT_EQ(launch({1, 1, 16}).hosts, 1U);
  EXPECT_EQ(launch({1, 4, 8}).hosts, 4U);
  EXPECT_EQ(launch({1, 4, 16}).hosts, 4U);
  EXPECT_EQ(launch({1, 4, 32}).hosts, 8U);
  EXPECT_EQ(launch({1, 4, 64}).hosts, 16U);
  EXPECT_EQ(launch({8, 8, 2}).usual_hosts, 8U);
  EXPECT_EQ(launch({8, 8, 2}).instances, 2U);
  EXPECT_EQ(launch({8, 4, 3}).hosts, 1U);
}

}  // namespace
}  // namespace vipu::plan
