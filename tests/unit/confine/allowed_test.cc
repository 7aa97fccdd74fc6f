// SPDX-License-Identifier: Apache-2.0
// What a confined process can still do, and how much of it.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <vector>

#include "base/fd.h"
#include "tests/unit/confine/child.h"
#include "tests/unit/confine/loopback_server.h"

namespace test {
namespace {

TEST(ConfinedProcess, ConnectsOverTcp) {
  const LoopbackServer server;
  EXPECT_EQ(confined([&] {
              const base::Fd peer(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
              const auto* const address = reinterpret_cast<const sockaddr*>(&server.address());
              if (::connect(peer.get(), address, sizeof server.address()) != 0) return errno;
              return errno_of(::send(peer.get(), "hello", 5, MSG_NOSIGNAL));
            }),
            kFine);
  char text[8] = {};
  EXPECT_EQ(::recv(server.accept().get(), text, sizeof text, 0), 5);
  EXPECT_STREQ(text, "hello");
}

TEST(ConfinedProcess, FindsAHostByItsName) {
  EXPECT_EQ(confined([] {
              addrinfo* found = nullptr;
              const int result = ::getaddrinfo("localhost", "80", nullptr, &found);
              if (found != nullptr) ::freeaddrinfo(found);
              return result == 0 ? 0 : 1;
            }),
            kFine);
}

TEST(ConfinedProcess, ReadsFiles) {
  EXPECT_EQ(confined([] {
              const base::Fd file(::open("/etc/hosts", O_RDONLY | O_CLOEXEC));
              char byte = 0;
              return errno_of(::read(file.get(), &byte, 1));
            }),
            kFine);
}

TEST(ConfinedProcess, CanAbort) {
  EXPECT_EQ(confined([]() -> int { std::abort(); }), (Ending{-1, SIGABRT}));
}

TEST(ConfinedProcess, HasNoMoreMemoryThanItsLimit) {
  constexpr size_t kSize = size_t{100} << 20;
  const auto probe = [] {
    const std::unique_ptr<void, decltype(&std::free)> memory(std::malloc(kSize), &std::free);
    return memory == nullptr ? ENOMEM : 0;
  };
  base::Limits limits;
  EXPECT_EQ(confined(probe, limits), kFine);
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "a sanitizer's own memory is more than any limit";
#endif
  limits.data = kSize / 2;
  EXPECT_EQ(confined(probe, limits), (Ending{ENOMEM, 0}));
}

TEST(ConfinedProcess, HasNoMoreDescriptorsThanItsLimit) {
  base::Limits limits;
  limits.descriptors = 20;
  const auto highest = [](int lowest) {
    return [lowest] { return errno_of(::fcntl(2, F_DUPFD_CLOEXEC, lowest)); };
  };
  EXPECT_EQ(confined(highest(19), limits), kFine);
  EXPECT_EQ(confined(highest(20), limits), (Ending{EINVAL, 0}));
}

}  // namespace
}  // namespace test
