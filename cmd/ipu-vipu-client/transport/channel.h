// SPDX-License-Identifier: Apache-2.0
// A connection for RPCs over a socket that somebody else has connected.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/fd.h"
#include "base/result.h"
#include "cmd/ipu-vipu-client/transport/filter.h"
#include "cmd/ipu-vipu-client/transport/http2.h"
#include "cmd/ipu-vipu-client/transport/rpc_status.h"

namespace client::transport {

class Channel {
 public:
  // SOCKET is connected and does not block. TLS may be null. MOST is the size of the longest
  // answer, in bytes.
  Channel(base::Fd socket, std::unique_ptr<Filter> tls, size_t most);

  // Makes a call and waits for its end, at most until DEADLINE. Returns UNAVAILABLE, and is of no
  // use any more, if the connection is lost.
  RpcStatus call(const UnaryCall& call, const base::Deadline& deadline);
  // Returns the message of a call that ended well.
  [[nodiscard]] std::string_view reply() const { return http2_->reply(); }

  // Takes what has arrived meanwhile. Returns whether another call may be made.
  bool is_usable();

 private:
  // Sends what is to be sent, as far as the socket takes it.
  base::Status send();
  // Takes what has arrived.
  base::Status receive();
  base::Status take(std::string_view arrived);
  [[nodiscard]] base::Status wait(const base::Deadline& deadline) const;
  [[nodiscard]] base::Error closed() const;
  [[nodiscard]] base::Error not_http2(std::string_view reason) const;

  base::Fd socket_;
  std::unique_ptr<Filter> tls_;
  std::unique_ptr<Http2> http2_;
  std::string unsent_;
  bool is_lost_ = false;
};

}  // namespace client::transport
