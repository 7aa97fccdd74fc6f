// SPDX-License-Identifier: Apache-2.0
// The client's side of gRPC over HTTP/2 (RFC 9113, and gRPC's PROTOCOL-HTTP2), without a socket:
// bytes go in and come out.
#pragma once

#include <nghttp2/nghttp2.h>

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cmd/common/rpc/transport/rpc_status.h"

namespace transport {

// One call, with one message to the server.
struct Call {
  std::string path;
  std::string authority;
  bool tls = false;
  std::map<std::string, std::string> metadata = {};
  std::string message;                   // serialized
  std::chrono::milliseconds timeout{0};  // for the server's knowledge; of a stream: not told
  // Whether any number of messages may come back, until one of the sides ends the call. The server
  // is not told that no other message follows ours.
  bool is_stream = false;
};

class Http2 {
 public:
  // MOST is the size of the longest message that is accepted, in bytes.
  explicit Http2(size_t most);
  Http2(const Http2&) = delete;
  Http2& operator=(const Http2&) = delete;

  // Begins a call, which is the only one. The outcome of the last one is forgotten.
  base::Status begin(const Call& call);
  // Returns how the call ended; absent while it lasts.
  [[nodiscard]] const std::optional<RpcStatus>& outcome() const { return outcome_; }
  // Returns the message of a call that ended well.
  [[nodiscard]] std::string_view reply() const;
  // Returns the oldest message of a stream that was not returned yet; absent if there is none. Each
  // is complete, and not longer than MOST.
  std::optional<std::string> take_message();
  // Gives the call up; the server is told.
  void cancel();

  // Takes what arrived. Returns kInvalid if it is not HTTP/2; nothing can follow then.
  base::Status receive(std::string_view bytes);
  // Returns what is to be sent now.
  base::Result<std::string> to_send();
  // Returns whether the server has sent a frame.
  [[nodiscard]] bool has_answered() const { return has_answered_; }
  // Returns whether nothing can follow, because the server broke the rules of HTTP/2.
  [[nodiscard]] bool has_ended() const;
  // Returns whether another call may begin.
  [[nodiscard]] bool is_open() const;

 private:
  friend struct Callbacks;
  struct Free {
    void operator()(nghttp2_session* session) const { ::nghttp2_session_del(session); }
  };
  void keep_header(std::string_view name, std::string_view value);
  void keep_data(std::string_view data);
  // Moves the complete messages of a stream from the data that arrived.
  void split_messages();
  void begin_headers();
  // The server ended the stream with a frame of headers, or of data.
  void end_by_frame(bool has_headers);
  // The stream is closed; ERROR is a code of HTTP/2.
  void end(uint32_t error);
  [[nodiscard]] RpcStatus status() const;

  size_t most_;
  std::unique_ptr<nghttp2_session, Free> session_;
  bool has_answered_ = false;
  // Of the call:
  int32_t stream_ = -1;
  std::string body_;  // what is sent
  size_t sent_ = 0;
  std::string http_status_;
  std::map<std::string, std::string, std::less<>> headers_;  // of its last block of headers
  size_t header_bytes_ = 0;                                  // of all blocks
  std::string data_;                                         // what arrived
  bool is_stream_ = false;
  std::deque<std::string> messages_;  // of a stream
  bool is_too_long_ = false;
  std::optional<RpcStatus> outcome_;
};

}  // namespace transport
