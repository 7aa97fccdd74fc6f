// SPDX-License-Identifier: Apache-2.0
#include "cmd/ipu-vipu-client/session/connection.h"

#include <algorithm>

#include "base/names.h"
#include "base/serve.h"
#include "base/text.h"
#include "vipu/dial.h"
#include "vipu/wire.h"

namespace client {
namespace {

using namespace base::names;
using std::chrono::milliseconds;

// The shortest time of an attempt: in less, only an idle controller would answer.
constexpr milliseconds kShortestAttempt(500);

// Returns whether STATUS is the controller's own.
bool is_answer(const RpcStatus& status) {
  return status.code != StatusCode::UNAVAILABLE && status.code != StatusCode::DEADLINE_EXCEEDED;
}

}  // namespace

Connection::Connection(const vipu::Access& access, milliseconds timeout,
                       transport::MakeFilter make_filter)
    : access_(access),
      timeout_(timeout),
      deadline_(Deadline::after(timeout)),
      make_filter_(make_filter) {}

RpcStatus Connection::open(const Deadline& deadline) {
  if (channel_ && channel_->is_usable()) return {};
  channel_.reset();
  std::unique_ptr<transport::Filter> tls;
  if (access_.tls) {
    if (make_filter_ == nullptr) return {StatusCode::INTERNAL, "this program does not speak TLS"};
    const std::string host = vipu::split_host_and_port(access_.address).host;
    Result<std::unique_ptr<transport::Filter>> made = make_filter_(*access_.tls, host);
    if (!made.ok()) return {StatusCode::UNAVAILABLE, made.error().message()};
    tls = std::move(made).take();
  }
  const auto wanted = std::max<int64_t>(1, deadline.left().count());
  Result<base::Answer> answer = base::ask(base::kQuestionFd, str(wanted));
  if (!answer.ok()) return {StatusCode::INTERNAL, answer.error().message()};
  const std::string& text = answer.value().text;
  if (text == vipu::kNoConnectionInTime) return {StatusCode::DEADLINE_EXCEEDED, text};
  if (!answer.value().fd.valid()) return {StatusCode::UNAVAILABLE, text};
  channel_.emplace(std::move(answer.value().fd), std::move(tls), vipu::wire::kMaxReply);
  return {};
}

RpcStatus Connection::call(const char* path, std::string message, const Deadline& deadline) {
  const RpcStatus opened = open(deadline);
  if (!opened.ok()) return opened;
  const bool has_name = access_.tls && !access_.tls->server_name.empty();
  const transport::Call call{path,
                             has_name ? access_.tls->server_name : access_.address,
                             access_.tls.has_value(),
                             access_.credentials,
                             std::move(message),
                             deadline.left()};
  RpcStatus status = channel_->call(call, deadline);
  if (is_answer(status)) reached_ = Reached::kYes;
  return status;
}

std::string Connection::within() const { return str("within ", timeout_.count(), " ms"); }

Deadline Connection::attempt_limit(int share) const {
  return deadline_.capped(std::max(deadline_.left() / share, kShortestAttempt));
}

base::Error Connection::to_error(const RpcStatus& status) const {
  return client::to_error(status, {timeout_ - deadline_.left(), reached_});
}

}  // namespace client
