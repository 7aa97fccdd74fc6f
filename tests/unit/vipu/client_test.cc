// SPDX-License-Identifier: Apache-2.0
// The program ipu-vipu-client by itself: whatever it is told, it answers with one reply.
#include <gtest/gtest.h>

#include <csignal>
#include <future>

#include "base/process.h"
#include "tests/support/outcome.h"
#include "tests/unit/vipu/simulator_process.h"
#include "vipu/wire.h"

namespace vipu {
namespace {

using base::Code;
using base::Deadline;
using std::chrono::milliseconds;

// What the client writes when it is given INPUT; it must end well in any case.
std::string reply_to(const std::string& input) {
  base::Command command;
  command.path = PROGRAM_DIR "/ipu-vipu-client";
  command.args = {"ipu-vipu-client"};
  command.input = input;
  command.max_output = wire::kMaxReply;
  const base::Result<base::Output> output =
      base::run(command, Deadline::after(milliseconds(20'000)));
  EXPECT_TRUE(test::succeeds(output));
  if (!output.ok()) return "";
  EXPECT_EQ(output.value().exit_status, 0);
  return output.value().out;
}

TEST(ClientTest, WhatIsNoRequestIsAnsweredWithTheReason) {
  for (const char* input : {"", "{", "[]", "{}", R"({"controller":"unix:/x","call":"list"})"}) {
    EXPECT_TRUE(
        test::fails(wire::parse_reply<Capacity>(reply_to(input)), Code::kInvalid, "request"))
        << input;
  }
}

TEST(ClientTest, ARequestThatIsTooLongIsAnsweredAsSuch) {
  const std::string reply = reply_to(std::string(wire::kMaxRequest + 1, ' '));
  EXPECT_TRUE(test::fails(wire::parse_reply<Capacity>(reply), Code::kInvalid, "longer than"));
}

TEST(ClientTest, ACreateThatTakesTooLongSaysHowFarItCame) {
  test::SimulatorProcess simulator(PROGRAM_DIR "/vipu-simulator",
                                   {"--listen", "127.0.0.1:0", "--create-delay", "1h"});
  const wire::Request request{
      simulator.wait_until_ready(), milliseconds(1000), wire::Call::kCreate, {"p0", 4, false, ""}};
  EXPECT_TRUE(test::fails(wire::parse_reply<Grant>(reply_to(wire::to_text(request))),
                          Code::kTimeout, "still PENDING, not ACTIVE within 1000 ms"));
}

TEST(ClientTest, ACreateThatLosesItsControllerDoesNotSayThatItWasNeverReached) {
  test::SimulatorProcess simulator(PROGRAM_DIR "/vipu-simulator",
                                   {"--listen", "127.0.0.1:0", "--create-delay", "1h"});
  const std::string address = simulator.wait_until_ready();
  const wire::Request create{
      address, milliseconds(20'000), wire::Call::kCreate, {"p0", 4, false, ""}};
  const wire::Request status{
      address, milliseconds(5000), wire::Call::kStatus, {"p0", 0, false, ""}};
  std::future<std::string> reply =
      std::async(std::launch::async, [&] { return reply_to(wire::to_text(create)); });
  const auto patience = Deadline::after(milliseconds(15'000));
  while (!wire::parse_reply<PartitionStatus>(reply_to(wire::to_text(status))).ok()) {
    ASSERT_FALSE(patience.passed()) << "the partition never appeared";
  }
  ASSERT_EQ(simulator.end(SIGKILL), -1);
  EXPECT_TRUE(test::fails(wire::parse_reply<Grant>(reply.get()), Code::kInternal, "was lost"));
}

}  // namespace
}  // namespace vipu
