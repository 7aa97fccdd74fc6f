// SPDX-License-Identifier: Apache-2.0
// What a monitor's command says of the IPUs that containers have, in a pool of slices.
// tests/e2e/monitor.bats has what becomes of it.
#include "hook/lifecycle/monitor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/text.h"
#include "tests/support/hook_host.h"
#include "tests/support/local_hosts.h"

namespace hook::lifecycle {
namespace {

using base::Code;

class MonitorTest : public testing::Test {
 protected:
  void SetUp() override {
    if (::getuid() != 0) GTEST_SKIP() << "only root runs a program as another user";
    host_.config.pools[0].provider = config::Provider::kIpuof;
    host_.config.pools[0].file = slices_.file;
    host_.env.controller = [this](const config::PoolConfig&) { return slices_.controller(); };
  }
  // A monitor that runs this script.
  static config::MonitorConfig script(const std::string& text) {
    config::MonitorConfig monitor;
    monitor.command = {"/bin/sh", "-c", text};
    return monitor;
  }
  static config::MonitorConfig says(const std::string& json) {
    return script("echo '" + json + "'");
  }
  base::Result<BusyLook> sample(const config::MonitorConfig& monitor) {
    return sample_busy(host_.env, host_.config, monitor);
  }
  // How many events say that nothing is known.
  int unknown() {
    int count = 0;
    for (const ledger::Event& event : host_.ledger.events().after(0, 1000).take())
      count += event.text.starts_with("how busy IPUs are is unknown") ? 1 : 0;
    return count;
  }

  test::IpuofHost slices_;
  test::HookHost host_;
};

TEST_F(MonitorTest, CountsTheIpusThatContainersHave) {
  ASSERT_TRUE(test::succeeds(host_.prepare("first", 4)));
  const BusyLook look =
      sample(says(R"({"ipus":[{"ipu":"10.5.1.1:0","busy":1},{"ipu":"10.5.1.1:3","busy":0.5},)"
                  R"({"ipu":"10.5.1.2:0","busy":1},{"ipu":"elsewhere","busy":1}]})"))
          .take();
  EXPECT_EQ(look.held, 4);
  EXPECT_EQ(look.measured, 2);
  EXPECT_EQ(look.busy, 1.5);
  EXPECT_EQ(unknown(), 0);
}

TEST_F(MonitorTest, IsNotAskedIfNobodyHasAnIpu) {
  EXPECT_EQ(sample(script("exit 1")).take().held, 0);
  EXPECT_NE(host_.ledger.usage().busy().state().take().at_ms, 0);
  EXPECT_EQ(unknown(), 0);
}

TEST_F(MonitorTest, AFailureIsToldOnceUntilItWorksAgain) {
  ASSERT_TRUE(test::succeeds(host_.prepare("first", 4)));
  const config::MonitorConfig broken = script("exit 7");
  EXPECT_TRUE(test::fails(sample(broken), Code::kInternal, "it failed with exit status 7"));
  EXPECT_FALSE(sample(broken).ok());
  EXPECT_EQ(unknown(), 1);
  EXPECT_TRUE(test::succeeds(sample(says(R"({"ipus":[]})"))));
  EXPECT_FALSE(sample(broken).ok());
  EXPECT_EQ(unknown(), 2);
}

TEST_F(MonitorTest, RunsAsNobodyWithABoundedAnswer) {
  EXPECT_TRUE(test::succeeds(
      ask_monitor(script("test $(id -u):$(id -g) = 65534:65534 && echo '{\"ipus\":[]}'"))));
  EXPECT_TRUE(test::fails(ask_monitor(script("yes")), Code::kInvalid, "monitor '/bin/sh'"));
  config::MonitorConfig hangs = script("sleep 100 & sleep 100");
  hangs.timeout = std::chrono::milliseconds(200);
  EXPECT_TRUE(test::fails(ask_monitor(hangs), Code::kTimeout, "no answer within 200 ms"));
  config::MonitorConfig absent;
  absent.command = {"/nonexistent/busy"};
  EXPECT_TRUE(test::fails(ask_monitor(absent), Code::kNotFound, "/nonexistent/busy"));
  EXPECT_TRUE(test::fails(ask_monitor(says("no IPU")), Code::kInvalid, "monitor '/bin/sh'"));
}

}  // namespace
}  // namespace hook::lifecycle
