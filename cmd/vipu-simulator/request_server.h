// SPDX-License-Identifier: Apache-2.0
// RequestServer: one request and one reply per connection, one connection at a time. This suffices
// for a control socket and for metrics.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <thread>

#include "base/clock.h"
#include "base/fd.h"

namespace simulator {

class RequestServer {
 public:
  // The end mark of a request, and its size limit in bytes. A client that takes longer than 2 s, or
  // sends more, gets no reply.
  struct Limits {
    std::string_view end;
    size_t max = 0;
  };
  using Answer = std::function<std::string(std::string_view request)>;

  // Serves in a separate thread for the life of the object.
  RequestServer(base::Fd listener, Limits limits, Answer answer);
  RequestServer(const RequestServer&) = delete;
  RequestServer& operator=(const RequestServer&) = delete;
  ~RequestServer();

 private:
  enum class Ready { kYes, kNo };  // kNo: too late, or the object is ending
  [[nodiscard]] Ready wait(int fd, short events, const base::Deadline* deadline) const;
  void serve() const;
  void serve_one(const base::Fd& peer) const;
  [[nodiscard]] std::string read(const base::Fd& peer, const base::Deadline& deadline) const;

  base::Fd listener_;
  Limits limits_;
  Answer answer_;
  base::Fd stop_;  // an eventfd
  std::thread thread_;
};

}  // namespace simulator
