// SPDX-License-Identifier: Apache-2.0
// The control socket, the metrics and the log of vipu-simulator.
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <csignal>
#include <cstring>
#include <set>
#include <thread>

#include "base/json.h"
#include "tests/unit/cmd/vipu-simulator/fixture.h"

namespace test {
namespace {

using base::Json;
using grpc::StatusCode;
using std::chrono::milliseconds;

class SimulatorControlTest : public SimulatorFixture {
 protected:
  void start_with_control(std::vector<std::string> args = {}) {
    args.insert(args.end(), {"--control", dir_ / "control", "--pod", "pod16", "--log", dir_ / "log",
                             "--auto-reset-delay", "1ms"});
    start(std::move(args));
  }
  Json asked(const std::string& command, const std::string& argument = "") {
    const base::Result<Json> reply = base::parse_json(control(command, argument), "reply");
    return reply.ok() ? reply.value() : Json::object();
  }
};

TEST_F(SimulatorControlTest, TheSocketIsForItsOwnerAndGoesWithTheProgram) {
  start_with_control();
  struct stat info {};
  ASSERT_EQ(::stat((dir_ / "control").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600U);
  control_succeeds("stop");
  EXPECT_EQ(simulator().end(0), 0);
  EXPECT_NE(::stat((dir_ / "control").c_str(), &info), 0);
}

TEST_F(SimulatorControlTest, ADeadSimulatorsSocketIsReplacedALiveOnesIsNot) {
  start_with_control();
  SimulatorProcess second(PROGRAM_DIR "/vipu-simulator",
                          {"--listen", "127.0.0.1:0", "--control", dir_ / "control"});
  EXPECT_EQ(second.end(0), 1);
  EXPECT_NE(second.output().find("another program listens"), std::string::npos);
  control_succeeds("check");
  EXPECT_EQ(simulator().end(SIGKILL), -1);
  start_with_control();
  control_succeeds("check");
}

// The last line of what ARGS print, as arguments, with the socket in DIR.
std::vector<std::string> example_of(std::vector<std::string> args, const TempDir& dir) {
  args.emplace_back("--help");
  SimulatorProcess process(PROGRAM_DIR "/vipu-simulator", args);
  EXPECT_EQ(process.end(0), 0);
  const std::string_view help = base::trim(process.output());
  const size_t line = help.rfind('\n');
  EXPECT_EQ(help.substr(0, line).substr(help.rfind('\n', line - 1) + 1), "Example:") << help;
  std::vector<std::string> example;
  for (const std::string_view word : base::split(base::trim(help.substr(line)), ' ')) {
    example.emplace_back(word.ends_with(".sock") ? dir / "control" : std::string(word));
  }
  EXPECT_EQ(example.front(), "vipu-simulator");
  example.erase(example.begin());
  return example;
}

TEST_F(SimulatorControlTest, TheHelpEndsWithAnExampleThatWorks) {
  start(example_of({}, dir_));
  const std::vector<std::string> command = example_of({"control"}, dir_);
  SimulatorProcess process(PROGRAM_DIR "/vipu-simulator", command);
  EXPECT_EQ(process.end(0), 0) << process.output();
}

TEST_F(SimulatorControlTest, AFileInThePlaceOfTheSocketIsLeftAlone) {
  (void)write("control", "precious");
  SimulatorProcess process(PROGRAM_DIR "/vipu-simulator",
                           {"--listen", "127.0.0.1:0", "--control", dir_ / "control"});
  EXPECT_EQ(process.end(0), 1);
  EXPECT_NE(process.output().find("it exists and is no socket"), std::string::npos)
      << process.output();
  EXPECT_EQ(read("control"), "precious");
}

TEST_F(SimulatorControlTest, WrongCommandsAreNamed) {
  start_with_control();
  const struct {
    const char* command;
    const char* argument;
    const char* in_error;
  } cases[] = {{"explode", "", "unknown command 'explode'"},
               {"agent-down", "ag5", "no agent 'ag5'"},
               {"agent-down", "", "an agent"},
               {"taint", "16", "no IPU 16"},
               {"taint", "x", "number of an IPU"},
               {"restart", R"({"down":"5"})", "500ms"},
               {"restart", R"({"down":"1h"})", "500ms"},
               {"set-error", R"({"partition":"p0","errors":["x"]})", "no partition 'p0'"},
               {"set-error", R"({"partition":"p0"})", "like"},
               {"faults", R"({"faults":[{"call":"*"}]})", "'action'"}};
  for (const auto& c : cases) {
    const Json reply = asked(c.command, c.argument);
    EXPECT_EQ(control_exit_, 1) << c.command;
    EXPECT_EQ(reply.value("ok", true), false) << c.command;
    EXPECT_NE(reply.value("error", "").find(c.in_error), std::string::npos) << reply;
  }
}

TEST_F(SimulatorControlTest, FaultsAreReplacedAndCleared) {
  start_with_control();
  control_succeeds("faults", R"({"faults":[{"call":"GetVersion","times":0,"action":"status",)"
                             R"("status":"ABORTED"}]})");
  EXPECT_EQ(client().version().code(), StatusCode::ABORTED);
  control_succeeds("clear");
  EXPECT_TRUE(client().version().status.ok());
}

TEST_F(SimulatorControlTest, ARestartKeepsThePartitionsAndThePort) {
  start_with_control();
  ASSERT_TRUE(client().create("p0", 4).status.ok());
  control_succeeds("restart", R"({"down":"20ms"})");
  SimulatorClient again(address_);
  EXPECT_TRUE(again.status("p0").status.ok());
}

TEST_F(SimulatorControlTest, WhileItIsDownNobodyAnswers) {
  start_with_control();
  control_succeeds("faults", R"({"faults":[{"call":"CreatePartition","action":"lose_reply"}]})");
  std::thread hanging([&] {
    SimulatorClient other(address_);
    EXPECT_FALSE(other.create("p0", 4).status.ok());
  });
  ASSERT_TRUE(client().reaches("p0", virmgrpc::PS_ACTIVE));
  std::thread restart([&] { control_succeeds("restart", R"({"down":"3s"})"); });
  hanging.join();  // its connection is gone
  EXPECT_EQ(SimulatorClient(address_).version().code(), StatusCode::UNAVAILABLE);
  restart.join();
  EXPECT_TRUE(SimulatorClient(address_).status("p0").status.ok());
}

TEST_F(SimulatorControlTest, ASignalEndsARestart) {
  start_with_control();
  std::thread restart([&] { (void)control("restart", R"({"down":"60s"})"); });
  for (int i = 0; i < 100'000 && client().version().status.ok(); ++i) {
  }
  const base::Deadline deadline = base::Deadline::after(milliseconds(5000));
  EXPECT_EQ(simulator().end(SIGTERM), 0);
  EXPECT_FALSE(deadline.passed());
  restart.join();
}

TEST_F(SimulatorControlTest, AnAgentThatIsDownTakesItsPartitionsWithIt) {
  start_with_control();
  ASSERT_TRUE(client().create("p0", 4).status.ok());
  ASSERT_TRUE(client().reaches("p0", virmgrpc::PS_ACTIVE));
  control_succeeds("agent-down", "ag1");
  EXPECT_EQ(client().status("p0").reply.status().errors(0), "agent ag1 is down");
  control_succeeds("agent-up", "ag1");
  ASSERT_TRUE(client().reset("p0").status.ok());
  EXPECT_TRUE(client().reaches("p0", virmgrpc::PS_ACTIVE));
}

TEST_F(SimulatorControlTest, ChecksAndCountsThePod) {
  start_with_control();
  ASSERT_TRUE(client().create("p0", 4).status.ok());
  control_succeeds("taint", "15");
  EXPECT_EQ(control("check"),
            R"({"ok":true,"partitions":1,"ipus":16,"held":4,"tainted":1,"free":11,)"
            R"("largest_free":4})"
            "\n");
  control_succeeds("untaint", "15");
  const Json partitions = asked("partitions")["partitions"];
  ASSERT_EQ(partitions.size(), 1U);
  EXPECT_EQ(partitions[0]["id"], "p0");
  EXPECT_EQ(partitions[0]["ipus"], (std::vector<int>{0, 1, 2, 3}));
}

TEST_F(SimulatorControlTest, AnErrorByHandIsResetByItself) {
  start_with_control();
  ASSERT_TRUE(client().create("p0", 4).status.ok());
  ASSERT_TRUE(client().reaches("p0", virmgrpc::PS_ACTIVE));
  control_succeeds("set-error", R"({"partition":"p0","errors":["parity"]})");
  EXPECT_TRUE(client().reaches("p0", virmgrpc::PS_ACTIVE));
  EXPECT_EQ(client().status("p0").reply.status().auto_reset_retry_count(), 1U);
}

TEST_F(SimulatorControlTest, CallsAreCountedByMethodAndStatus) {
  start_with_control();
  EXPECT_FALSE(client().status("p0").status.ok());
  EXPECT_TRUE(client().version().status.ok());
  EXPECT_TRUE(client().version().status.ok());
  EXPECT_FALSE(client().raw("/no/method", "").ok());
  EXPECT_EQ(control("calls"), R"({"ok":true,"calls":{"GetPartitionStatus":{"NOT_FOUND":1},)"
                              R"("GetVersion":{"OK":2},"unknown":{"UNIMPLEMENTED":1}}})"
                              "\n");
}

TEST_F(SimulatorControlTest, AClientThatSaysNothingDoesNotStopIt) {
  start_with_control();
  const base::Fd silent(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  std::strcpy(name.sun_path, (dir_ / "control").c_str());
  ASSERT_EQ(::connect(silent.get(), reinterpret_cast<const sockaddr*>(&name), sizeof name), 0);
  EXPECT_EQ(simulator().end(SIGTERM), 0);
}

TEST_F(SimulatorControlTest, TheLogShowsThatNoIpuIsHeldTwice) {
  start_with_control();
  std::vector<std::thread> threads;
  for (int worker = 0; worker < 8; ++worker) {
    threads.emplace_back([&, worker] {
      SimulatorClient own(address_);
      for (int i = 0; i < 20; ++i) {
        const std::string id = base::str("p", worker, "-", i);
        const bool is_made = own.create(id, 1U << (i % 4)).status.ok();
        if (is_made && !own.remove(id).status.ok()) ADD_FAILURE() << id;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::set<int> held;
  size_t holds = 0;
  const std::string log = read("log");
  for (const std::string_view line : base::split(log, '\n')) {
    if (line.empty()) continue;
    const base::Result<Json> json = base::parse_json(line, "line");
    ASSERT_TRUE(succeeds(json)) << line;
    EXPECT_GT(json.value()["time"], 1'600'000'000'000);
    if (!json.value().contains("event") || json.value()["event"] == "start") continue;
    const bool is_hold = json.value()["event"] == "hold";
    holds += is_hold ? 1 : 0;
    for (const int ipu : json.value()["ipus"].get<std::vector<int>>()) {
      EXPECT_TRUE(is_hold ? held.insert(ipu).second : held.erase(ipu) == 1) << line;
    }
  }
  EXPECT_GT(holds, 0U);
  EXPECT_TRUE(held.empty());
  control_succeeds("check");
}

TEST_F(SimulatorControlTest, ACallIsOneLineOfTheLog) {
  start_with_control();
  EXPECT_FALSE(client().status("p0").status.ok());
  const std::string log = read("log");
  EXPECT_NE(log.find(R"("event":"start"})"), std::string::npos) << log;
  const std::string last = log.substr(log.find('\n') + 1);
  const base::Result<Json> line = base::parse_json(last, "line");
  ASSERT_TRUE(succeeds(line));
  EXPECT_EQ(line.value()["method"], "GetPartitionStatus");
  EXPECT_EQ(line.value()["partition"], "p0");
  EXPECT_EQ(line.value()["status"], "NOT_FOUND");
  EXPECT_LT(line.value()["ms"], 5000);
  EXPECT_EQ(line.value().size(), 5U);
}

// What the metrics answer to REQUEST, at ADDRESS of a ready line.
std::string http(const std::string& address, const std::string& request) {
  const base::Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const timeval patience{5, 0};
  (void)::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const std::string port = address.substr(address.find(':') + 1);
  name.sin_port = htons(base::parse_int<uint16_t>(port, 1, 65535).take());
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&name), sizeof name) != 0)
    return "";
  EXPECT_TRUE(succeeds(base::write_all(socket.get(), request, "metrics")));
  return base::read_all(socket.get(), 65536, "metrics").take();
}

TEST_F(SimulatorControlTest, MetricsShowThePodAndTheCalls) {
  start_with_control({"--metrics", "127.0.0.1:0"});
  ASSERT_TRUE(client().create("p0", 4).status.ok());
  const std::string output = simulator().output();
  const std::string mark = "metrics on ";
  ASSERT_NE(output.find(mark), std::string::npos) << output;
  const std::string address(base::trim(output.substr(output.find(mark) + mark.size())));
  const std::string text = http(address, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(text.substr(0, 17), "HTTP/1.1 200 OK\r\n");
  for (const char* line :
       {"vipu_simulator_ipus 16\n", "vipu_simulator_ipus_used 4\n",
        "vipu_simulator_ipus_tainted 0\n", "vipu_simulator_largest_free_block 8\n",
        "vipu_simulator_partitions{state=\"error\"} 0\n",
        "vipu_simulator_calls_total{method=\"CreatePartition\",status=\"OK\"} 1\n"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
  }
  EXPECT_TRUE(text.ends_with("# EOF\n"));
  EXPECT_EQ(http(address, "GET / HTTP/1.1\r\n\r\n").substr(9, 3), "404");
  EXPECT_EQ(http(address, "POST /metrics HTTP/1.1\r\n\r\n").substr(9, 3), "405");
  EXPECT_EQ(http(address, std::string(10'000, 'x')), "");
}

}  // namespace
}  // namespace test
