// SPDX-License-Identifier: Apache-2.0
#include "hook/config/monitor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/names.h"
#include "base/text.h"
#include "hook/config/config.h"
#include "tests/support/outcome.h"

namespace hook::config {
namespace {

using namespace base::names;
using std::chrono::seconds;
using testing::ElementsAre;

Result<Config> with_monitor(std::string_view keys) {
  return parse_config(str("[pool]\nname = \"a\"\nprovider = \"pcie\"\n", keys, "\n"),
                      "/etc/x.toml");
}

TEST(MonitorTable, SaysWhatIsRunAndHowOften) {
  EXPECT_FALSE(with_monitor("").take().monitor);
  const MonitorConfig monitor =
      *with_monitor("[monitor]\ncommand = [\"/opt/busy\", \"-j\"]").take().monitor;
  EXPECT_THAT(monitor.command, ElementsAre("/opt/busy", "-j"));
  EXPECT_EQ(monitor.interval, seconds(60));
  EXPECT_EQ(monitor.timeout, seconds(10));
  const MonitorConfig other = *with_monitor(
                                   "[monitor]\ncommand = [\"/opt/busy\"]\n"
                                   "interval = \"5m\"\ntimeout = \"30s\"")
                                   .take()
                                   .monitor;
  EXPECT_EQ(other.interval, seconds(300));
  EXPECT_EQ(other.timeout, seconds(30));
}

TEST(MonitorTable, RefusesWhatCannotBeRunOrWouldOverlap) {
  const std::string command = "command = [\"/opt/busy\"]\n";
  for (const auto& [keys, says] : std::vector<std::pair<std::string, std::string>>{
           {"", "monitor.command must be"},
           {"command = []", "monitor.command must be"},
           {"command = \"/opt/busy\"", "monitor.command"},
           {"command = [\"busy\"]", "monitor.command must be the absolute path"},
           {command + "interval = \"9s\"", "monitor.interval must be 10s or longer"},
           {command + "interval = \"16m\"", "monitor.interval"},
           {command + "timeout = \"0s\"", "monitor.timeout"},
           {command + "timeout = \"61s\"", "monitor.timeout"},
           {command + "interval = \"20s\"\ntimeout = \"21s\"", "monitor.timeout must be"},
           {command + "user = \"root\"", "monitor.user"}}) {
    EXPECT_TRUE(test::fails(with_monitor("[monitor]\n" + keys), Code::kInvalid, says)) << keys;
  }
}

}  // namespace
}  // namespace hook::config
