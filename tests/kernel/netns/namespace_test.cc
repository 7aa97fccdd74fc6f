// SPDX-License-Identifier: Apache-2.0
#include "netns/namespace.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/names.h"
#include "base/text.h"
#include "netns/internal/scope.h"
#include "tests/kernel/netns/world.h"
#include "tests/support/requires.h"

namespace netns {
namespace {

using namespace base::names;

class NamespaceTest : public testing::Test {
 protected:
  void SetUp() override { REQUIRES_ROOT(); }
};

TEST_F(NamespaceTest, IsTheSameByEveryWayToIt) {
  const Namespace current = must(Namespace::current());
  EXPECT_EQ(must(Namespace::of_process(getpid())).identity(), current.identity());
  EXPECT_EQ(must(Namespace::at("/proc/self/ns/net")).identity(), current.identity());
}

TEST_F(NamespaceTest, DiffersInEveryPartButTheDeviceFromAnother) {
  const Namespace one = make_namespace();
  const Namespace two = make_namespace();
  EXPECT_FALSE(one.identity() == two.identity());
  EXPECT_NE(one.identity().inode, two.identity().inode);
  EXPECT_NE(one.identity().cookie, two.identity().cookie);
}

TEST_F(NamespaceTest, LeavesTheThreadWhereItWas) {
  const Identity before = must(Namespace::current()).identity();
  const Namespace other = make_namespace();
  EXPECT_TRUE(must(internal::open_socket(other.fd(), AF_INET, SOCK_DGRAM, 0)).valid());
  EXPECT_TRUE(must(Namespace::current()).identity() == before);
}

TEST_F(NamespaceTest, MakesTheSocketInsideOnly) {
  const Namespace other = make_namespace();
  const base::Fd socket = must(internal::open_socket(other.fd(), AF_INET, SOCK_DGRAM, 0));
  uint64_t cookie = 0;
  socklen_t size = sizeof cookie;
  ASSERT_EQ(getsockopt(socket.get(), SOL_SOCKET, SO_NETNS_COOKIE, &cookie, &size), 0);
  EXPECT_EQ(cookie, other.identity().cookie);
  EXPECT_EQ(fcntl(socket.get(), F_GETFD), FD_CLOEXEC);
}

TEST_F(NamespaceTest, ReportsAProcessThatIsGone) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) _exit(0);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  const auto gone = Namespace::of_process(child);
  ASSERT_FALSE(gone.ok());
  EXPECT_EQ(gone.error().code(), Code::kNotFound);
  EXPECT_NE(gone.error().message().find(std::to_string(child)), std::string::npos);
}

TEST_F(NamespaceTest, RefusesProcessesThatCannotExist) {
  EXPECT_EQ(Namespace::of_process(0).error().code(), Code::kInvalid);
  EXPECT_EQ(Namespace::of_process(-1).error().code(), Code::kInvalid);
}

TEST_F(NamespaceTest, RefusesFilesThatAreNoNetworkNamespace) {
  for (const char* path : {"/proc/self/ns/mnt", "/proc/self/status", "/dev/null", "/"}) {
    const auto result = Namespace::at(path);
    ASSERT_FALSE(result.ok()) << path;
    EXPECT_EQ(result.error().code(), Code::kInvalid) << result.error().message();
  }
  EXPECT_EQ(Namespace::at("/proc/self/ns/absent").error().code(), Code::kNotFound);
}

TEST_F(NamespaceTest, DoesNotWaitForTheWriterOfAFifo) {
  char directory[] = "/tmp/netns-test.XXXXXX";
  ASSERT_NE(mkdtemp(directory), nullptr);
  const std::string fifo = str(directory, "/fifo");
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  const auto result = Namespace::at(fifo);
  EXPECT_EQ(unlink(fifo.c_str()), 0);
  EXPECT_EQ(rmdir(directory), 0);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code(), Code::kInvalid);
}

}  // namespace
}  // namespace netns
