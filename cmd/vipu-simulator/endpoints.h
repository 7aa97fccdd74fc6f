// SPDX-License-Identifier: Apache-2.0
// The IPUoF endpoints of the POD, as TCP servers that identify themselves.
#pragma once

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "cmd/vipu-simulator/model/pod.h"

namespace simulator {

// Returns the partition that holds an IPU, by its number in the POD; empty if the IPU is free.
using HolderOf = std::function<std::string(uint32_t ipu)>;

// Listens on both ports of every IPU and answers each connection with one line, e.g.
//   ipu-machine 10.5.1.3 ipu 2 partition c-0123456789ab
// It reads nothing from a connection and keeps nothing of it.
class EndpointServer {
 public:
  // Opens all sockets in the network namespace at the path NETNS; empty: the caller's. The
  // addresses need not exist yet. Call it while there is one thread, which is in the other
  // namespace for a while.
  static base::Result<EndpointServer> open(const vipu::simulator::Pod& pod,
                                           const std::string& netns);

  EndpointServer(EndpointServer&&) = default;
  EndpointServer& operator=(EndpointServer&&) = delete;
  ~EndpointServer();  // ends the thread

  // Answers in a separate thread for the life of the object, which cannot be moved from then on.
  void start(HolderOf holder_of);

 private:
  struct Endpoint {
    base::Fd socket;
    uint32_t ipu;
    std::string prefix;  // the line before the partition
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
