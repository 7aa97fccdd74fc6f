// SPDX-License-Identifier: Apache-2.0
// The endpoints of vipu-simulator, in a network namespace of the test's own.
#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <functional>
#include <thread>

#include "base/fd.h"
#include "base/fs.h"
#include "base/text.h"
#include "tests/support/outcome.h"
#include "tests/support/requires.h"
#include "tests/support/simulator_client.h"
#include "tests/support/simulator_process.h"

namespace {

using base::Fd;
using base::str;

sockaddr ipv4(const std::string& address, uint32_t port) {
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_port = htons(static_cast<uint16_t>(port));
  (void)::inet_pton(AF_INET, address.c_str(), &name.sin_addr);
  sockaddr general{};
  std::memcpy(&general, &name, sizeof general);
  return general;
}

// A new network namespace, which lives as long as the descriptor.
Fd make_namespace() {
  Fd made;
  std::thread([&] {
    if (::unshare(CLONE_NEWNET) != 0) return;
    made.reset(::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC));
  }).join();
  return made;
}

void in_namespace(const Fd& netns, const std::function<void()>& function) {
  std::thread([&] {
    ASSERT_EQ(::setns(netns.get(), CLONE_NEWNET), 0);
    function();
  }).join();
}

// Makes all of 10.5.1.0/24 local: an address with a prefix does that on lo, and on lo alone.
void use_fabric() {
  const Fd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq request{};
  std::strcpy(request.ifr_name, "lo");
  request.ifr_addr = ipv4("10.5.1.254", 0);
  ASSERT_EQ(::ioctl(socket.get(), SIOCSIFADDR, &request), 0);
  request.ifr_addr = ipv4("255.255.255.0", 0);
  ASSERT_EQ(::ioctl(socket.get(), SIOCSIFNETMASK, &request), 0);
  request.ifr_flags = IFF_UP;
  ASSERT_EQ(::ioctl(socket.get(), SIOCSIFFLAGS, &request), 0);
}

// What an endpoint says; the error if it cannot be reached.
std::string said_by(const std::string& address, uint32_t port) {
  const Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const timeval patience{5, 0};
  (void)::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  (void)::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  const sockaddr name = ipv4(address, port);
  if (::connect(socket.get(), &name, sizeof name) != 0) return std::strerror(errno);
  const base::Result<std::string> text = base::read_all(socket.get(), 4096, "endpoint");
  return text.ok() ? text.value() : text.error().message();
}

class EndpointsTest : public testing::Test {
 protected:
  void SetUp() override {
    REQUIRES_ROOT();
    netns_ = make_namespace();
    ASSERT_TRUE(netns_.valid());
    simulator_ = std::make_unique<test::SimulatorProcess>(
        PROGRAM_DIR "/vipu-simulator",
        std::vector<std::string>{"--listen", "127.0.0.1:0", "--pod", "pod16", "--create-delay",
                                 "1ms", "--endpoints", "--netns",
                                 str("/proc/", ::getpid(), "/fd/", netns_.get())});
    client_ = std::make_unique<test::SimulatorClient>(simulator_->wait_until_ready());
  }
  void create(const std::string& id, uint32_t size) {
    ASSERT_TRUE(client_->create(id, size).status.ok());
    ASSERT_TRUE(client_->reaches(id, virmgrpc::PS_ACTIVE));
  }

  Fd netns_;
  std::unique_ptr<test::SimulatorProcess> simulator_;
  std::unique_ptr<test::SimulatorClient> client_;
};

TEST_F(EndpointsTest, EachPortOfAPartitionNamesItsMachineItsIpuAndThePartition) {
  in_namespace(netns_, use_fabric);  // later than the simulator started
  create("p0", 8);
  const auto config = client_->config("p0");
  in_namespace(netns_, [&] {
    for (const auto& device : config.reply.ipuof_config().gcd_configs(0).devices()) {
      const std::string line =
          str("ipu-machine ", device.ip(), " ipu ", device.device_id(), " partition p0\n");
      EXPECT_EQ(said_by(device.ip(), device.server_port()), line);
      EXPECT_EQ(said_by(device.ip(), device.rdma_port()), line);
    }
    EXPECT_EQ(said_by("10.5.1.4", 50055), "ipu-machine 10.5.1.4 ipu 3 partition none\n");
  });
}

TEST_F(EndpointsTest, AnEndpointForgetsAPartitionThatIsGone) {
  in_namespace(netns_, use_fabric);
  create("p0", 4);
  ASSERT_TRUE(client_->remove("p0").status.ok());
  in_namespace(netns_, [] {
    EXPECT_EQ(said_by("10.5.1.1", 50052), "ipu-machine 10.5.1.1 ipu 0 partition none\n");
  });
}

TEST_F(EndpointsTest, ThereIsNoEndpointOutsideOfThePodOrOfTheNamespace) {
  in_namespace(netns_, use_fabric);
  in_namespace(netns_, [] {
    EXPECT_EQ(said_by("10.5.1.5", 50052), "Connection refused");
    EXPECT_EQ(said_by("10.5.1.1", 50056), "Connection refused");
  });
  in_namespace(make_namespace(), [] {
    use_fabric();
    EXPECT_EQ(said_by("10.5.1.1", 50052), "Connection refused");
  });
}

TEST_F(EndpointsTest, ManyConnectionsThatReadNothingDoNotStopIt) {
  in_namespace(netns_, use_fabric);
  in_namespace(netns_, [] {
    const sockaddr name = ipv4("10.5.1.1", 50052);
    std::vector<Fd> open;
    for (int i = 0; i < 500; ++i) {
      open.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
      ASSERT_EQ(::connect(open.back().get(), &name, sizeof name), 0);
    }
    EXPECT_EQ(said_by("10.5.1.1", 50052), "ipu-machine 10.5.1.1 ipu 0 partition none\n");
  });
  EXPECT_EQ(simulator_->end(SIGTERM), 0);
}

TEST_F(EndpointsTest, APod256HasMoreEndpointsThanTheUsualLimitOfDescriptors) {
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  const rlimit low{256, limit.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
  test::SimulatorProcess large(
      PROGRAM_DIR "/vipu-simulator",
      {"--listen", "127.0.0.1:0", "--pod", "pod256", "--endpoints", "--netns",
       str("/proc/", ::getpid(), "/fd/", netns_.get()), "--fabric", "10.5.2.0/24"});
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
  EXPECT_NE(large.wait_until_ready(), "") << large.output();
}

}  // namespace
