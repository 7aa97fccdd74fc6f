// SPDX-License-Identifier: Apache-2.0
// A pool of 16 IPUs for tests of backfill. Of the lower 8, one is held; of the upper 8, three, each
// by another holder. So a request for 8 pins the lower ones, and the upper ones are left to others.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "tests/support/fake_controller.h"
#include "tests/support/hook_host.h"

namespace test {

inline constexpr vipu::Block kLow{0, 8};
inline constexpr vipu::Block kHigh{8, 8};

// Makes the partition NAME of one IPU.
inline void hold(FakeController& controller, const std::string& name, uint32_t ipu) {
  const vipu::PartitionRequest request{.id = name, .size = 1, .ipus = {{{0, ipu}}}};
  ASSERT_TRUE(succeeds(controller.create(request, HookHost::soon())));
}

inline void crowd(FakeController& controller) {
  hold(controller, "a", 0);
  hold(controller, "b", 8);
  hold(controller, "c", 9);
  hold(controller, "d", 10);
}

}  // namespace test
