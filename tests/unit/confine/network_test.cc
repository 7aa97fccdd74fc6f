// SPDX-License-Identifier: Apache-2.0
// A confined process that somebody else has taken over: whom does it reach?
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <thread>
#include <vector>

#include "base/confine_ports.h"
#include "tests/unit/confine/child.h"
#include "tests/unit/confine/loopback_server.h"

namespace test {
namespace {

constexpr base::Network kGiven{.own_sockets = false};

Ending with_given_sockets(const std::function<int()>& probe) { return confined(probe, {}, kGiven); }

int send_to(int fd, const sockaddr* to, int flags) {
  return errno_of(::sendto(fd, "x", 1, flags | MSG_NOSIGNAL, to, sizeof(sockaddr_in)));
}

int connect_new(const LoopbackServer& server) { return server.connect().valid() ? 0 : errno; }

TEST(GivenSockets, CarryDataBothWays) {
  const LoopbackServer server;
  const base::Fd given = server.connect();
  const base::Fd peer = server.accept();
  ASSERT_EQ(::send(peer.get(), "x", 1, 0), 1);
  EXPECT_EQ(with_given_sockets([&] {
              char byte = 0;
              if (::recv(given.get(), &byte, 1, 0) != 1) return errno;
              return errno_of(::send(given.get(), "hello", 5, MSG_NOSIGNAL));
            }),
            kFine);
  char text[8] = {};
  EXPECT_EQ(::recv(peer.get(), text, sizeof text, 0), 5);
}

TEST(GivenSockets, AreAllThereAre) {
  const LoopbackServer server;
  EXPECT_EQ(unconfined([&] { return connect_new(server); }), kFine);
  EXPECT_EQ(with_given_sockets([&] { return connect_new(server); }), (Ending{ENOSYS, 0}));
  for (const int family : {AF_INET, AF_INET6, AF_UNIX}) {
    for (const int type : {SOCK_STREAM, SOCK_DGRAM}) {
      const auto probe = [&] { return errno_of(::socket(family, type, 0)); };
      EXPECT_EQ(with_given_sockets(probe), (Ending{ENOSYS, 0})) << family << " " << type;
    }
  }
}

TEST(GivenSockets, StayConnectedAsTheyAre) {
  const LoopbackServer server;
  const base::Fd fresh(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const base::Fd datagrams(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  for (const int fd : {fresh.get(), datagrams.get()}) {
    EXPECT_EQ(with_given_sockets(
                  [&] { return errno_of(::connect(fd, server.generic(), sizeof(sockaddr_in))); }),
              (Ending{ENOSYS, 0}));
  }
  const int on = 1;
  EXPECT_EQ(with_given_sockets([&] {
              return errno_of(::setsockopt(fresh.get(), SOL_SOCKET, SO_BROADCAST, &on, sizeof on));
            }),
            (Ending{ENOSYS, 0}));
}

// MSG_FASTOPEN connects without connect(), which Landlock does not see either.
TEST(GivenSockets, AreNotConnectedBySending) {
  const LoopbackServer server;
  const auto attack = [&] {
    const base::Fd fresh(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    return fresh.valid() ? send_to(fresh.get(), server.generic(), MSG_FASTOPEN) : errno;
  };
  EXPECT_EQ(unconfined(attack), kFine);
  EXPECT_TRUE(server.accept().valid()) << "the attack does not work at all";
  EXPECT_EQ(confined(attack), (Ending{ENOSYS, 0}));
  const base::Fd given(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_EQ(
      with_given_sockets([&] { return send_to(given.get(), server.generic(), MSG_FASTOPEN); }),
      (Ending{ENOSYS, 0}));
  EXPECT_FALSE(server.accept().valid());
}

constexpr base::Network kAccepting{.own_sockets = false, .service = base::Service::kAccepts};

Ending accepting(const std::function<int()>& probe) { return confined(probe, {}, kAccepting); }

TEST(AcceptedSockets, AreThoseOfAGivenOneAlone) {
  const LoopbackServer server;
  const base::Fd client = server.connect();
  EXPECT_EQ(accepting([&] {
              const int fd = ::accept4(server.fd(), nullptr, nullptr, SOCK_CLOEXEC);
              return fd < 0 ? errno : errno_of(::send(fd, "hello", 5, MSG_NOSIGNAL));
            }),
            kFine);
  char text[8] = {};
  EXPECT_EQ(::recv(client.get(), text, sizeof text, 0), 5);
  EXPECT_EQ(accepting([&] { return connect_new(server); }), (Ending{ENOSYS, 0}));
  EXPECT_EQ(accepting([&] { return errno_of(::listen(server.fd(), 1)); }), (Ending{ENOSYS, 0}));
  for (const int family : {AF_INET, AF_INET6, AF_UNIX, AF_NETLINK}) {
    const auto probe = [&] { return errno_of(::socket(family, SOCK_STREAM, 0)); };
    EXPECT_EQ(accepting(probe), (Ending{ENOSYS, 0})) << family;
  }
}

TEST(AcceptedSockets, ComeWithoutFiles) {
  const auto read_a_file = [] { return errno_of(::open("/etc/passwd", O_RDONLY | O_CLOEXEC)); };
  EXPECT_EQ(unconfined(read_a_file), kFine);
  EXPECT_EQ(accepting(read_a_file), (Ending{ENOSYS, 0}));
}

TEST(AcceptedSockets, ComeWithThreadsAndOthersWithout) {
  const auto start_threads = [] {
    std::atomic<int> sum = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 32; ++i) threads.emplace_back([&] { ++sum; });
    for (std::thread& thread : threads) thread.join();
    return sum == 32 ? 0 : 1;
  };
  EXPECT_EQ(accepting(start_threads), kFine);
  const auto enter_a_namespace = [] {
    constexpr unsigned long kFlags = CLONE_THREAD | CLONE_SIGHAND | CLONE_VM | CLONE_NEWUSER;
    return errno_of(::syscall(SYS_clone, kFlags, 0, 0, 0, 0));
  };
  EXPECT_EQ(accepting(enter_a_namespace), (Ending{ENOSYS, 0}));
  for (const bool own : {false, true}) {
    EXPECT_EQ(confined(start_threads, {}, {.own_sockets = own}), (Ending{-1, SIGSYS})) << own;
  }
}

TEST(OwnSockets, ConnectToOnePortWhereTheKernelHasLandlock) {
  const LoopbackServer mine;
  const LoopbackServer other;
  const base::Network network{.port = ::ntohs(mine.address().sin_port)};
  EXPECT_EQ(confined([&] { return connect_new(mine); }, {}, network), kFine);
  const bool has_ports = base::landlock_version() >= base::kLandlockPorts;
  EXPECT_EQ(confined([&] { return connect_new(other); }, {}, network),
            has_ports ? (Ending{EACCES, 0}) : kFine);
}

}  // namespace
}  // namespace test
