// SPDX-License-Identifier: Apache-2.0
#include "cmd/ipu-fleet-client/session/connection.h"

#include <algorithm>
#include <chrono>

#include "base/names.h"
#include "base/serve.h"
#include "cmd/common/rpc/transport/fields.h"
#include "cmd/ipu-fleet-client/etcd/etcd.pb.h"
#include "cmd/ipu-fleet-client/session/status.h"
#include "vipu/dial.h"

namespace fleet_client {
namespace {

using namespace base::names;
using google::protobuf::MessageLite;
using hook::fleet::Member;
using std::chrono::milliseconds;
using transport::RpcStatus;
using transport::StatusCode;

constexpr int kEventDepth = 2;  // an event, and its key
constexpr Rpc kStatus{"/etcdserverpb.Maintenance/Status"};
constexpr Rpc kProbe{"/etcdserverpb.KV/Range"};
constexpr Rpc kAuthenticate{"/etcdserverpb.Auth/Authenticate"};
// The shortest time for one member: in less, only an idle one would answer.
constexpr milliseconds kShortestTry(250);

// Returns whether nobody knows what became of a call that ended so.
bool is_lost(const RpcStatus& status) {
  return !status.is_whole || status.code == StatusCode::UNAVAILABLE ||
         status.code == StatusCode::DEADLINE_EXCEEDED || status.code == StatusCode::UNKNOWN;
}

Error said_by(const std::string& address, const RpcStatus& status) {
  return to_error(status).wrap(str("etcd ", address));
}

}  // namespace

transport::Call Connection::call_of(const Rpc& rpc, std::string message,
                                    const Deadline& deadline) const {
  transport::Call call;
  call.path = rpc.path;
  const bool has_name = access_.tls && !access_.tls->server_name.empty();
  call.authority = has_name ? access_.tls->server_name : address_;
  call.tls = access_.tls.has_value();
  if (!token_.empty()) call.metadata["token"] = token_;
  call.message = std::move(message);
  call.timeout = deadline.left();
  return call;
}

RpcStatus Connection::ask(const Rpc& rpc, const MessageLite& request, MessageLite& reply,
                          const Deadline& deadline) {
  RpcStatus status = channel_->call(call_of(rpc, request.SerializeAsString(), deadline), deadline);
  if (!status.ok()) return status;
  const std::string_view message = channel_->reply();
  if (transport::has_too_many_fields(message, rpc.depth)) {
    return {StatusCode::INTERNAL, "its answer has too many parts", false};
  }
  if (reply.ParseFromArray(message.data(), static_cast<int>(message.size()))) return status;
  return {StatusCode::INTERNAL, "its answer cannot be parsed", false};
}

Status Connection::connect(size_t index, const Deadline& deadline) {
  channel_.reset();
  token_.clear();
  address_ = access_.endpoints[index];
  std::unique_ptr<transport::Filter> tls;
  if (access_.tls) {
    const std::string host = vipu::split_host_and_port(address_).host;
    tls = TRY(make_filter_(*access_.tls, host));
  }
  const hook::fleet::wire::Question question{index, deadline.left()};
  base::Answer answer = TRY(base::ask(base::kQuestionFd, hook::fleet::wire::to_text(question)));
  if (answer.text == vipu::kNoConnectionInTime) {
    return Error(Code::kTimeout,
                 "no connection in time: check the network and 'endpoints' in [fleet]");
  }
  if (!answer.fd.valid())
    return Error(Code::kUnavailable,
                 str(answer.text, ": start etcd there, or correct 'endpoints' in [fleet]"));
  channel_.emplace(std::move(answer.fd), std::move(tls), hook::fleet::wire::kMaxReply);
  return {};
}

Result<Member> Connection::try_endpoint(size_t index, const Deadline& deadline) {
  const std::string& address = access_.endpoints[index];
  TRY_CTX(str("etcd ", address), connect(index, deadline));
  etcd::StatusReply health;
  const RpcStatus asked = ask(kStatus, etcd::Nothing(), health, deadline);
  if (!asked.ok()) return said_by(address, asked);
  if (cluster_ == 0) cluster_ = health.header().cluster_id();
  if (health.header().cluster_id() != cluster_) {
    return Error(Code::kInvalid, str("etcd ", address,
                                     ": it is of another cluster than the endpoints before it:"
                                     " correct 'endpoints' in [fleet]"));
  }
  Member member{address, health.version()};
  if (health.leader() == 0) return said_by(address, {StatusCode::UNAVAILABLE, "no leader"});
  member.leads = health.leader() == health.header().member_id();
  for (const std::string& trouble : health.errors()) {
    member.trouble += str(member.trouble.empty() ? "" : "; ", base::one_line(trouble, 256));
  }
  if (access_.user.empty()) return member;
  etcd::AuthenticateRequest user;
  user.set_name(access_.user);
  user.set_password(access_.password);
  etcd::AuthenticateReply token;
  const RpcStatus known = ask(kAuthenticate, user, token, deadline);
  if (!known.ok()) return said_by(address, known);
  token_ = token.token();
  return member;
}

// A member that does not answer leaves time for the others, and for the call.
Deadline Connection::share() const {
  const auto others = static_cast<int64_t>(access_.endpoints.size() - next_);
  return deadline_.capped(std::max(deadline_.left() / (others + 1), kShortestTry));
}

// A member may say that it is well, and keep no other call: one whose disk hangs, for example.
RpcStatus Connection::probe(const Deadline& deadline) {
  etcd::RangeRequest nothing;
  nothing.set_key(std::string(1, '\0'));
  nothing.set_limit(1);
  etcd::RangeReply reply;
  const RpcStatus status = ask(kProbe, nothing, reply, deadline);
  // Whoever may not read there is answered, too.
  return status.code == StatusCode::PERMISSION_DENIED ? RpcStatus() : status;
}

Status Connection::open() {
  if (channel_ && channel_->is_usable()) return {};
  Error last(Code::kUnavailable, "no endpoint of etcd is left to try");
  while (next_ < access_.endpoints.size()) {
    const Deadline limit = share();
    Result<Member> member = try_endpoint(next_++, limit);
    if (member.ok()) return {};
    channel_.reset();
    last = std::move(member).error();
  }
  return last;
}

Status Connection::call(const Rpc& rpc, const MessageLite& request, MessageLite& reply) {
  for (;;) {
    TRY(open());
    const bool is_last = next_ == access_.endpoints.size();
    const Deadline limit = is_last ? deadline_ : share();
    RpcStatus status = is_last || !rpc.changes ? RpcStatus() : probe(limit);
    const bool is_sent = status.ok();
    if (is_sent) status = ask(rpc, request, reply, rpc.changes ? deadline_ : limit);
    if (status.ok()) return {};
    Error error = said_by(address_, status);
    const bool may_be_done = is_lost(status) || error.code() == Code::kTimeout;
    if (is_sent && rpc.changes && may_be_done) {
      return Error(Code::kTimeout, str(error.message(), "; it may have been carried out"));
    }
    const bool may_go_on = error.code() == Code::kUnavailable || error.code() == Code::kTimeout;
    if (is_last || !may_go_on || deadline_.passed()) return error;
    channel_.reset();
  }
}

Status Connection::begin(const Rpc& rpc, const MessageLite& request) {
  TRY(open());
  transport::Call stream = call_of(rpc, request.SerializeAsString(), deadline_);
  stream.is_stream = true;
  return channel_->begin(stream);
}

Status Connection::next(MessageLite& reply) {
  std::string message;
  const RpcStatus status = channel_->next(message, deadline_);
  if (!status.ok()) return said_by(address_, status);
  const bool parsed = !transport::has_too_many_fields(message, kEventDepth) &&
                      reply.ParseFromArray(message.data(), static_cast<int>(message.size()));
  if (parsed) return {};
  return Error(Code::kInternal, str("etcd ", address_, ": its answer cannot be parsed"));
}

std::vector<Member> Connection::members() {
  std::vector<Member> all;
  for (size_t i = 0; i < access_.endpoints.size(); ++i) {
    const auto left = static_cast<int64_t>(access_.endpoints.size() - i);
    Result<Member> member = try_endpoint(i, deadline_.capped(deadline_.left() / left));
    Member shown{access_.endpoints[i]};
    if (member.ok()) {
      shown = member.value();
    } else {
      const std::string place = str("etcd ", shown.address, ": ");
      std::string_view why = member.error().message();
      if (why.starts_with(place)) why.remove_prefix(place.size());
      shown.trouble = base::one_line(why, 512);
    }
    all.push_back(std::move(shown));
  }
  return all;
}

}  // namespace fleet_client
