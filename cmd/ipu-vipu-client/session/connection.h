// SPDX-License-Identifier: Apache-2.0
// The connection to a V-IPU controller, with a function that ends by the deadline for each RPC.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "cmd/common/rpc/transport/channel.h"
#include "cmd/common/rpc/transport/fields.h"
#include "cmd/common/rpc/transport/filter.h"
#include "cmd/ipu-vipu-client/session/retry.h"
#include "cmd/ipu-vipu-client/session/rpc.h"
#include "cmd/ipu-vipu-client/session/status.h"
#include "vipu/access.h"

namespace client {

class Connection {
 public:
  // Connects at the first RPC: asks the caller on base::kQuestionFd for a connected socket, and
  // again for each connection that was lost. MAKE_FILTER is null if the program has no TLS.
  Connection(const vipu::Access& access, std::chrono::milliseconds timeout,
             transport::MakeFilter make_filter);

  // Attempts once an RPC that changes something, e.g. attempt(rpc::kCreatePartition, request,
  // reply). If no answer comes, time is left to find out the result.
  template <typename Request, typename Reply>
  RpcStatus attempt(const Rpc<Request, Reply>& rpc, const Request& request, Reply& reply) {
    return invoke(rpc, request, reply, attempt_limit(2));
  }

  // Calls an RPC that changes nothing. Retries if that may help.
  template <typename Request, typename Reply>
  base::Result<Reply> read(const Rpc<Request, Reply>& rpc, const Request& request) {
    for (Retry retry(deadline_);;) {
      Reply reply;
      const RpcStatus status = invoke(rpc, request, reply, attempt_limit(4));
      if (status.ok()) return reply;
      if (!retry.again(status, reached_)) return to_error(status);
    }
  }

  // Returns the error of STATUS, with the time since the connection was made.
  [[nodiscard]] base::Error to_error(const RpcStatus& status) const;

  [[nodiscard]] const base::Deadline& deadline() const { return deadline_; }
  // Returns "within 4750 ms": the whole time of this request, for messages.
  [[nodiscard]] std::string within() const;
  // Returns whether the controller has answered an RPC of this connection.
  [[nodiscard]] Reached reached() const { return reached_; }

 private:
  template <typename Request, typename Reply>
  RpcStatus invoke(const Rpc<Request, Reply>& rpc, const Request& request, Reply& reply,
                   const base::Deadline& deadline) {
    const RpcStatus status = call(rpc.path, request.SerializeAsString(), deadline);
    const std::string_view message = status.ok() ? channel_->reply() : "";
    if (transport::has_too_many_fields(message)) {
      return {StatusCode::INTERNAL, "its answer has too many parts", false};
    }
    if (reply.ParseFromArray(message.data(), static_cast<int>(message.size()))) return status;
    return {StatusCode::INTERNAL, "its answer cannot be parsed", false};
  }
  RpcStatus call(const char* path, std::string message, const base::Deadline& deadline);
  // Has a channel, or returns why there is none.
  RpcStatus open(const base::Deadline& deadline);
  // Returns a SHARE-th of the time left, but not too little.
  [[nodiscard]] base::Deadline attempt_limit(int share) const;

  vipu::Access access_;
  std::chrono::milliseconds timeout_;
  base::Deadline deadline_;
  transport::MakeFilter make_filter_;
  Reached reached_ = Reached::kNo;
  std::optional<transport::Channel> channel_;
};

}  // namespace client
