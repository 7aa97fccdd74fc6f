// SPDX-License-Identifier: Apache-2.0
// The program vipu-simulator: its state file, its command line, its end.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <csignal>

#include "base/fs.h"
#include "tests/support/outcome.h"
#include "tests/unit/vipu/simulator_process.h"
#include "vipu/process_controller.h"

namespace vipu {
namespace {

using base::Deadline;
using std::chrono::milliseconds;
using test::SimulatorProcess;

Deadline soon() { return Deadline::after(milliseconds(10'000)); }

std::unique_ptr<Controller> controller_at(const std::string& address) {
  return make_process_controller({PROGRAM_DIR "/ipu-vipu-client", address, std::nullopt});
}

class SimulatorTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/simulator-XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    directory_ = name;
  }
  void TearDown() override { (void)base::remove_flat_dir(directory_); }

  std::unique_ptr<SimulatorProcess> start(std::vector<std::string> args) {
    if (std::find(args.begin(), args.end(), "--listen") == args.end()) {
      args.insert(args.end(), {"--listen", "127.0.0.1:0"});
    }
    return std::make_unique<SimulatorProcess>(PROGRAM_DIR "/vipu-simulator", args);
  }
  std::string state() const { return directory_ + "/state"; }

  std::string directory_;
};

TEST_F(SimulatorTest, SaysWhenItIsReadyInOneLine) {
  const auto simulator = start({});
  const std::string address = simulator->wait_until_ready();
  EXPECT_EQ(simulator->output(), "vipu-simulator: listening on " + address + ", pod64, 64 IPUs\n");
}

TEST_F(SimulatorTest, PartitionsOutliveIt) {
  auto simulator = start({"--state", state()});
  auto controller = controller_at(simulator->wait_until_ready());
  ASSERT_TRUE(test::succeeds(controller->create({"kept", 4, false, ""}, soon())));
  ASSERT_TRUE(test::succeeds(controller->create({"gone", 4, false, ""}, soon())));
  ASSERT_TRUE(test::succeeds(controller->remove("gone", soon())));
  const auto config = controller->config("kept", soon());
  EXPECT_EQ(simulator->end(SIGKILL), -1);
  simulator = start({"--state", state()});
  controller = controller_at(simulator->wait_until_ready());
  const auto list = controller->list(soon());
  ASSERT_TRUE(test::succeeds(list));
  ASSERT_EQ(list.value().size(), 1U);
  EXPECT_EQ(list.value()[0].id, "kept");
  EXPECT_EQ(controller->config("kept", soon()).take(), config.value());
}

TEST_F(SimulatorTest, ACorruptStateFileIsAnErrorAndIsLeftAlone) {
  const base::FileAttributes plain{0644, std::nullopt, std::nullopt};
  ASSERT_TRUE(test::succeeds(base::write_atomic(state(), "{\"pod\":", plain)));
  const auto simulator = start({"--state", state()});
  EXPECT_EQ(simulator->end(0), 1);
  EXPECT_NE(simulator->output().find("load '" + state() + "': state: not valid JSON"),
            std::string::npos)
      << simulator->output();
  EXPECT_EQ(base::read_file(state(), 100).take(), "{\"pod\":");
}

TEST_F(SimulatorTest, AChangeThatCannotBeStoredDidNotHappen) {
  ASSERT_TRUE(test::succeeds(base::ensure_dir(directory_ + "/d", 0755)));
  const auto simulator = start({"--state", directory_ + "/d/state"});
  const auto controller = controller_at(simulator->wait_until_ready());
  ASSERT_TRUE(test::succeeds(base::remove_flat_dir(directory_ + "/d")));
  EXPECT_TRUE(test::fails(controller->create({"p0", 4, false, ""}, soon()), base::Code::kInternal,
                          "cannot be stored"));
  EXPECT_TRUE(controller->list(soon()).take().empty());
}

TEST_F(SimulatorTest, APartitionThatCannotBeMadeIsAnErrorWithItsReasonAndGoesByForce) {
  const auto simulator = start({"--fail-create", "link 3 is down", "--create-delay", "10ms"});
  const auto controller = controller_at(simulator->wait_until_ready());
  EXPECT_TRUE(test::fails(controller->create({"p0", 4, false, ""}, soon()), base::Code::kInternal,
                          "link 3 is down"));
  const auto status = controller->status("p0", soon());
  ASSERT_TRUE(test::succeeds(status));
  EXPECT_EQ(status.value().ready, ReadyState::kError);
  EXPECT_EQ(status.value().operation, OperationState::kFailed);
  EXPECT_TRUE(test::fails(controller->config("p0", soon()), base::Code::kNotFound));
  EXPECT_EQ(controller->remove("p0", soon()).take(), base::Removed::kNow);
  EXPECT_TRUE(controller->list(soon()).take().empty());
}

TEST_F(SimulatorTest, EndsWithinASecondOfASignal) {
  for (const int signal : {SIGTERM, SIGINT}) {
    const auto simulator = start({});
    ASSERT_NE(simulator->wait_until_ready(), "");
    const Deadline second = Deadline::after(milliseconds(1000));
    EXPECT_EQ(simulator->end(signal), 0);
    EXPECT_FALSE(second.passed());
  }
}

TEST_F(SimulatorTest, ASecondOneOnTheSamePortFails) {
  const auto first = start({});
  const std::string address = first->wait_until_ready();
  const auto second = start({"--listen", address});
  EXPECT_EQ(second->end(0), 1);
  EXPECT_EQ(second->output(), "vipu-simulator: cannot listen on " + address + "\n");
}

TEST_F(SimulatorTest, AWrongCommandLineIsNamedInOneLine) {
  const struct {
    std::vector<std::string> args;
    const char* in_message;
  } cases[] = {
      {{"--pod", "pod32"}, "'pod32'"},       {{"--listen", "nowhere"}, "--listen: 'nowhere'"},
      {{"--create-delay", "5"}, "'5'"},      {{"--fabric", "10.5.1.0/30"}, "'10.5.1.0/30'"},
      {{"--netns", "x"}, "--endpoints"},     {{"--nonsense"}, "--nonsense"},
      {{"--listen", "[::1]:0"}, "--listen"},
  };
  for (const auto& c : cases) {
    const auto simulator = start(c.args);
    EXPECT_EQ(simulator->end(0), 2);
    EXPECT_NE(simulator->output().find(c.in_message), std::string::npos) << simulator->output();
    EXPECT_EQ(std::count(simulator->output().begin(), simulator->output().end(), '\n'), 1);
  }
}

TEST_F(SimulatorTest, AMissingNetworkNamespaceIsNamed) {
  const auto simulator = start({"--endpoints", "--netns", "no-such-namespace"});
  EXPECT_EQ(simulator->end(0), 1);
  EXPECT_NE(simulator->output().find("/run/netns/no-such-namespace"), std::string::npos)
      << simulator->output();
}

}  // namespace
}  // namespace vipu
