// SPDX-License-Identifier: Apache-2.0
// Each fault of a plan, as a client of vipu-simulator sees it.
#include <atomic>
#include <csignal>
#include <thread>

#include "tests/unit/cmd/vipu-simulator/fixture.h"

namespace test {
namespace {

using grpc::StatusCode;
using std::chrono::milliseconds;

// Long enough for a call, short enough to wait for.
constexpr milliseconds kShort(150);

class SimulatorFaultsTest : public SimulatorFixture {
 protected:
  // Every call of CreatePartition has this fault.
  void start_with(const std::string& fault) {
    const std::string plan =
        base::str(R"({"faults":[{"call":"CreatePartition","times":0,)", fault, "}]}");
    start({"--faults", write("plan", plan), "--log", dir_ / "log"});
  }
  // A create that nobody answers.
  StatusCode create_in_vain(const std::string& id, milliseconds patience = kShort) {
    client().set_patience(patience);
    const StatusCode code = client().create(id, 4).code();
    client().set_patience(milliseconds(10'000));
    return code;
  }
  bool exists(const std::string& id) { return client().status(id).status.ok(); }
};

TEST_F(SimulatorFaultsTest, DelayAnswersLaterAndHoldsUpNobody) {
  start_with(R"("action":"delay","delay":"2s")");
  const auto begin = std::chrono::steady_clock::now();
  std::atomic<bool> is_created = false;
  std::thread other([&] {
    SimulatorClient second(address_);
    EXPECT_TRUE(second.version().status.ok());
    EXPECT_FALSE(is_created);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, milliseconds(2000));
  });
  EXPECT_TRUE(client().create("p0", 4).status.ok());
  is_created = true;
  EXPECT_GE(std::chrono::steady_clock::now() - begin, milliseconds(2000));
  other.join();
  EXPECT_TRUE(exists("p0"));
}

TEST_F(SimulatorFaultsTest, StatusAnswersWithoutDoingIt) {
  start_with(R"("action":"status","status":"UNAVAILABLE","message":"out for lunch")");
  const auto created = client().create("p0", 4);
  EXPECT_EQ(created.code(), StatusCode::UNAVAILABLE);
  EXPECT_EQ(created.status.error_message(), "out for lunch");
  EXPECT_FALSE(exists("p0"));
}

TEST_F(SimulatorFaultsTest, HangAndDropBeforeDoNothingAndAnswerNever) {
  for (const char* action : {"hang", "drop_before"}) {
    start_with(base::str(R"("action":")", action, "\""));
    EXPECT_EQ(create_in_vain("p0"), StatusCode::DEADLINE_EXCEEDED) << action;
    EXPECT_FALSE(exists("p0")) << action;
  }
}

TEST_F(SimulatorFaultsTest, ManyCallsThatHangHoldUpNobody) {
  start_with(R"("action":"hang")");
  std::vector<std::thread> threads;
  for (int i = 0; i < 50; ++i) {
    threads.emplace_back([&] {
      SimulatorClient hanging(address_);
      hanging.set_patience(milliseconds(1000));
      EXPECT_EQ(hanging.create("p0", 4).code(), StatusCode::DEADLINE_EXCEEDED);
    });
  }
  for (int i = 0; i < 50; ++i) EXPECT_TRUE(client().list().status.ok());
  for (std::thread& thread : threads) thread.join();
}

TEST_F(SimulatorFaultsTest, ASignalEndsItAlsoWhileCallsHang) {
  start_with(R"("action":"lose_reply")");
  std::thread hanging([&] { EXPECT_FALSE(client().create("p0", 4).status.ok()); });
  EXPECT_TRUE(SimulatorClient(address_).reaches("p0", virmgrpc::PS_ACTIVE));
  const base::Deadline deadline = base::Deadline::after(milliseconds(5000));
  EXPECT_EQ(simulator().end(SIGTERM), 0);
  EXPECT_FALSE(deadline.passed());
  hanging.join();
}

TEST_F(SimulatorFaultsTest, LoseReplyDoesItAndAnswersNever) {
  start_with(R"("action":"lose_reply")");
  EXPECT_EQ(create_in_vain("p0", milliseconds(2000)), StatusCode::DEADLINE_EXCEEDED);
  EXPECT_TRUE(exists("p0"));
}

TEST_F(SimulatorFaultsTest, LoseReplyWithAStatusAnswersThat) {
  start_with(R"("action":"lose_reply","status":"INTERNAL")");
  EXPECT_EQ(client().create("p0", 4).code(), StatusCode::INTERNAL);
  EXPECT_TRUE(exists("p0"));
}

TEST_F(SimulatorFaultsTest, DisconnectDoesItAndIsUnavailable) {
  start_with(R"("action":"disconnect")");
  EXPECT_EQ(client().create("p0", 4).code(), StatusCode::UNAVAILABLE);
  EXPECT_TRUE(exists("p0"));
}

TEST_F(SimulatorFaultsTest, GarbageIsNoMessage) {
  start_with(R"("action":"garbage")");
  // Which status gRPC's own code makes of it is not ours to say.
  EXPECT_FALSE(client().create("p0", 4).status.ok());
  EXPECT_TRUE(exists("p0"));
}

TEST_F(SimulatorFaultsTest, ErrorStateEndsInTheseErrors) {
  start_with(R"("action":"error_state","errors":["link 3 is down","parity"])");
  ASSERT_TRUE(client().create("p0", 4).status.ok());
  ASSERT_TRUE(client().reaches("p0", virmgrpc::PS_ERROR));
  const virmgrpc::PartitionStatus status = client().status("p0").reply.status();
  ASSERT_EQ(status.errors_size(), 2);
  EXPECT_EQ(status.errors(1), "parity");
}

TEST_F(SimulatorFaultsTest, StuckPendingStaysSo) {
  start_with(R"("action":"stuck_pending")");
  ASSERT_TRUE(client().create("p0", 4).status.ok());
  for (int i = 0; i < 50; ++i) {
    ASSERT_EQ(client().status("p0").reply.status().ready_state(), virmgrpc::PS_PENDING);
  }
  ASSERT_TRUE(client().reset("p0").status.ok());
  EXPECT_TRUE(client().reaches("p0", virmgrpc::PS_ACTIVE));
}

TEST_F(SimulatorFaultsTest, TheLogNamesTheFault) {
  start_with(R"("action":"lose_reply","status":"INTERNAL","partition":"p1")");
  EXPECT_TRUE(client().create("p0", 4).status.ok());
  EXPECT_FALSE(client().create("p1", 4).status.ok());
  const std::string log = read("log");
  EXPECT_NE(log.find(R"("partition":"p1","status":"INTERNAL",)"), std::string::npos) << log;
  EXPECT_NE(log.find(R"("fault":"lose_reply"})"), std::string::npos) << log;
  EXPECT_EQ(log.find("fault"), log.rfind("fault"));
}

TEST_F(SimulatorFaultsTest, ABadPlanIsNamedAtTheStart) {
  const std::string path = write("plan", R"({"faults":[{"call":"*","action":"explode"}]})");
  SimulatorProcess process(PROGRAM_DIR "/vipu-simulator",
                           {"--listen", "127.0.0.1:0", "--faults", path});
  EXPECT_EQ(process.end(0), 1);
  EXPECT_NE(process.output().find("faults[0]: key 'action'"), std::string::npos)
      << process.output();
}

}  // namespace
}  // namespace test
