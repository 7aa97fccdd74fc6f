// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/network/bridges.h"

#include <gtest/gtest.h>

#include "tests/support/hook_host.h"

namespace hook::lifecycle::network {
namespace {

using base::Code;

TEST(Bridges, AreSharedOnlyIfTheRailAllowsIt) {
  test::HookHost host;
  config::RailConfig& rail = host.config.network.rails[0];
  host.start("old", 4);  // in mode private
  rail.mode = netns::MacvlanMode::kBridge;
  host.start("first", 4);
  rail.shared_bridge = false;
  EXPECT_TRUE(test::fails(host.prepare("web", 4), Code::kBusy, "container first uses it"));
  EXPECT_EQ(host.live_leases(), 2U) << "nothing of the refused start is left";
  rail.shared_bridge = true;
  host.start("second", 4);
  rail.shared_bridge.reset();
  host.start("third", 4);
}

}  // namespace
}  // namespace hook::lifecycle::network
