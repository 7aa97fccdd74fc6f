// SPDX-License-Identifier: Apache-2.0
// All that can happen to the leases of two containers. How often processes are killed, answers are
// lost, undoing fails, the machine is started anew, and poststops and reconcilers come is not
// bounded; what is bounded is how many there are at a time.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "hook/lifecycle/partitions/orphans.h"
#include "tests/unit/hook/model/explore.h"

namespace model {
namespace {

// With one block of IPUs the starts contend for it; with two, both containers run.
std::vector<Bounds> chosen_bounds() {
  std::vector<Bounds> chosen = {{1, 2, 1, 1}, {2, 1, 1, 1}, {2, 0, 2, 2}};
  const char* const wanted = std::getenv("MODEL");
  if (wanted != nullptr && std::string_view(wanted) == "all") {
    chosen.push_back({2, 2, 1, 1});
    chosen.push_back({2, 1, 2, 2});
  }
  return chosen;
}

std::string name_of(const testing::TestParamInfo<Bounds>& info) {
  const Bounds& bounds = info.param;
  return base::str("Starts", bounds.starts, "Releasers", bounds.releasers, "Blocks", bounds.blocks);
}

class ModelTest : public testing::TestWithParam<Bounds> {};

TEST_P(ModelTest, HoldsInEveryStateThatCanBeReached) {
  const Explored explored = explore({}, GetParam());
  std::puts(base::str("states explored ", explored.states, ", transitions ", explored.transitions,
                      ", depth ", explored.depth)
                .c_str());
  EXPECT_EQ(explored.wrong, "") << text_of(explored);
  EXPECT_TRUE(explored.complete);
}

INSTANTIATE_TEST_SUITE_P(Leases, ModelTest, testing::ValuesIn(chosen_bounds()), name_of);

// What is not true at once: a controller that carries a request out after its sender has given up,
// and after the removal found nothing, makes a partition that no live lease leads to. The ended one
// does, for remove_late_partitions().
TEST(ModelTest, DoesNotHoldAgainstARequestThatIsCarriedOutTooLate) {
  Bounds bounds;
  bounds.late_requests = true;
  const Explored explored = explore({}, bounds);
  EXPECT_EQ(explored.wrong, "there is a partition that no live lease leads to");
  ASSERT_FALSE(explored.trace.empty());
  EXPECT_EQ(explored.trace.back(), "[lease 1] the late request is carried out")
      << text_of(explored);
}

}  // namespace
}  // namespace model
