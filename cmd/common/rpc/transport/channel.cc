// SPDX-License-Identifier: Apache-2.0
#include "cmd/common/rpc/transport/channel.h"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>

#include "base/names.h"
#include "base/text.h"

namespace transport {

using namespace base::names;

namespace {

// More waits in the session, which ends the connection to a server that only makes us answer.
constexpr size_t kMostUnsent = 64 << 10;
// Between two looks at the clock. A read may be full of frames that take long.
constexpr int kMostReads = 4;
// More waits for a server that makes us answer, but does not read.
constexpr size_t kMostUnread = 1 << 20;

}  // namespace

Channel::Channel(base::Fd socket, std::unique_ptr<Filter> tls, size_t most)
    : socket_(std::move(socket)), tls_(std::move(tls)), http2_(std::make_unique<Http2>(most)) {}

RpcStatus Channel::call(const Call& call, const Deadline& deadline) {
  Status going = http2_->begin(call);
  while (going.ok() && !http2_->outcome()) {
    if (deadline.passed()) {
      http2_->cancel();
      (void)send();
      return {StatusCode::DEADLINE_EXCEEDED, ""};
    }
    going = step(deadline);
  }
  is_lost_ = !going.ok();
  // What it said before it closed the connection counts.
  if (http2_->outcome()) return *http2_->outcome();
  return {StatusCode::UNAVAILABLE, going.error().message()};
}

RpcStatus Channel::next(std::string& message, const Deadline& deadline) {
  for (Status going;;) {
    if (std::optional<std::string> taken = http2_->take_message()) {
      message = std::move(*taken);
      return {};
    }
    const std::optional<RpcStatus>& ended = http2_->outcome();
    if (ended && !ended->ok()) return *ended;
    if (ended) return {StatusCode::UNAVAILABLE, "it ended the call"};
    if (!going.ok()) return {StatusCode::UNAVAILABLE, going.error().message()};
    if (deadline.passed()) return {StatusCode::DEADLINE_EXCEEDED, ""};
    going = step(deadline);
    is_lost_ = !going.ok();
  }
}

Status Channel::step(const Deadline& deadline) {
  TRY(send());
  TRY(wait(deadline));
  return receive();
}

bool Channel::is_usable() {
  if (!is_lost_) is_lost_ = !receive().ok();
  return !is_lost_ && http2_->is_open();
}

Status Channel::send() {
  std::string plain;
  if (unsent_.size() < kMostUnsent) plain = TRY(http2_->to_send());
  if (tls_) {
    TRY(tls_->send(plain));
    tls_->take_wire(unsent_);
  } else {
    unsent_ += plain;
  }
  while (!unsent_.empty()) {
    const ssize_t sent = ::send(socket_.get(), unsent_.data(), unsent_.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EAGAIN) return {};
    if (sent < 0 && errno == EINTR) continue;
    // An answer may have come before the end.
    if (sent < 0 && (errno == EPIPE || errno == ECONNRESET)) return receive();
    if (sent < 0) return Error::from_errno(errno, "send to it");
    unsent_.erase(0, static_cast<size_t>(sent));
  }
  if (!http2_->outcome() && http2_->has_ended()) return not_http2("protocol error");
  return {};
}

Status Channel::wait(const Deadline& deadline) const {
  if (http2_->outcome()) return {};
  const auto events = static_cast<short>(unsent_.empty() ? POLLIN : POLLIN | POLLOUT);
  pollfd ready{socket_.get(), events, 0};
  const int count = ::poll(&ready, 1, static_cast<int>(deadline.left().count()));
  if (count < 0 && errno != EINTR) return Error::from_errno(errno, "wait for its answer");
  return {};
}

Status Channel::receive() {
  char part[16384];
  for (int reads = 0; reads < kMostReads; ++reads) {
    const ssize_t size = ::recv(socket_.get(), part, sizeof part, MSG_DONTWAIT);
    if (size < 0 && errno == EAGAIN) return {};
    if (size < 0 && errno == EINTR) continue;
    if (size == 0 || (size < 0 && errno == ECONNRESET)) return closed();
    if (size < 0) return Error::from_errno(errno, "receive its answer");
    TRY(take({part, static_cast<size_t>(size)}));
  }
  return {};
}

Status Channel::take(std::string_view arrived) {
  std::string plain;
  if (tls_) {
    Status understood = tls_->receive(arrived, plain);
    // An alert for the other side may be among them.
    tls_->take_wire(unsent_);
    TRY(std::move(understood));
    if (unsent_.size() > kMostUnread) return Error(Code::kInvalid, "it does not read our answers");
    arrived = plain;
  }
  const Status understood = http2_->receive(arrived);
  if (!understood.ok()) return not_http2(understood.error().message());
  if (tls_ && tls_->has_ended()) return closed();
  return {};
}

Error Channel::not_http2(std::string_view reason) const {
  const char* const hint = tls_ || http2_->has_answered() ? "" : ", and may want TLS";
  return {Code::kInvalid, str("it does not speak HTTP/2 well", hint, ": ", reason)};
}

Error Channel::closed() const {
  if (http2_->has_answered()) return {Code::kUnavailable, "it closed the connection"};
  return {Code::kUnavailable, tls_ ? "it closed the connection, and may not accept our certificate"
                                   : "it closed the connection, and may want TLS"};
}

}  // namespace transport
