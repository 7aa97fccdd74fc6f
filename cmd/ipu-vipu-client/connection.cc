// SPDX-License-Identifier: Apache-2.0
#include "cmd/ipu-vipu-client/connection.h"

#include <grpc/support/time.h>
#include <grpcpp/create_channel_posix.h>

#include <algorithm>

#include "base/names.h"
#include "base/serve.h"
#include "base/text.h"
#include "vipu/dial.h"
#include "vipu/wire.h"

namespace client {
namespace {

using namespace base::names;
using grpc::StatusCode;
using std::chrono::milliseconds;

// The shortest time of an attempt: in less, only an idle controller would answer.
constexpr milliseconds kShortestAttempt(500);
// The pauses between attempts to connect, in ms. gRPC's default of a second is longer than callers
// wait for a controller that is down.
constexpr int kFirstReconnect = 50;
constexpr int kLongestReconnect = 500;

std::shared_ptr<grpc::ChannelCredentials> credentials_of(const vipu::Access& access) {
  if (!access.tls) return grpc::InsecureChannelCredentials();
  grpc::SslCredentialsOptions options;
  options.pem_root_certs = access.tls->ca;
  options.pem_private_key = access.tls->key;
  options.pem_cert_chain = access.tls->certificate;
  return grpc::SslCredentials(options);
}

grpc::ChannelArguments arguments_for(const vipu::Access& access) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(static_cast<int>(vipu::wire::kMaxReply));
  // Connects only to the named controller: no proxy, no service configuration from DNS.
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1);
  // retry.h decides what is tried again, and how often.
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, kFirstReconnect);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kLongestReconnect);
  // gRPC looks up the name of a lost controller before it connects again, by default only after
  // 30 s.
  arguments.SetInt(GRPC_ARG_DNS_MIN_TIME_BETWEEN_RESOLUTIONS_MS, kFirstReconnect);
  if (access.tls && !access.tls->server_name.empty()) {
    arguments.SetSslTargetNameOverride(access.tls->server_name);
  }
  return arguments;
}

}  // namespace

Connection::Connection(const vipu::Access& access, milliseconds timeout, Dials dials)
    : access_(access), dials_(dials), timeout_(timeout), deadline_(Deadline::after(timeout)) {}

grpc::Status Connection::open(const Deadline& deadline) {
  if (users_ != nullptr) return grpc::Status::OK;
  if (dials_ == Dials::kCaller) return open_given(deadline);
  // With "dns:///", gRPC takes no part of the name for another scheme, such as unix:.
  use(grpc::CreateCustomChannel("dns:///" + access_.address, credentials_of(access_),
                                arguments_for(access_)));
  return grpc::Status::OK;
}

grpc::Status Connection::open_given(const Deadline& deadline) {
  const auto wanted = std::max<int64_t>(1, deadline.left().count());
  Result<base::Answer> answer = base::ask(base::kQuestionFd, str(wanted));
  if (!answer.ok()) return {StatusCode::INTERNAL, answer.error().message()};
  const std::string& text = answer.value().text;
  if (text == vipu::kNoConnectionInTime) return {StatusCode::DEADLINE_EXCEEDED, text};
  if (!answer.value().fd.valid()) return {StatusCode::UNAVAILABLE, text};
  grpc::ChannelArguments arguments = arguments_for(access_);
  // gRPC names the server "test.authority" otherwise.
  arguments.SetString(GRPC_ARG_DEFAULT_AUTHORITY, access_.address);
  use(grpc::CreateCustomInsecureChannelFromFd(access_.address, answer.value().fd.release(),
                                              arguments));
  return grpc::Status::OK;
}

void Connection::use(std::shared_ptr<grpc::Channel> channel) {
  users_ = virmgrpc::UserService::NewStub(channel);
  versions_ = virmgrpc::VersionService::NewStub(channel);
}

void Connection::lose() {
  if (dials_ == Dials::kItself) return;
  users_.reset();
  versions_.reset();
}

std::string Connection::within() const { return str("within ", timeout_.count(), " ms"); }

Deadline Connection::attempt_limit(int share) const {
  return deadline_.capped(std::max(deadline_.left() / share, kShortestAttempt));
}

void Connection::prepare(grpc::ClientContext& context, const Deadline& deadline) const {
  const gpr_timespec left = gpr_time_from_millis(deadline.left().count(), GPR_TIMESPAN);
  context.set_deadline(gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), left));
  context.set_wait_for_ready(false);
  for (const auto& [name, value] : access_.credentials) context.AddMetadata(name, value);
}

// Corrects two of gRPC's statuses. gRPC reports an answer that it cannot parse like a call that the
// server does not have, and an answer that is too long like a server without capacity.
grpc::Status Connection::status_of(const grpc::Status& status) {
  const std::string& text = status.error_message();
  const bool garbage = status.error_code() == StatusCode::UNIMPLEMENTED &&
                       text == "No message returned for unary request";
  if (garbage) return {StatusCode::INTERNAL, "its answer cannot be parsed"};
  const bool too_long = status.error_code() == StatusCode::RESOURCE_EXHAUSTED &&
                        text.find("eceived message larger than max") != std::string::npos;
  if (too_long) return {StatusCode::INTERNAL, "its answer is too long"};
  return status;
}

bool Connection::is_answer(const grpc::Status& status) {
  return status.error_code() != StatusCode::UNAVAILABLE &&
         status.error_code() != StatusCode::DEADLINE_EXCEEDED;
}

// gRPC writes an IPv4 peer as "ipv4:10.1.3.101:8090".
void Connection::remember(const std::string& peer) {
  reached_ = Reached::kYes;
  const std::vector<std::string_view> parts = base::split(peer, ':');
  if (parts.size() == 3 && parts[0] == "ipv4") controller_address_ = std::string(parts[1]);
}

base::Error Connection::to_error(const grpc::Status& status) const {
  return client::to_error(
      status, {timeout_ - deadline_.left(), reached_, access_.tls ? Tls::kYes : Tls::kNo});
}

}  // namespace client
