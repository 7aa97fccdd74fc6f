// SPDX-License-Identifier: Apache-2.0
// The client's side of TLS, without a socket: bytes go in and come out. Speaks TLS 1.2 or later
// with a controller whose certificate the configured CA has signed for its name, and HTTP/2 alone.
#pragma once

#include <openssl/ssl.h>

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "vipu/access.h"

namespace client::transport {

class TlsFilter {
 public:
  // HOST is the name or address of the controller; a server name in TLS takes its place.
  static base::Result<TlsFilter> create(const vipu::Tls& tls, const std::string& host);

  // Takes what arrived from the network, and appends what it means to PLAIN. What follows the end
  // of TLS means nothing.
  base::Status receive(std::string_view arrived, std::string& plain);
  // Returns whether the other side has ended TLS.
  [[nodiscard]] bool has_ended() const { return has_ended_; }
  // Takes what is to be sent; waits with it for the end of the handshake.
  base::Status send(std::string_view plain);
  // Appends to WIRE what is to be sent now.
  void take_wire(std::string& wire);

 private:
  struct Free {
    void operator()(SSL* ssl) const { ::SSL_free(ssl); }
  };
  explicit TlsFilter(SSL* ssl) : ssl_(ssl) {}
  base::Status shake_hands();
  // Sends what waited for the end of the handshake.
  base::Status flush();

  std::unique_ptr<SSL, Free> ssl_;
  bool is_ready_ = false;
  bool has_ended_ = false;
  std::string waiting_;
};

}  // namespace client::transport
