// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "base/names.h"
#include "base/text.h"
#include "hook/config/config.h"
#include "tests/support/outcome.h"

namespace hook::config {
namespace {

using namespace base::names;

TEST(Damping, HasLimits) {
  const auto pool = [](std::string_view keys) {
    return parse_config(str("[pool]\nname = \"a\"\nprovider = \"pcie\"\n", keys, "\n"),
                        "/etc/x.toml");
  };
  const std::string command = "health_command = \"/bin/check\"\n";
  EXPECT_EQ(pool(command + "health_checks = 2").take().pools[0].damping.bad, 2U);
  for (const auto& [keys, says] : std::vector<std::pair<std::string, std::string>>{
           {"health_bad = 2", "pool.health_bad must be left out without health_command"},
           {command + "health_checks = 61", "pool.health_checks must be a number from 1 to 60"},
           {command + "health_bad = 6",
            "pool.health_bad must be a number from 1 to health_checks, which is 5"},
           {command + "health_checks = 2\nhealth_bad = 3", "to health_checks, which is 2"},
           {command + "health_hold = \"8d\"", "pool.health_hold"}}) {
    EXPECT_TRUE(test::fails(pool(keys), Code::kInvalid, says)) << keys;
  }
}

}  // namespace
}  // namespace hook::config
