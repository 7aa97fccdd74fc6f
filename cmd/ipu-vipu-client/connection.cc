// SPDX-License-Identifier: Apache-2.0
#include "cmd/ipu-vipu-client/connection.h"

#include <grpc/support/time.h>

#include "base/text.h"
#include "vipu/wire.h"

namespace client {
namespace {

using base::Code;
using base::str;

std::shared_ptr<grpc::Channel> open_channel(const std::string& controller) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(static_cast<int>(vipu::wire::kMaxReply));
  // Only the controller that was named: no proxy, no service configuration from DNS.
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1);
  // "dns:///" so that nothing in the name is taken for another scheme, such as unix:.
  return grpc::CreateCustomChannel("dns:///" + controller, grpc::InsecureChannelCredentials(),
                                   arguments);
}

struct Meaning {
  Code code;
  const char* words;
};

Meaning meaning_of(grpc::StatusCode code) {
  switch (code) {
    case grpc::StatusCode::RESOURCE_EXHAUSTED:
      return {Code::kBusy, "no capacity"};
    case grpc::StatusCode::FAILED_PRECONDITION:
      return {Code::kBusy, "not possible in its present state"};
    case grpc::StatusCode::INVALID_ARGUMENT:
    case grpc::StatusCode::OUT_OF_RANGE:
      return {Code::kInvalid, "refused as invalid"};
    case grpc::StatusCode::ALREADY_EXISTS:
      return {Code::kExists, "exists already"};
    case grpc::StatusCode::NOT_FOUND:
      return {Code::kNotFound, "not found"};
    case grpc::StatusCode::PERMISSION_DENIED:
    case grpc::StatusCode::UNAUTHENTICATED:
      return {Code::kDenied, "not allowed"};
    case grpc::StatusCode::UNIMPLEMENTED:
      return {Code::kUnsupported, "not supported by this controller"};
    case grpc::StatusCode::UNAVAILABLE:
      return {Code::kUnavailable, "cannot be reached"};
    case grpc::StatusCode::DEADLINE_EXCEEDED:
      return {Code::kTimeout, "no answer"};
    default:
      return {Code::kInternal, "failed"};
  }
}

}  // namespace

Connection::Connection(const std::string& controller, std::chrono::milliseconds timeout)
    : timeout_(timeout),
      deadline_(base::Deadline::after(timeout)),
      channel_(open_channel(controller)),
      users_(virmgrpc::UserService::NewStub(channel_)),
      versions_(virmgrpc::VersionService::NewStub(channel_)) {}

std::string Connection::within() const { return str("within ", timeout_.count(), " ms"); }

void Connection::prepare(grpc::ClientContext& context) const {
  const gpr_timespec left = gpr_time_from_millis(deadline_.left().count(), GPR_TIMESPAN);
  context.set_deadline(gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), left));
  context.set_wait_for_ready(false);
}

// gRPC writes an IPv4 peer as "ipv4:10.1.3.101:8090".
void Connection::remember_peer(const std::string& peer) {
  const std::vector<std::string_view> parts = base::split(peer, ':');
  if (parts.size() == 3 && parts[0] == "ipv4") controller_address_ = std::string(parts[1]);
}

base::Error Connection::to_error(const grpc::Status& status) const {
  const Meaning meaning = meaning_of(status.error_code());
  const bool late = status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED;
  // gRPC's own text for a passed deadline says no more than that.
  const std::string detail = late ? within() : status.error_message();
  return {meaning.code, str(meaning.words, late ? " " : ": ", base::one_line(detail, 400))};
}

}  // namespace client
