// SPDX-License-Identifier: Apache-2.0
#include "tests/support/fragmentation.h"

#include <gtest/gtest.h>

namespace test {
namespace {

constexpr Workload kPod256 = {.ipus = 256, .load = 0.9, .requests = 6000, .seeds = 2};

TEST(FragmentationTest, RefusesAtMostOneRequestInTwentyForFragmentationOnABusyPod) {
  const Figures best_fit = simulate(Policy::kBestFit, kPod256);
  EXPECT_LE(best_fit.fragmented, 0.05);
  EXPECT_GE(best_fit.admitted, 0.94);
}

TEST(FragmentationTest, IsFarLessThanWhereBlocksAreChosenAtRandomOrForTheirRoom) {
  const Figures best_fit = simulate(Policy::kBestFit, kPod256);
  for (const Policy policy : {Policy::kRandom, Policy::kWorstFit}) {
    const Figures other = simulate(policy, kPod256);
    EXPECT_LT(2 * best_fit.fragmented, other.fragmented);
    EXPECT_GT(best_fit.utilisation, other.utilisation);
  }
}

}  // namespace
}  // namespace test
