// SPDX-License-Identifier: Apache-2.0
// What is true of every plan, over all small splits and at the bounds, counted by brute force.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <map>

#include "tests/support/outcome.h"
#include "vipu/plan/plan.h"

namespace vipu::plan {
namespace {

// Calls TRY_ONE with each split of degrees up to MOST.
template <typename TryOne>
void each_split(uint64_t most, TryOne try_one) {
  for (uint64_t t = 1; t <= most; ++t)
    for (uint64_t p = 1; p <= most; ++p)
      for (uint64_t r = 1; r <= most; ++r) try_one(Split{t, p, r});
}

// Returns the fewest partitions of SIZE IPUs that hold R replicas of REPLICA IPUs.
uint64_t fewest(uint64_t replicas, uint64_t replica, uint64_t size) {
  for (uint64_t count = 1;; ++count) {
    uint64_t held = 0;
    for (uint64_t i = 0; i < count; ++i) {
      for (uint64_t room = size; room >= replica; room -= replica) ++held;
    }
    if (held >= replicas) return count;
  }
}

TEST(PlanPropertyTest, PartitionsAreLegalAndNoFewerOrSmallerOnesHoldTheReplicas) {
  for (const uint64_t largest : {4U, 16U, 64U, 256U}) {
    each_split(9, [&](const Split& split) {
      const base::Result<Plan> made = make_plan({.split = split, .largest = largest});
      ASSERT_TRUE(test::succeeds(made));
      const Partitions& partitions = made.value().partitions;
      ASSERT_EQ(partitions.count == 0, split.of_replica() > largest);
      if (partitions.count == 0) return;
      ASSERT_TRUE(std::has_single_bit(partitions.size));
      ASSERT_LE(partitions.size, largest);
      ASSERT_EQ(partitions.count, fewest(split.replicas, split.of_replica(), largest));
      ASSERT_GE(partitions.replicas_each * partitions.count, split.replicas);
      ASSERT_LE(partitions.replicas_each * split.of_replica(), partitions.size);
      // Half of it would not do.
      ASSERT_GT(partitions.replicas_each * split.of_replica(), partitions.size / 2);
      ASSERT_EQ(partitions.idle + split.ipus(), partitions.count * partitions.size);
    });
  }
}

TEST(PlanPropertyTest, InstancesHaveEquallyManyWholeReplicasAndDivideThePartition) {
  each_split(16, [&](const Split& split) {
    const base::Result<Plan> made = make_plan({.split = split});
    ASSERT_TRUE(test::succeeds(made));
    const Plan& plan = made.value();
    if (plan.partitions.count == 0) return;
    ASSERT_EQ(plan.launch.instances % plan.launch.hosts, 0U);
    ASSERT_EQ(plan.partitions.replicas_each % plan.launch.instances, 0U);
    ASSERT_EQ(plan.partitions.size % plan.launch.instances, 0U);
    ASSERT_EQ(plan.launch.usual_hosts % plan.launch.hosts, 0U);
  });
}

// The same rules as the product's, written anew.
struct Rules {
  uint64_t layers, heads, shards, batch;
  [[nodiscard]] std::map<std::string, bool> broken(const Split& split) const {
    const bool whole = batch % split.replicas == 0;
    const uint64_t accumulation = whole ? batch / split.replicas : 0;
    return {{"E2", split.replicas % shards != 0},
            {"E3", !whole},
            {"E4 error", whole && accumulation < split.pipeline},
            {"E4", whole && split.pipeline > 1 && accumulation >= split.pipeline &&
                       accumulation < 2 * split.pipeline},
            {"E5", split.of_replica() > 64},
            {"W2", layers % split.pipeline != 0},
            {"W3", heads % split.tensor != 0}};
  }
  [[nodiscard]] bool is_legal(const Split& split, const Split& asked) const {
    const std::map<std::string, bool> of_asked = broken(asked);
    for (const auto& [rule, is_broken] : broken(split))
      if (is_broken && !of_asked.at(rule)) return false;
    return std::has_single_bit(split.tensor) || split.tensor == asked.tensor;
  }
};

int changed_axis(const Split& split, const Split& asked) {
  const bool t = split.tensor != asked.tensor;
  const bool p = split.pipeline != asked.pipeline;
  const bool r = split.replicas != asked.replicas;
  if (t + p + r != 1) return -1;
  return t ? 0 : p ? 1 : 2;
}

void check_nearest(const Split& asked, const Rules& rules) {
  Question question{.split = asked, .batch = Batch{rules.batch, 1}};
  question.model.layers = rules.layers;
  question.model.heads = rules.heads;
  question.weight_shards = rules.shards;
  question.largest = 64;
  const uint64_t size = std::bit_ceil(asked.ipus());
  // By axis, the most IPUs that a legal split with more of them uses.
  std::map<int, uint64_t> best;
  if (asked.ipus() < size) {
    each_split(size, [&](const Split& split) {
      const int axis = changed_axis(split, asked);
      if (axis < 0 || split.ipus() > size || split.ipus() <= asked.ipus()) return;
      if (rules.is_legal(split, asked)) best[axis] = std::max(best[axis], split.ipus());
    });
  }
  std::map<int, uint64_t> named;
  uint64_t before = size;
  for (const Split& split : nearest(question)) {
    ASSERT_TRUE(rules.is_legal(split, asked));
    ASSERT_LE(split.ipus(), before) << "the fewest idle IPUs come first";
    before = split.ipus();
    ASSERT_TRUE(named.emplace(changed_axis(split, asked), split.ipus()).second);
  }
  ASSERT_EQ(named, best) << asked.tensor << " " << asked.pipeline << " " << asked.replicas;
}

TEST(PlanPropertyTest, NearestSplitsAreLegalAndTheNearestByACount) {
  for (const Rules& rules : {Rules{1, 1, 1, 1 << 20}, Rules{24, 16, 2, 240}, Rules{96, 6, 1, 36}}) {
    each_split(16, [&](const Split& asked) {
      if (asked.ipus() <= 32) check_nearest(asked, rules);
    });
  }
}

// g++ makes no trap of an overflow of unsigned numbers, so results are compared with real ones.
TEST(PlanPropertyTest, NothingOverflowsAtTheBounds) {
  const std::vector<uint64_t> degrees = {1, 2, 3, 255, 32'768, 65'534, kMaxDegree};
  for (const uint64_t t : degrees) {
    for (const uint64_t p : degrees) {
      for (const uint64_t r : degrees) {
        Question question;
        question.split = {t, p, r};
        question.batch = Batch{kMaxBatch, kMaxBatch};
        question.model = {kMaxParameters, kMaxDegree, kMaxDegree, kMaxDegree, kMaxBytes, kMaxBytes};
        question.weight_shards = r;
        question.optimizer_shards = r;
        question.largest = kMaxDegree;
        const base::Result<Plan> made = make_plan(question);
        ASSERT_TRUE(test::succeeds(made));
        const Plan& plan = made.value();
        const auto real = [](uint64_t value) { return static_cast<long double>(value); };
        const long double replica = real(t) * real(p);
        ASSERT_EQ(real(plan.split.ipus()), replica * real(r));
        const long double weights = real(kMaxParameters) * real(kMaxBytes) / replica;
        ASSERT_GE(real(plan.memory->weights), weights * (1 - 1e-12L));
        ASSERT_LE(real(plan.memory->weights), weights * (1 + 1e-12L) + 1);
        const long double streamed = 2 * weights / real(r);
        // Each share is rounded up to a whole byte.
        ASSERT_GE(real(plan.memory->streamed), streamed * (1 - 1e-12L));
        ASSERT_LE(real(plan.memory->streamed), streamed * (1 + 1e-12L) + 2);
        if (plan.partitions.count > 0) {
          ASSERT_EQ(real(plan.partitions.count) * real(plan.partitions.size),
                    replica * real(r) + real(plan.partitions.idle));
        }
      }
    }
  }
}

}  // namespace
}  // namespace vipu::plan
