// SPDX-License-Identifier: Apache-2.0
// The program vipu-simulator: its state file, its command line, its end.
#include <algorithm>
#include <csignal>

#include "tests/unit/cmd/vipu-simulator/fixture.h"

namespace test {
namespace {

using base::Deadline;
using grpc::StatusCode;
using std::chrono::milliseconds;

class SimulatorTest : public SimulatorFixture {
 protected:
  std::string state() const { return dir_ / "state"; }
};

// The exit status of a simulator that does not start, and what it wrote.
struct Ended {
  int status;
  std::string output;
};

Ended start_in_vain(std::vector<std::string> args) {
  if (std::find(args.begin(), args.end(), "--listen") == args.end()) {
    args.insert(args.end(), {"--listen", "127.0.0.1:0"});
  }
  SimulatorProcess process(PROGRAM_DIR "/vipu-simulator", args);
  const int status = process.end(0);
  return {status, process.output()};
}

TEST_F(SimulatorTest, SaysWhenItIsReadyInOneLine) {
  start({});
  EXPECT_EQ(simulator().output(),
            "vipu-simulator: listening on " + address_ + ", pod64, 64 IPUs\n");
}

TEST_F(SimulatorTest, PartitionsOutliveIt) {
  start({"--state", state()});
  ASSERT_TRUE(client().create("kept", 4).status.ok());
  ASSERT_TRUE(client().create("gone", 4).status.ok());
  ASSERT_TRUE(client().remove("gone").status.ok());
  ASSERT_TRUE(client().reaches("kept", virmgrpc::PS_ACTIVE));
  const std::string config = client().config("kept").reply.ShortDebugString();
  EXPECT_EQ(simulator().end(SIGKILL), -1);
  start({"--state", state()});
  ASSERT_EQ(client().list().reply.partitions_size(), 1);
  EXPECT_EQ(client().config("kept").reply.ShortDebugString(), config);
}

TEST_F(SimulatorTest, ACorruptStateFileIsAnErrorAndIsLeftAlone) {
  (void)write("state", "{\"pod\":");
  const Ended ended = start_in_vain({"--state", state()});
  EXPECT_EQ(ended.status, 1);
  EXPECT_NE(ended.output.find("load '" + state() + "': state: not valid JSON"), std::string::npos)
      << ended.output;
  EXPECT_EQ(read("state"), "{\"pod\":");
}

TEST_F(SimulatorTest, AChangeThatCannotBeStoredDidNotHappen) {
  ASSERT_TRUE(succeeds(base::ensure_dir(dir_ / "d", 0755)));
  start({"--state", dir_ / "d/state"});
  ASSERT_TRUE(succeeds(base::remove_flat_dir(dir_ / "d")));
  const auto created = client().create("p0", 4);
  EXPECT_EQ(created.code(), StatusCode::INTERNAL);
  EXPECT_NE(created.status.error_message().find("cannot be stored"), std::string::npos);
  EXPECT_EQ(client().list().reply.partitions_size(), 0);
}

TEST_F(SimulatorTest, APartitionThatCannotBeMadeIsAnErrorWithItsReasonAndGoesByForce) {
  start({"--fail-create", "link 3 is down", "--create-delay", "10ms"});
  ASSERT_TRUE(client().create("p0", 4).status.ok());
  ASSERT_TRUE(client().reaches("p0", virmgrpc::PS_ERROR));
  const virmgrpc::PartitionStatus status = client().status("p0").reply.status();
  EXPECT_EQ(status.operation_state(), virmgrpc::POS_FAILED);
  ASSERT_EQ(status.errors_size(), 1);
  EXPECT_EQ(status.errors(0), "link 3 is down");
  EXPECT_EQ(client().config("p0").code(), StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(client().remove("p0").code(), StatusCode::FAILED_PRECONDITION);
  EXPECT_TRUE(client().remove("p0", true).status.ok());
  EXPECT_EQ(client().list().reply.partitions_size(), 0);
}

TEST_F(SimulatorTest, EndsSoonAfterASignal) {
  for (const int signal : {SIGTERM, SIGINT}) {
    start({});
    const Deadline soon = Deadline::after(milliseconds(5000));
    EXPECT_EQ(simulator().end(signal), 0);
    EXPECT_FALSE(soon.passed());
  }
}

TEST_F(SimulatorTest, ASecondOneOnTheSamePortFails) {
  start({});
  const Ended second = start_in_vain({"--listen", address_});
  EXPECT_EQ(second.status, 1);
  EXPECT_TRUE(second.output.starts_with("vipu-simulator: listen on " + address_ + ": the port"));
}

TEST_F(SimulatorTest, AWrongCommandLineIsNamedInOneLine) {
  const struct {
    std::vector<std::string> args;
    const char* in_message;
  } cases[] = {
      {{"--pod", "pod32"}, "'pod32'"},
      {{"--listen", "nowhere"}, "--listen: 'nowhere'"},
      {{"--create-delay", "5"}, "'5'"},
      {{"--reset-delay", "x"}, "--reset-delay"},
      {{"--auto-reset-delay", "x"}, "--auto-reset-delay"},
      {{"--max-auto-resets", "-1"}, "--max-auto-resets"},
      {{"--fabric", "10.5.1.0/30"}, "'10.5.1.0/30'"},
      {{"--allocation", "a=ag17"}, "'ag17'"},
      {{"--cluster", "a b"}, "'a b'"},
      {{"--netns", "x"}, "--endpoints"},
      {{"--metrics", "here"}, "--metrics"},
      {{"--tls-cert", "x"}, "--tls-key"},
      {{"--tls-client-ca", "x"}, "--tls-cert"},
      {{"--user-metadata", "X"}, "--user-metadata"},
      {{"--nonsense"}, "--nonsense"},
      {{"--listen", "[::1]:0"}, "--listen"},
  };
  for (const auto& c : cases) {
    const Ended ended = start_in_vain(c.args);
    EXPECT_EQ(ended.status, 2) << ended.output;
    EXPECT_NE(ended.output.find(c.in_message), std::string::npos) << ended.output;
    EXPECT_EQ(std::count(ended.output.begin(), ended.output.end(), '\n'), 1);
  }
}

TEST_F(SimulatorTest, FilesThatAreMissingAreNamed) {
  for (const char* option : {"--faults", "--secure"}) {
    const Ended ended = start_in_vain({option, dir_ / "absent"});
    EXPECT_EQ(ended.status, 1);
    EXPECT_NE(ended.output.find(dir_ / "absent"), std::string::npos) << ended.output;
  }
}

TEST_F(SimulatorTest, AMissingNetworkNamespaceIsNamed) {
  const Ended ended = start_in_vain({"--endpoints", "--netns", "no-such-namespace"});
  EXPECT_EQ(ended.status, 1);
  EXPECT_NE(ended.output.find("/run/netns/no-such-namespace"), std::string::npos) << ended.output;
}

}  // namespace
}  // namespace test
