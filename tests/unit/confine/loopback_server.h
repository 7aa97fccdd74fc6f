// SPDX-License-Identifier: Apache-2.0
// A server for what a confined process may reach, or not.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>

#include "base/fd.h"

namespace test {

// A TCP socket on a free port of the loopback interface.
class LoopbackServer {
 public:
  LoopbackServer() : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
    address_.sin_family = AF_INET;
    address_.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address_;
    auto* const own = reinterpret_cast<sockaddr*>(&address_);
    EXPECT_EQ(::bind(listener_.get(), own, size), 0);
    EXPECT_EQ(::listen(listener_.get(), 8), 0);
    EXPECT_EQ(::getsockname(listener_.get(), own, &size), 0);
  }
  [[nodiscard]] const sockaddr_in& address() const { return address_; }
  [[nodiscard]] int fd() const { return listener_.get(); }
  // A new socket that is connected to it; invalid, with errno, if that fails.
  [[nodiscard]] base::Fd connect() const {
    base::Fd peer(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!peer.valid() || ::connect(peer.get(), generic(), sizeof address_) != 0) return {};
    return peer;
  }
  [[nodiscard]] const sockaddr* generic() const {
    return reinterpret_cast<const sockaddr*>(&address_);
  }
  // The next connection; invalid if there is none.
  [[nodiscard]] base::Fd accept() const {
    return base::Fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  }

 private:
  base::Fd listener_;
  sockaddr_in address_{};
};

}  // namespace test
