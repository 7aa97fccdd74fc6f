// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/network/guard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/names.h"
#include "tests/support/hook_host.h"

namespace hook::lifecycle::network {
namespace {

using namespace base::names;
using testing::ElementsAre;

netns::Prefix prefix(const char* text) { return netns::parse_prefix(text).take(); }

TEST(Guard, CoversAllFabricsAllControllersAndWhatIsForbidden) {
  test::HookHost host;
  config::Config& config = host.config;
  config.network.forbidden = {prefix("10.2.0.0/16")};
  config.network.forward_allowed = {prefix("172.30.0.0/16")};
  config::RailConfig functions = config.network.rails[0];
  functions.parent = "";
  functions.functions = {"v0"};
  functions.subnet = prefix("10.6.0.0/16");
  config.network.rails.push_back(functions);
  ledger::Lease lease;
  lease.prohibited = {prefix("10.1.3.102/32"), prefix("10.2.0.0/16")};
  const Controllers controllers = {{netns::parse_address("10.1.3.101").take(), ""},
                                   {netns::parse_address("fd00::1").take(), ""}};
  const netns::Guard guard = guard_of(config, controllers, {lease});
  EXPECT_THAT(guard.interfaces, ElementsAre("rnic0"));
  EXPECT_THAT(guard.prefixes,
              testing::UnorderedElementsAre(prefix("10.1.3.101/32"), prefix("10.1.3.102/32"),
                                            prefix("10.2.0.0/16"), prefix("10.5.0.0/16"),
                                            prefix("10.6.0.0/16"), prefix("fd00::1/128")));
  EXPECT_THAT(guard.allowed, ElementsAre(prefix("172.30.0.0/16")));
}

}  // namespace
}  // namespace hook::lifecycle::network
