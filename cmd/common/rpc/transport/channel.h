// SPDX-License-Identifier: Apache-2.0
// A connection for RPCs over a socket that somebody else has connected.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/fd.h"
#include "base/result.h"
#include "cmd/common/rpc/transport/filter.h"
#include "cmd/common/rpc/transport/http2.h"
#include "cmd/common/rpc/transport/rpc_status.h"

namespace transport {

class Channel {
 public:
  // SOCKET is connected and does not block. TLS may be null. MOST is the size of the longest
  // answer, in bytes.
  Channel(base::Fd socket, std::unique_ptr<Filter> tls, size_t most);

  // Makes a call and waits for its end, at most until DEADLINE. Returns UNAVAILABLE, and is of no
  // use any more, if the connection is lost.
  RpcStatus call(const Call& call, const base::Deadline& deadline);
  // Returns the message of a call that ended well.
  [[nodiscard]] std::string_view reply() const { return http2_->reply(); }

  // Begins a stream, which is the only call until the channel is destroyed.
  base::Status begin(const Call& stream) { return http2_->begin(stream); }
  // Waits for the next message of the stream. Returns OK with it in MESSAGE; DEADLINE_EXCEEDED if
  // none came by DEADLINE, and the stream goes on; and UNAVAILABLE or the server's own status after
  // the end of the stream. Reads nothing from the network while there is a message, so messages
  // that nobody takes use no memory.
  RpcStatus next(std::string& message, const base::Deadline& deadline);

  // Takes what has arrived meanwhile. Returns whether another call may be made.
  bool is_usable();

 private:
  // Sends, waits at most until DEADLINE, and receives.
  base::Status step(const base::Deadline& deadline);
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

}  // namespace transport
