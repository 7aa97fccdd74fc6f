// SPDX-License-Identifier: Apache-2.0
// The program ipu-vipu-client: whatever it is told, it answers with one reply; and its calls that
// change nothing.
#include <gtest/gtest.h>

#include <functional>
#include <future>

#include "base/names.h"
#include "base/process.h"
#include "base/text.h"
#include "tests/unit/cmd/ipu-vipu-client/rig.h"
#include "vipu/wire.h"

namespace vipu {
namespace {

using namespace base::names;
using grpc::StatusCode;

// What the client writes when it is given INPUT; it must end well in any case.
std::string reply_to(const std::string& input,
                     std::string_view network = wire::kAskForConnections) {
  base::Command command;
  command.path = PROGRAM_DIR "/ipu-vipu-client";
  command.args = {"ipu-vipu-client", std::string(network)};
  command.input = input;
  command.max_output = wire::kMaxReply;
  const base::Result<base::Output> output =
      base::run(command, Deadline::after(std::chrono::milliseconds(20'000)));
  EXPECT_TRUE(test::succeeds(output));
  if (!output.ok()) return "";
  EXPECT_EQ(output.value().exit_status, 0);
  return output.value().out;
}

TEST(ClientProgramTest, WhatIsNoRequestIsAnsweredWithTheReason) {
  for (const char* input : {"", "{", "[]", "{}", R"({"controller":"unix:/x","call":"list"})"}) {
    EXPECT_TRUE(test::fails(wire::parse_reply<Survey>(reply_to(input)), Code::kInvalid, "request"))
        << input;
  }
}

TEST(ClientProgramTest, ARequestThatIsTooLongIsAnsweredAsSuch) {
  const std::string reply = reply_to(std::string(wire::kMaxRequest + 1, ' '));
  EXPECT_TRUE(test::fails(wire::parse_reply<Survey>(reply), Code::kInvalid, "longer than"));
}

TEST(ClientProgramTest, MakesNoConnectionItself) {
  test::ScriptedServer server;
  const std::string request =
      wire::to_text({.access = {server.address()}, .timeout = std::chrono::milliseconds(2000)});
  for (const std::string_view network : {wire::kAskForConnections, wire::kAskDns}) {
    EXPECT_TRUE(test::fails(wire::parse_reply<std::string>(reply_to(request, network)),
                            Code::kInternal, "ask the caller: Bad file descriptor"));
  }
  EXPECT_EQ(server.calls("GetVersion"), 0);
}

// A call that changes nothing, and the RPC that it makes first.
struct Read {
  const char* rpc;
  std::function<base::Status(Controller&, const Deadline&)> call;
};

template <typename T>
base::Status status_of(const base::Result<T>& result) {
  if (!result.ok()) return result.error();
  return {};
}

const std::vector<Read>& reads() {
  static const std::vector<Read> all = {
      {"ListPartitions", [](auto& c, const auto& d) { return status_of(c.list(d)); }},
      {"GetPartitionStatus", [](auto& c, const auto& d) { return status_of(c.status("p0", d)); }},
      {"GetPartitionIpuofConfig",
       [](auto& c, const auto& d) { return status_of(c.config("p0", std::nullopt, d)); }},
      {"ListIPUAttributes", [](auto& c, const auto& d) { return status_of(c.attributes({}, d)); }},
      {"ListIPUAttributes", [](auto& c, const auto& d) { return status_of(c.survey(d)); }},
      {"GetVersion", [](auto& c, const auto& d) { return status_of(c.version(d)); }}};
  return all;
}

class ClientReadTest : public ClientTest {
 protected:
  void SetUp() override { server().add(partition("p0", 4)); }

  // The outcome of every call on TARGET, all at the same time: each takes a while.
  static std::vector<base::Status> all_at_once(Controller& target, const Deadline& deadline) {
    std::vector<std::future<base::Status>> running;
    for (const Read& read : reads()) {
      running.push_back(
          std::async(std::launch::async, [&] { return read.call(target, deadline); }));
    }
    std::vector<base::Status> outcomes;
    for (auto& call : running) outcomes.push_back(call.get());
    return outcomes;
  }
};

TEST_F(ClientReadTest, IsTriedAgainAfterWhatMayPass) {
  const std::vector<test::Fault> faults = {
      failing(StatusCode::UNAVAILABLE), failing(StatusCode::ABORTED),
      failing(StatusCode::INTERNAL),    failing(StatusCode::UNKNOWN),
      failing(StatusCode::CANCELLED),   garbage()};
  for (const Read& read : reads()) {
    for (const test::Fault& fault : faults) {
      server().script(read.rpc, {fault});
      const int before = server().calls(read.rpc);
      EXPECT_TRUE(test::succeeds(read.call(controller(), soon()))) << read.rpc << fault.code;
      EXPECT_EQ(server().calls(read.rpc), before + 2) << read.rpc << fault.code;
    }
  }
}

TEST_F(ClientReadTest, IsTriedAgainWhenItGetsNoAnswer) {
  for (const Read& read : reads()) server().script(read.rpc, {hanging()});
  const Deadline deadline = Deadline::after(milliseconds(5000));
  for (const base::Status& outcome : all_at_once(controller(), deadline)) {
    EXPECT_TRUE(test::succeeds(outcome));
  }
}

TEST_F(ClientReadTest, IsNotTriedAgainWhenItIsRefused) {
  const struct {
    StatusCode status;
    const char* name;
    Code code;
  } cases[] = {{StatusCode::PERMISSION_DENIED, "PERMISSION_DENIED", Code::kDenied},
               {StatusCode::UNAUTHENTICATED, "UNAUTHENTICATED", Code::kDenied},
               {StatusCode::UNIMPLEMENTED, "UNIMPLEMENTED", Code::kUnsupported},
               {StatusCode::INVALID_ARGUMENT, "INVALID_ARGUMENT", Code::kInvalid}};
  for (const Read& read : reads()) {
    for (const auto& c : cases) {
      server().script(read.rpc, {failing(c.status)});
      const int before = server().calls(read.rpc);
      EXPECT_TRUE(test::fails(read.call(controller(), soon()), c.code, base::str("(", c.name)));
      EXPECT_EQ(server().calls(read.rpc), before + 1) << read.rpc << c.name;
    }
  }
}

TEST_F(ClientReadTest, GivesUpOnGarbageAfterAFewAttempts) {
  for (const Read& read : reads()) server().always(read.rpc, garbage());
  for (const base::Status& outcome : all_at_once(controller(), soon())) {
    EXPECT_TRUE(
        test::fails(outcome, Code::kInternal, "its answer cannot be parsed (INTERNAL after"));
  }
  EXPECT_EQ(server().calls("GetVersion"), 5);
}

TEST_F(ClientReadTest, AHangEndsInTimeAndSaysWhichControllerWhichCallAndHowLong) {
  server().always("GetPartitionStatus", hanging());
  const auto status = controller().status("p0", Deadline::after(milliseconds(3000)));
  EXPECT_TRUE(test::fails(
      status, Code::kTimeout,
      base::str("V-IPU controller ", server().address(), ": status 'p0': no answer within 2")));
  // 2750 ms, or a little less: some time has passed when the client begins.
  EXPECT_TRUE(test::fails(status, Code::kTimeout, " ms (DEADLINE_EXCEEDED)"));
}

TEST_F(ClientReadTest, ARefusedConnectionSaysSoAtOnce) {
  const auto dead = controller_at({"127.0.0.1:1"});
  const Deadline half = Deadline::after(milliseconds(5000));
  for (const base::Status& outcome : all_at_once(*dead, soon())) {
    EXPECT_TRUE(test::fails(outcome, Code::kUnavailable, "cannot be reached: failed to connect"));
  }
  EXPECT_FALSE(half.passed());
}

TEST_F(ClientReadTest, AControllerIsAlsoFoundByItsName) {
  const auto named = controller_at({str("localhost:", server().port())});
  EXPECT_EQ(named->version(soon()).take(), "1.18.0");
  const Grant grant = named->config("p0", std::nullopt, soon()).take();
  EXPECT_EQ(grant.controller_address, "127.0.0.1");
  EXPECT_EQ(grant.controller_addresses, named->addresses(soon()).take());
}

TEST_F(ClientReadTest, ConfigIsOfOneGcdOrOfAll) {
  ASSERT_TRUE(test::succeeds(controller().create({.id = "p8", .size = 8, .gcds = 2}, soon())));
  const auto all = controller().config("p8", std::nullopt, soon());
  ASSERT_TRUE(test::succeeds(all));
  ASSERT_EQ(all.value().gcds.size(), 2U);
  for (uint32_t gcd = 0; gcd < 2; ++gcd) {
    const auto one = controller().config("p8", gcd, soon());
    ASSERT_TRUE(test::succeeds(one));
    ASSERT_EQ(one.value().gcds.size(), 1U);
    EXPECT_EQ(one.value().gcds[0], all.value().gcds[gcd]);
    EXPECT_EQ(one.value().controller_address, "127.0.0.1");
  }
  EXPECT_TRUE(test::fails(controller().config("p8", 2, soon()), Code::kNotFound, "no such GCD"));
}

TEST_F(ClientReadTest, AConfigurationThatIsNotThereYetIsNotFound) {
  server().script("GetPartitionIpuofConfig", {failing(StatusCode::FAILED_PRECONDITION)});
  EXPECT_TRUE(test::fails(controller().config("p0", std::nullopt, soon()), Code::kNotFound));
  server().script("GetPartitionIpuofConfig", {failing(StatusCode::OUT_OF_RANGE)});
  EXPECT_TRUE(test::fails(controller().config("p0", 7, soon()), Code::kNotFound));
}

TEST_F(ClientReadTest, AttributesAreOfTheAgentsThatAreNamed) {
  const auto all = controller().attributes({}, soon());
  ASSERT_TRUE(test::succeeds(all));
  ASSERT_EQ(all.value().size(), 16U);
  EXPECT_EQ(all.value()[5], (IpuAttributes{"ag1", 1, {{"board ipu index", "1"}}}));
  EXPECT_EQ(controller().attributes({"ag2"}, soon()).take().size(), 4U);
  EXPECT_TRUE(controller().attributes({"ag9"}, soon()).take().empty());
}

TEST_F(ClientReadTest, ASurveyHasTheDomainsAndThePartitions) {
  const auto survey = controller().survey(soon());
  ASSERT_TRUE(test::succeeds(survey));
  EXPECT_EQ(survey.value().domains, std::vector<uint32_t>{16});
  ASSERT_EQ(survey.value().partitions.size(), 1U);
  EXPECT_EQ(survey.value().partitions[0].id, "p0");
}

// A controller may list what it has removed; it holds no IPUs.
TEST_F(ClientReadTest, ARemovedPartitionIsNotListed) {
  virmgrpc::Partition removed = partition("p1", 4);
  removed.set_ready_state(virmgrpc::PS_REMOVED);
  server().add(removed);
  const auto listed = controller().list(soon());
  ASSERT_TRUE(test::succeeds(listed));
  ASSERT_EQ(listed.value().size(), 1U);
  EXPECT_EQ(listed.value()[0].id, "p0");
  EXPECT_EQ(controller().survey(soon()).take().partitions.size(), 1U);
}

TEST_F(ClientReadTest, AStatusOfAnotherPartitionIsAnError) {
  server().set_status_name("p1");
  EXPECT_TRUE(test::fails(controller().status("p0", soon()), Code::kInternal, "status of 'p1'"));
}

}  // namespace
}  // namespace vipu
