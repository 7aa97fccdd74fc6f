// SPDX-License-Identifier: Apache-2.0
#include "netns/trial.h"

#include <gtest/gtest.h>

#include <chrono>

#include "base/clock.h"
#include "tests/kernel/netns/wire.h"
#include "tests/support/outcome.h"

namespace netns {
namespace {

using base::Code;

class TrialTest : public Wire {
 protected:
  void TearDown() override {
    EXPECT_EQ(take(Namespace::current()).identity(), before_) << "the thread is elsewhere";
  }

 private:
  const Identity before_ = take(Namespace::current()).identity();
};

TEST_F(TrialTest, InstallsAFilter) { EXPECT_TRUE(test::succeeds(try_filter())); }

TEST_F(TrialTest, MakesABorder) {
  EXPECT_EQ(try_border(FilterPlace::kHost).value(), FilterPlace::kNftables);
  EXPECT_EQ(try_border(FilterPlace::kTc).value(), FilterPlace::kTc);
}

TEST_F(TrialTest, MakesAMacvlanAndLeavesTheHostAsItWas) {
  // The carrier of a new pair comes a moment after the pair.
  const auto patience = base::Deadline::after(std::chrono::milliseconds(10'000));
  while (!patience.passed() &&
         run(here(), "-o link show nic").find("state UP") == std::string::npos) {
    base::sleep_for(std::chrono::milliseconds(10), patience);
  }
  const std::string before = run(here(), "-o link show");
  EXPECT_TRUE(test::succeeds(try_macvlan(here(), "nic")));
  EXPECT_TRUE(test::succeeds(try_macvlan(here(), "nic")));
  EXPECT_EQ(run(here(), "-o link show"), before);
}

TEST_F(TrialTest, TellsWhyNoMacvlanCanBeMade) {
  EXPECT_TRUE(test::fails(try_macvlan(here(), "rnic9"), Code::kNotFound, "'rnic9'"));
  run(here(), "link add br0 type bridge");
  run(here(), "link set nic master br0");
  EXPECT_TRUE(test::fails(try_macvlan(here(), "nic"), Code::kBusy));
}

}  // namespace
}  // namespace netns
