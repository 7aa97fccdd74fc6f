// SPDX-License-Identifier: Apache-2.0
// The connection to one member of the store, the first that can serve.
#pragma once

#include <google/protobuf/message_lite.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "cmd/common/rpc/transport/channel.h"
#include "cmd/common/rpc/transport/filter.h"
#include "hook/fleet/wire/wire.h"

namespace fleet_client {

// A call of etcd by its path. A call that changes nothing may be made again on another member.
struct Rpc {
  const char* path;
  bool changes = false;
  int depth = 3;  // how many messages within each other its answer may have
};

class Connection {
 public:
  // Asks the caller on base::kQuestionFd for connected sockets. MAKE_FILTER makes TLS.
  Connection(hook::fleet::wire::Access access, base::Deadline deadline,
             transport::MakeFilter make_filter)
      : access_(std::move(access)), deadline_(deadline), make_filter_(make_filter) {}

  // Makes a call, on the first endpoint that can serve. Returns kTimeout if the answer to a call
  // that changes something is lost: nobody knows whether it was carried out.
  base::Status call(const Rpc& rpc, const google::protobuf::MessageLite& request,
                    google::protobuf::MessageLite& reply);
  // Begins a stream, and returns its next message; kTimeout: none came by the deadline.
  base::Status begin(const Rpc& rpc, const google::protobuf::MessageLite& request);
  base::Status next(google::protobuf::MessageLite& reply);

  // Returns how each endpoint is. Its errors are in the members.
  std::vector<hook::fleet::Member> members();

  [[nodiscard]] const base::Deadline& deadline() const { return deadline_; }

 private:
  // Has a channel to the first endpoint from next_ on that can serve.
  base::Status open();
  // Connects to the endpoint, authenticates, and asks how it is.
  base::Result<hook::fleet::Member> try_endpoint(size_t index, const base::Deadline& deadline);
  base::Status connect(size_t index, const base::Deadline& deadline);
  transport::RpcStatus ask(const Rpc& rpc, const google::protobuf::MessageLite& request,
                           google::protobuf::MessageLite& reply, const base::Deadline& deadline);
  // Asks a member for a key.
  transport::RpcStatus probe(const base::Deadline& deadline);
  // Returns the time for the endpoint that is tried next, or for the one of the channel.
  [[nodiscard]] base::Deadline share() const;
  [[nodiscard]] transport::Call call_of(const Rpc& rpc, std::string message,
                                        const base::Deadline& deadline) const;

  hook::fleet::wire::Access access_;
  base::Deadline deadline_;
  transport::MakeFilter make_filter_;
  uint64_t cluster_ = 0;  // to which the members belong that answered; 0: none has
  size_t next_ = 0;       // the endpoint that is tried next
  std::string address_;   // of the channel
  std::string token_;     // of the user, for the member of the channel
  std::optional<transport::Channel> channel_;
};

}  // namespace fleet_client
