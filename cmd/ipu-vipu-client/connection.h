// SPDX-License-Identifier: Apache-2.0
// The connection to a V-IPU controller, with a function that ends by the deadline for each RPC.
#pragma once

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <memory>
#include <string>
#include <type_traits>

#include "base/clock.h"
#include "base/result.h"
#include "cmd/ipu-vipu-client/retry.h"
#include "cmd/ipu-vipu-client/status.h"
#include "vipu/access.h"
#include "vipu/proto/virm.grpc.pb.h"

namespace client {

// Who makes the TCP connections.
enum class Dials {
  kItself,
  kCaller  // asked on base::kQuestionFd, and again for each connection that was lost
};

class Connection {
 public:
  using Users = virmgrpc::UserService::Stub;
  using Versions = virmgrpc::VersionService::Stub;
  template <typename Stub, typename Request, typename Reply>
  using Rpc = grpc::Status (Stub::*)(grpc::ClientContext*, const Request&, Reply*);

  // Connects at the first RPC.
  Connection(const vipu::Access& access, std::chrono::milliseconds timeout, Dials dials);

  // Attempts once an RPC that changes something, e.g. attempt(&Users::CreatePartition, request,
  // reply). If no answer comes, time is left to find out the result.
  template <typename Stub, typename Request, typename Reply>
  grpc::Status attempt(Rpc<Stub, Request, Reply> rpc, const Request& request, Reply& reply) {
    return invoke(rpc, request, reply, attempt_limit(2));
  }

  // Calls an RPC that changes nothing. Retries if that may help.
  template <typename Stub, typename Request, typename Reply>
  base::Result<Reply> read(Rpc<Stub, Request, Reply> rpc, const Request& request) {
    for (Retry retry(deadline_);;) {
      Reply reply;
      const grpc::Status status = invoke(rpc, request, reply, attempt_limit(4));
      if (status.ok()) return reply;
      if (!retry.again(status, reached_)) return to_error(status);
    }
  }

  // Returns the error of STATUS, with the time since the connection was made.
  [[nodiscard]] base::Error to_error(const grpc::Status& status) const;

  [[nodiscard]] const base::Deadline& deadline() const { return deadline_; }
  // Returns "within 4750 ms": the whole time of this request, for messages.
  [[nodiscard]] std::string within() const;
  // Returns whether the controller has answered an RPC of this connection.
  [[nodiscard]] Reached reached() const { return reached_; }
  // Returns the IPv4 address of the controller that answered last; empty if none did over IPv4.
  [[nodiscard]] const std::string& controller_address() const { return controller_address_; }

 private:
  template <typename Stub, typename Request, typename Reply>
  grpc::Status invoke(Rpc<Stub, Request, Reply> rpc, const Request& request, Reply& reply,
                      const base::Deadline& deadline) {
    grpc::Status status = open(deadline);
    if (!status.ok()) return status;
    grpc::ClientContext context;
    prepare(context, deadline);
    if constexpr (std::is_same_v<Stub, Users>) {
      status = (*users_.*rpc)(&context, request, &reply);
    } else {
      status = (*versions_.*rpc)(&context, request, &reply);
    }
    if (is_answer(status)) remember(context.peer());
    if (status.error_code() == grpc::StatusCode::UNAVAILABLE) lose();
    return status.ok() ? status : status_of(status);
  }
  // Has a channel, or returns why there is none. A channel without a connection is not an error.
  grpc::Status open(const base::Deadline& deadline);
  grpc::Status open_given(const base::Deadline& deadline);
  void use(std::shared_ptr<grpc::Channel> channel);
  // Forgets the channel if that makes no new connection by itself.
  void lose();
  // Returns a SHARE-th of the time left, but not too little.
  [[nodiscard]] base::Deadline attempt_limit(int share) const;
  void prepare(grpc::ClientContext& context, const base::Deadline& deadline) const;
  // Returns whether STATUS is the controller's own.
  static bool is_answer(const grpc::Status& status);
  // Returns STATUS, with another code if gRPC blames the controller for an error that this side
  // found.
  static grpc::Status status_of(const grpc::Status& status);
  void remember(const std::string& peer);

  vipu::Access access_;
  Dials dials_;
  std::chrono::milliseconds timeout_;
  base::Deadline deadline_;
  Reached reached_ = Reached::kNo;
  std::unique_ptr<Users> users_;
  std::unique_ptr<Versions> versions_;
  std::string controller_address_;
};

}  // namespace client
