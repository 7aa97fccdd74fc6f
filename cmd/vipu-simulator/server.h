// SPDX-License-Identifier: Apache-2.0
// Server: the gRPC server, which can go down and return while the POD stays.
#pragma once

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>

#include "base/result.h"
#include "cmd/vipu-simulator/options.h"
#include "cmd/vipu-simulator/service.h"

namespace simulator {

class Server {
 public:
  // Listens and serves. Returns kBusy if the port is taken, and kInvalid if keys or certificates
  // cannot be read.
  static base::Result<std::unique_ptr<Server>> open(const Options& options, Shared& shared);

  [[nodiscard]] int port() const { return port_; }

  // Ends every call, closes every connection, and serves on the same port again after DOWN.
  base::Status restart(std::chrono::milliseconds down);
  // Ends every call, and any restart in progress. For the end of the program.
  void stop();

 private:
  Server(const Options& options, Shared& shared,
         std::shared_ptr<grpc::ServerCredentials> credentials)
      : host_(options.listen.host),
        is_tls_(!options.tls.certificate.empty()),
        port_(options.listen.port),
        shared_(shared),
        credentials_(std::move(credentials)) {}
  base::Status start();
  void shut_down(std::chrono::milliseconds patience);

  const std::string host_;
  const bool is_tls_;
  int port_;
  Shared& shared_;
  const std::shared_ptr<grpc::ServerCredentials> credentials_;
  std::mutex mutex_;
  std::condition_variable stopped_;
  bool is_stopping_ = false;
  std::unique_ptr<Service> service_;
  std::unique_ptr<grpc::Server> server_;  // must end before its service
};

}  // namespace simulator
