// SPDX-License-Identifier: Apache-2.0
// The client looks the controller's name up in files and at a DNS server of its own. Containers are
// kept from what it finds, so an answer that is missing must not pass for one without addresses.
#include <arpa/inet.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>

#include <atomic>
#include <map>
#include <thread>

#include "base/fs.h"
#include "tests/support/outcome.h"
#include "tests/support/requires.h"
#include "tests/support/temp_dir.h"
#include "vipu/process_controller.h"

namespace test {
namespace {

using testing::ElementsAre;

constexpr uint16_t kA = 1;
constexpr uint16_t kAaaa = 28;
// Codes of answers (RFC 1035, 4.1.1).
constexpr uint8_t kNone = 0;
constexpr uint8_t kServerFailure = 2;
constexpr uint8_t kNoSuchName = 3;

struct Answer {
  uint8_t code = kNone;
  std::vector<std::string> addresses = {};
};

// Answers each question by its type, on 127.0.0.1:53 of the namespace that it is made in.
class DnsServer {
 public:
  DnsServer() : socket_(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(53);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::bind(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  }
  DnsServer(const DnsServer&) = delete;
  DnsServer& operator=(const DnsServer&) = delete;
  ~DnsServer() {
    is_over_ = true;
    if (thread_.joinable()) thread_.join();
  }
  void serve(std::map<uint16_t, Answer> answers) {
    answers_ = std::move(answers);
    thread_ = std::thread([this] { run(); });
  }
  [[nodiscard]] int questions() const { return questions_; }

 private:
  void run() {
    while (!is_over_) {
      pollfd waiter{socket_.get(), POLLIN, 0};
      if (::poll(&waiter, 1, 20) == 1) answer_one();
    }
  }

  void answer_one() {
    char question[512];
    sockaddr_in from{};
    socklen_t length = sizeof from;
    auto* const peer = reinterpret_cast<sockaddr*>(&from);
    const ssize_t got = ::recvfrom(socket_.get(), question, sizeof question, 0, peer, &length);
    if (got < 17) return;
    questions_ += 1;
    const std::string reply = reply_to(std::string(question, static_cast<size_t>(got)));
    (void)::sendto(socket_.get(), reply.data(), reply.size(), 0, peer, length);
  }

  std::string reply_to(const std::string& question) {
    const size_t end = question.find('\0', 12) + 5;  // of the name, type and class
    const auto type = static_cast<uint16_t>(static_cast<unsigned char>(question[end - 3]));
    const Answer& answer = answers_[type];
    std::string reply = question.substr(0, 2);
    reply += {'\x81', static_cast<char>(0x80 | answer.code), 0, 1, 0};
    reply += {static_cast<char>(answer.addresses.size()), 0, 0, 0, 0};
    reply += question.substr(12, end - 12);
    for (const std::string& address : answer.addresses) {
      in6_addr raw{};
      EXPECT_EQ(::inet_pton(type == kA ? AF_INET : AF_INET6, address.c_str(), &raw), 1);
      const size_t size = type == kA ? 4 : 16;
      reply += {'\xc0', 12, 0, static_cast<char>(type), 0, 1, 0, 0, 0, 60};
      reply += {0, static_cast<char>(size)};
      reply.append(reinterpret_cast<const char*>(&raw), size);
    }
    return reply;
  }

  base::Fd socket_;
  std::map<uint16_t, Answer> answers_;
  std::atomic<bool> is_over_ = false;
  std::atomic<int> questions_ = 0;
  std::thread thread_;
};

class ClientNamesTest : public testing::Test {
 protected:
  void SetUp() override {
    REQUIRES_ROOT();
    ASSERT_EQ(::unshare(CLONE_NEWNET | CLONE_NEWNS), 0);
    ASSERT_EQ(::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr), 0);
    const base::Fd any(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    ifreq loopback{};
    loopback.ifr_name[0] = 'l';
    loopback.ifr_name[1] = 'o';
    loopback.ifr_flags = IFF_UP;
    ASSERT_EQ(::ioctl(any.get(), SIOCSIFFLAGS, &loopback), 0);
    replace("/etc/resolv.conf", "nameserver 127.0.0.1\n");
    replace("/etc/hosts", "127.0.0.1 localhost\n");
    replace("/etc/nsswitch.conf", "hosts: files dns\n");
    server_.emplace();
  }
  void TearDown() override {
    server_.reset();
    if (network_.valid()) {
      EXPECT_EQ(::setns(network_.get(), CLONE_NEWNET), 0);
    }
    if (mounts_.valid()) {
      EXPECT_EQ(::setns(mounts_.get(), CLONE_NEWNS), 0);
    }
  }

