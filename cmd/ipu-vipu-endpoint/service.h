// SPDX-License-Identifier: Apache-2.0
// The gRPC server of the endpoint. It has no port of its own: it gets accepted connections.
#pragma once

#include <memory>

#include "base/result.h"
#include "vipu/answers.h"

namespace endpoint {

class Server {
 public:
  // Starts the threads of the server.
  static base::Result<Server> start(vipu::Answers answers);
  Server(Server&&) noexcept;
  ~Server();

  // Serves the connection FD, which is non-blocking, and closes it when it ends.
  void serve(int fd);

 private:
  struct State;
  explicit Server(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace endpoint
