// SPDX-License-Identifier: Apache-2.0
// One channel to a V-IPU controller, and each of its RPCs as a function that ends by the deadline.
#pragma once

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "vipu/proto/virm.grpc.pb.h"

namespace client {

class Connection {
 public:
  using Users = virmgrpc::UserService::Stub;
  using Versions = virmgrpc::VersionService::Stub;

  // Connects when the first RPC is made. CONTROLLER is HOST:PORT.
  Connection(const std::string& controller, std::chrono::milliseconds timeout);

  // One unary RPC, e.g. call(&Users::CreatePartition, request). A refused connection fails at once.
  template <typename Request, typename Reply>
  base::Result<Reply> call(grpc::Status (Users::*rpc)(grpc::ClientContext*, const Request&, Reply*),
                           const Request& request) {
    return invoke<Reply>(*users_, rpc, request);
  }
  template <typename Request, typename Reply>
  base::Result<Reply> call(grpc::Status (Versions::*rpc)(grpc::ClientContext*, const Request&,
                                                         Reply*),
                           const Request& request) {
    return invoke<Reply>(*versions_, rpc, request);
  }

  [[nodiscard]] const base::Deadline& deadline() const { return deadline_; }
  // "within 4750 ms": the whole time that this request has, for messages.
  [[nodiscard]] std::string within() const;
  // The IPv4 address of the controller that answered last; empty if none did over IPv4.
  [[nodiscard]] const std::string& controller_address() const { return controller_address_; }

 private:
  template <typename Reply, typename Stub, typename Rpc, typename Request>
  base::Result<Reply> invoke(Stub& stub, Rpc rpc, const Request& request) {
    grpc::ClientContext context;
    prepare(context);
    Reply reply;
    const grpc::Status status = (stub.*rpc)(&context, request, &reply);
    if (!status.ok()) return to_error(status);
    remember_peer(context.peer());
    return reply;
  }
  void prepare(grpc::ClientContext& context) const;
  void remember_peer(const std::string& peer);
  base::Error to_error(const grpc::Status& status) const;

  std::chrono::milliseconds timeout_;
  base::Deadline deadline_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<Users> users_;
  std::unique_ptr<Versions> versions_;
  std::string controller_address_;
};

}  // namespace client