  // What PATH has from now on, in the namespace of this test.
  void replace(const std::string& path, const std::string& text) {
    const std::string file = dir_ / base::str("file", files_++);
    ASSERT_TRUE(succeeds(base::write_atomic(file, text, {0644, {}, {}})));
    ASSERT_EQ(::mount(file.c_str(), path.c_str(), nullptr, MS_BIND, nullptr), 0) << path;
  }

  base::Result<std::vector<std::string>> look_up(std::map<uint16_t, Answer> answers,
                                                 const std::string& host = "vipu.test") {
    server_->serve(std::move(answers));
    vipu::ClientOptions options;
    options.program = PROGRAM_DIR "/ipu-vipu-client";
    options.endpoint.address = host + ":8090";
    return vipu::make_process_controller(options)->addresses(
        base::Deadline::after(std::chrono::milliseconds(10'000)));
  }

  TempDir dir_;
  std::optional<DnsServer> server_;

 private:
  const base::Fd network_{::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC)};
  const base::Fd mounts_{::open("/proc/thread-self/ns/mnt", O_RDONLY | O_CLOEXEC)};
  int files_ = 0;
};

TEST_F(ClientNamesTest, FindsTheAddressesOfBothFamilies) {
  const auto found =
      look_up({{kA, {kNone, {"10.1.3.101", "10.1.3.102"}}}, {kAaaa, {kNone, {"fd00::1"}}}});
  ASSERT_TRUE(succeeds(found));
  EXPECT_THAT(found.value(), ElementsAre("10.1.3.101", "10.1.3.102", "fd00::1"));
}

TEST_F(ClientNamesTest, NeedsNoAddressOfTheOtherFamily) {
  const auto found = look_up({{kA, {kNone, {"10.1.3.101"}}}, {kAaaa, {kNone}}});
  ASSERT_TRUE(succeeds(found));
  EXPECT_THAT(found.value(), ElementsAre("10.1.3.101"));
}

TEST_F(ClientNamesTest, FailsIfTheServerCannotTellTheAddressesOfOneFamily) {
  EXPECT_TRUE(fails(look_up({{kA, {kNone, {"10.1.3.101"}}}, {kAaaa, {kServerFailure}}}),
                    base::Code::kUnavailable, "DNS resolution failed for vipu.test:8090: IPv6"));
}

// The server has the port and never answers.
TEST_F(ClientNamesTest, SaysThatNoNameServerAnswered) {
  vipu::ClientOptions options;
  options.program = PROGRAM_DIR "/ipu-vipu-client";
  options.endpoint.address = "vipu.test:8090";
  const auto client = vipu::make_process_controller(options);
  const auto soon = [] { return base::Deadline::after(std::chrono::milliseconds(5000)); };
  EXPECT_TRUE(fails(client->version(soon()), base::Code::kUnavailable,
                    "DNS resolution failed for vipu.test:8090: no name server answered in time"));
  EXPECT_TRUE(fails(client->addresses(soon()), base::Code::kTimeout, "no name server answered"));
}

TEST_F(ClientNamesTest, FailsIfThereIsNoSuchName) {
  EXPECT_TRUE(fails(look_up({{kA, {kNoSuchName}}, {kAaaa, {kNoSuchName}}}),
                    base::Code::kUnavailable, "vipu.test:8090: Domain name not found"));
}

TEST_F(ClientNamesTest, AsksNoServerForANameInEtcHosts) {
  replace("/etc/hosts", "10.1.3.103 vipu.test\nfd00::3 vipu.test\n10.1.3.104 vipu.test\n");
  const auto found = look_up({});
  ASSERT_TRUE(succeeds(found));
  EXPECT_THAT(found.value(), ElementsAre("10.1.3.103", "10.1.3.104", "fd00::3"));
  EXPECT_EQ(server_->questions(), 0);
}

TEST_F(ClientNamesTest, AsksTheServerFirstWhereTheHostSaysSo) {
  replace("/etc/nsswitch.conf", "hosts: dns files\n");
  replace("/etc/hosts", "10.1.3.103 vipu.test\n");
  const auto found = look_up({{kA, {kNone, {"10.1.3.101"}}}, {kAaaa, {kNone}}});
  ASSERT_TRUE(succeeds(found));
  EXPECT_THAT(found.value(), ElementsAre("10.1.3.101"));
}

TEST_F(ClientNamesTest, AsksNoServerForLocalhost) {
  replace("/etc/nsswitch.conf", "hosts: dns files\n");
  const auto found = look_up({}, "localhost");
  ASSERT_TRUE(succeeds(found));
  EXPECT_EQ(found.value().front(), "127.0.0.1");
  EXPECT_EQ(server_->questions(), 0);
}

}  // namespace
}  // namespace test
