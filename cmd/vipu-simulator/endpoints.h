// SPDX-License-Identifier: Apache-2.0
// The IPUoF endpoints of the POD as TCP servers that say who they are.
#pragma once

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "cmd/vipu-simulator/model/pod.h"

namespace simulator {

// The partition that holds an IPU, by the number of the IPU in the POD; empty if it is free.
using HolderOf = std::function<std::string(uint32_t ipu)>;

// Listens on both ports of every IPU and answers each connection with one line, e.g.
//   ipu-machine 10.5.1.3 ipu 2 partition c-0123456789ab
// Nothing is read and nothing is kept of a connection.
class EndpointServer {
 public:
  // Opens all sockets in the network namespace at the path NETNS, the caller's if it is empty. The
  // addresses need not be there yet. Call it before there is another thread: the calling thread is
  // in the other namespace for a while.
  static base::Result<EndpointServer> open(const vipu::simulator::Pod& pod,
                                           const std::string& netns);

  EndpointServer(EndpointServer&&) = default;
  EndpointServer& operator=(EndpointServer&&) = delete;
  ~EndpointServer();  // ends the thread

  // Answers from a thread of its own, until the object is gone; from here on it cannot be moved.
  void start(HolderOf holder_of);

 private:
  struct Endpoint {
    base::Fd socket;
    uint32_t ipu;
    std::string prefix;  // the line up to the partition
  };
  EndpointServer() = default;
  base::Status add(const vipu::simulator::Pod& pod, uint32_t ipu, uint32_t port);
  base::Status add_all(const vipu::simulator::Pod& pod);
  void serve(const HolderOf& holder_of);
  void answer(const Endpoint& endpoint, const HolderOf& holder_of);

  std::vector<Endpoint> endpoints_;
  base::Fd epoll_;
  base::Fd stop_;  // an eventfd
  std::thread thread_;
};

}  // namespace simulator
