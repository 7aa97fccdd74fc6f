// SPDX-License-Identifier: Apache-2.0
// What a controller may send by TLS that no library sends: the client takes little of it.
#include <arpa/inet.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <csignal>

#include <algorithm>
#include <functional>
#include <memory>
#include <thread>

#include "base/fd.h"
#include "base/names.h"
#include "tests/support/authority.h"
#include "tests/unit/cmd/ipu-vipu-client/rig.h"

namespace vipu {
namespace {

using namespace base::names;
using base::Fd;
using std::chrono::milliseconds;

// Far more than a client reads, so that a broken test ends.
constexpr size_t kFlood = 64 << 20;

// A server of TLS that treats each connection as a test says, and counts what it could send.
class HostileServer {
 public:
  // Acts after the handshake; returns the bytes that the client took.
  using Act = std::function<size_t(SSL*, int socket)>;

  HostileServer(const test::Authority& authority, Act act) : act_(std::move(act)) {
    const std::string certificate = authority.certificate("server");
    const std::string key = authority.key("server");
    EXPECT_EQ(::SSL_CTX_use_certificate_file(context_.get(), certificate.c_str(), SSL_FILETYPE_PEM),
              1);
    EXPECT_EQ(::SSL_CTX_use_PrivateKey_file(context_.get(), key.c_str(), SSL_FILETYPE_PEM), 1);
    ::SSL_CTX_set_alpn_select_cb(context_.get(), choose_http2, nullptr);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(::listen(listener_.get(), 8), 0);
    ::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &size);
    address_ = str("127.0.0.1:", ::ntohs(address.sin_port));
    thread_ = std::thread([this] { serve(); });
  }
  ~HostileServer() { end(); }

  // Waits for the last connection.
  void end() {
    if (!thread_.joinable()) return;
    (void)::shutdown(listener_.get(), SHUT_RDWR);  // ends accept()
    thread_.join();
  }

  [[nodiscard]] const std::string& address() const { return address_; }
  // The most that a client took of one connection, in bytes; valid after end().
  [[nodiscard]] size_t most_taken() const { return most_; }

 private:
  static int choose_http2(SSL*, const unsigned char** out, unsigned char* size,
                          const unsigned char*, unsigned, void*) {
    *out = reinterpret_cast<const unsigned char*>("h2");
    *size = 2;
    return SSL_TLSEXT_ERR_OK;
  }

  void serve() {
    sigset_t pipe;
    ::sigemptyset(&pipe);
    ::sigaddset(&pipe, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
    for (;;) {
      const Fd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!socket.valid()) return;
      const timeval limit{10, 0};
      ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
      ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
      const std::unique_ptr<SSL, decltype(&::SSL_free)> ssl(::SSL_new(context_.get()), ::SSL_free);
      ::SSL_set_fd(ssl.get(), socket.get());
      if (::SSL_accept(ssl.get()) != 1) continue;
      most_ = std::max(most_, act_(ssl.get(), socket.get()));
    }
  }

  Act act_;
  std::unique_ptr<SSL_CTX, decltype(&::SSL_CTX_free)> context_{::SSL_CTX_new(::TLS_server_method()),
                                                               ::SSL_CTX_free};
  Fd listener_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  std::string address_;
  size_t most_ = 0;
  std::thread thread_;
};

class HostileTlsTest : public ClientTest {
 protected:
  void SetUp() override { authority_.sign("server"); }

  void attack(HostileServer::Act act) {
    server_ = std::make_unique<HostileServer>(authority_, std::move(act));
    endpoint_.address = server_->address();
    endpoint_.tls = TlsFiles{authority_.certificate("ca"), "", ""};
  }

  test::Authority authority_;
  std::unique_ptr<HostileServer> server_;
  Endpoint endpoint_;
};

TEST_F(HostileTlsTest, WhatFollowsTheEndOfTlsIsNotRead) {
  attack([](SSL* ssl, int socket) {
    ::SSL_shutdown(ssl);
    const std::string junk(16384, 'x');
    size_t taken = 0;
    while (taken < kFlood) {
      const ssize_t sent = ::send(socket, junk.data(), junk.size(), MSG_NOSIGNAL);
      if (sent <= 0) break;
      taken += static_cast<size_t>(sent);
    }
    return taken;
  });
  EXPECT_TRUE(test::fails(controller_at(endpoint_)->version(soon()), Code::kUnavailable,
                          "it closed the connection"));
  server_->end();
  EXPECT_GT(server_->most_taken(), 0U);
  EXPECT_LT(server_->most_taken(), kFlood) << "the kernel keeps a part of it";
}

}  // namespace
}  // namespace vipu
