// SPDX-License-Identifier: Apache-2.0
#include "netns/listen.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <cerrno>

#include "netns/internal/scope.h"
#include "tests/kernel/netns/world.h"
#include "tests/support/outcome.h"
#include "tests/support/requires.h"

namespace netns {
namespace {

constexpr uint16_t kPort = 8090;

class ListenTest : public testing::Test {
 protected:
  void SetUp() override { REQUIRES_ROOT(); }
  static Address loopback() { return must(parse_address("127.0.0.1")); }
};

uint64_t cookie_of(int fd) {
  uint64_t cookie = 0;
  socklen_t size = sizeof cookie;
  EXPECT_EQ(getsockopt(fd, SOL_SOCKET, SO_NETNS_COOKIE, &cookie, &size), 0);
  return cookie;
}

TEST_F(ListenTest, IsASocketOfThatNamespaceWhoseLoopbackIsDown) {
  const Namespace other = make_namespace();
  const base::Fd socket = must(listen_in(other, loopback(), kPort));
  EXPECT_EQ(cookie_of(socket.get()), other.identity().cookie);
  int listens = 0;
  socklen_t size = sizeof listens;
  ASSERT_EQ(getsockopt(socket.get(), SOL_SOCKET, SO_ACCEPTCONN, &listens, &size), 0);
  EXPECT_EQ(listens, 1);
}

TEST_F(ListenTest, FailsWhereAnotherListens) {
  const Namespace other = make_namespace();
  const base::Fd socket = must(listen_in(other, loopback(), kPort));
  const base::Result<base::Fd> second = listen_in(other, loopback(), kPort);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().sys_errno(), EADDRINUSE);
  const Namespace third = make_namespace();
  EXPECT_TRUE(test::succeeds(listen_in(third, loopback(), kPort)));
}

}  // namespace
}  // namespace netns
