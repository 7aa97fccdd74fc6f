// SPDX-License-Identifier: Apache-2.0
#include "netns/internal/nl.h"

#include <arpa/inet.h>
#include <linux/netlink.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>

#include "base/clock.h"
#include "base/names.h"
#include "base/text.h"
#include "netns/internal/scope.h"

namespace netns::nl {

using namespace base::names;
using base::Fd;

namespace {

// The most that the kernel puts into one datagram of a dump (NLMSG_GOODSIZE to 32 KiB).
constexpr size_t kReceiveBytes = 32768;
// A datagram of this size fits into any host's default send buffer.
constexpr size_t kUsualBatchBytes = 64 << 10;
constexpr size_t kMostBatchBytes = 256 << 20;
// The kernel answers during sendmsg. The timeout only matters if it never answers, or if another
// process floods the socket.
constexpr std::chrono::seconds kTimeout{5};
constexpr int kLargestErrno = 4095;  // MAX_ERRNO of linux/err.h

Error error_of(const nlmsghdr& reply, int err, const std::string& what) {
  std::string text;
  if ((reply.nlmsg_flags & NLM_F_ACK_TLVS) != 0) {
    text = Attributes(reply, sizeof(nlmsgerr), NLMSGERR_ATTR_MAX).text(NLMSGERR_ATTR_MSG);
  }
  return nl_error(err, what, text);
}

// What one received datagram means for a batch of requests.
class Answers {
 public:
  Answers(std::span<const Message> batch, const Socket::OnReply& on_reply)
      : batch_(batch), on_reply_(on_reply) {
    for (const Message& message : batch) {
      if ((message.raw()->nlmsg_flags & NLM_F_ACK) != 0) last_ = message.raw()->nlmsg_seq;
    }
    const nlmsghdr& end = *batch.back().raw();
    if (last_ == 0 && (end.nlmsg_flags & NLM_F_DUMP) == 0) question_ = end.nlmsg_seq;
  }
  [[nodiscard]] bool done() const { return done_; }

  Status read(std::span<char> datagram) {
    int left = static_cast<int>(datagram.size());
    void* const start = datagram.data();
    for (auto* reply = static_cast<nlmsghdr*>(start); nlmsg_ok(reply, left) != 0 && !done_;
         reply = nlmsg_next(reply, &left)) {
      TRY(read_one(*reply));
    }
    return {};
  }

 private:
  Status read_one(const nlmsghdr& reply) {
    const uint32_t index = reply.nlmsg_seq - batch_.front().raw()->nlmsg_seq;
    if (index >= batch_.size()) return {};  // answers an earlier batch that failed
    const std::string& what = batch_[index].what();
    was_interrupted_ = was_interrupted_ || (reply.nlmsg_flags & NLM_F_DUMP_INTR) != 0;
    if (reply.nlmsg_type != NLMSG_ERROR && reply.nlmsg_type != NLMSG_DONE) {
      on_reply_(reply);
      done_ = reply.nlmsg_seq == question_;
      return {};
    }
    // Both start with an errno, which is 0 for an acknowledgement and for the end of a dump.
    int err = 0;
    if (nlmsg_datalen(&reply) < static_cast<int>(sizeof err)) return nl_error(EBADMSG, what, "");
    std::memcpy(&err, nlmsg_data(&reply), sizeof err);
    if (err > 0 || err < -kLargestErrno) return nl_error(EBADMSG, what, "");
    if (err != 0 && !batch_[index].tolerates(-err)) return error_of(reply, -err, what);
    // Not before: the kernel refuses the next dump while this one lasts.
    if (reply.nlmsg_type == NLMSG_DONE && was_interrupted_) return nl_error(EINTR, what, "");
    done_ =
        reply.nlmsg_type == NLMSG_DONE || reply.nlmsg_seq == last_ || reply.nlmsg_seq == question_;
    return {};
  }

  std::span<const Message> batch_;
  const Socket::OnReply& on_reply_;
  uint32_t last_ = 0;      // the request that is acknowledged last
  uint32_t question_ = 0;  // or, where none is, the one whose only reply is the answer
  bool was_interrupted_ = false;
  bool done_ = false;
};

}  // namespace

Message::Message(int type, int flags, std::string what, size_t capacity)
    : message_(nlmsg_alloc_size(capacity)), what_(std::move(what)) {
  if (!message_) std::abort();  // out of memory: as when operator new fails
  check(nlmsg_put(message_.get(), NL_AUTO_PORT, NL_AUTO_SEQ, type, 0, flags | NLM_F_REQUEST) ? 0
                                                                                             : -1);
}

void Message::put_bytes(int type, const void* data, size_t size) {
  check(size > USHRT_MAX ? -1 : nla_put(message_.get(), type, static_cast<int>(size), data));
}

void Message::put_be32(int type, uint32_t value) { put_u32(type, htonl(value)); }

nlattr* Message::open_nest(int type) {
  nlattr* const start = nla_nest_start(message_.get(), type);
  check(start == nullptr ? -1 : 0);
  return start;
}

void Message::close_nest(nlattr* start) {
  if (start != nullptr) check(nla_nest_end(message_.get(), start));
}

Attributes::Attributes(const nlmsghdr& reply, int header_size, int max_type)
    : table_(static_cast<size_t>(max_type) + 1) {
  // A reply that cannot be parsed has no attributes.
  if (nlmsg_parse(const_cast<nlmsghdr*>(&reply), header_size, table_.data(), max_type, nullptr) <
      0) {
    std::fill(table_.begin(), table_.end(), nullptr);
  }
}

Attributes Attributes::nested(int type, int max_type) const {
  Attributes inner(max_type);
  nlattr* const outer = table_[static_cast<size_t>(type)];
  if (outer == nullptr || nla_parse_nested(inner.table_.data(), max_type, outer, nullptr) < 0) {
    std::fill(inner.table_.begin(), inner.table_.end(), nullptr);
  }
  return inner;
}

std::span<const uint8_t> Attributes::bytes(int type) const {
  const nlattr* const attribute = table_[static_cast<size_t>(type)];
  if (attribute == nullptr) return {};
  return {static_cast<const uint8_t*>(nla_data(attribute)),
          static_cast<size_t>(nla_len(attribute))};
}

std::optional<uint32_t> Attributes::u32(int type) const {
  const std::span<const uint8_t> data = bytes(type);
  uint32_t value = 0;
  if (data.size() < sizeof value) return std::nullopt;
  std::memcpy(&value, data.data(), sizeof value);
  return value;
}

std::string Attributes::text(int type) const {
  const std::span<const uint8_t> data = bytes(type);
  return {data.begin(), std::find(data.begin(), data.end(), uint8_t{0})};
}

Error nl_error(int err, std::string_view what, std::string_view kernel_text) {
  const Error plain = Error::from_errno(err, what);
  if (kernel_text.empty()) return plain;
  return Error::from_errno(err, str(what, ": ", base::one_line(kernel_text, 200)));
}

Result<Socket> Socket::open(const Namespace& in, int protocol) {
  return std::move(TRY(open_all(in, {protocol})).front());
}

Result<std::vector<Socket>> Socket::open_all(const Namespace& in,
                                             const std::vector<int>& protocols) {
  const internal::Scope inside = TRY(internal::Scope::enter(in.fd()));
  std::vector<Socket> sockets;
  for (const int protocol : protocols) {
    Socket socket(TRY(internal::open_socket_here(AF_NETLINK, SOCK_RAW, protocol)));
    TRY(socket.set_up());
    sockets.push_back(std::move(socket));
  }
  return sockets;
}

Status Socket::set_up() {
  const int on = 1;
  // Requests the kernel's explanation of an error, without a copy of the failed request.
  for (const int option : {NETLINK_EXT_ACK, NETLINK_CAP_ACK}) {
    if (setsockopt(fd_.get(), SOL_NETLINK, option, &on, sizeof on) != 0) {
      return Error::from_errno(errno, "set up a netlink socket");
    }
  }
  const timeval timeout{.tv_sec = kTimeout.count(), .tv_usec = 0};
  if (setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout) == 0) return {};
  return Error::from_errno(errno, "set up a netlink socket");
}

// The kernel takes no datagram that is longer than the send buffer. Root may exceed the limit of
// the host (net.core.wmem_max).
Status Socket::make_room(size_t bytes) {
  const int room = static_cast<int>(std::min<size_t>(bytes, kMostBatchBytes));
  if (setsockopt(fd_.get(), SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof room) == 0) return {};
  return Error::from_errno(errno, "enlarge the send buffer of a netlink socket");
}

Status Socket::send(std::span<Message> batch) {
  std::vector<iovec> parts;
  size_t bytes = 0;
  for (Message& message : batch) {
    if (!message.complete()) {
      return Error(Code::kInvalid, str(message.what(), ": the request is too long"));
    }
    message.raw()->nlmsg_seq = ++sequence_;
    parts.push_back({.iov_base = message.raw(), .iov_len = NLMSG_ALIGN(message.raw()->nlmsg_len)});
    bytes += parts.back().iov_len;
  }
  if (bytes > kUsualBatchBytes) TRY(make_room(bytes));
  sockaddr_nl kernel{};
  kernel.nl_family = AF_NETLINK;
  msghdr datagram{};
  datagram.msg_name = &kernel;
  datagram.msg_namelen = sizeof kernel;
  datagram.msg_iov = parts.data();
  datagram.msg_iovlen = parts.size();
  if (sendmsg(fd_.get(), &datagram, 0) < 0) return Error::from_errno(errno, batch.front().what());
  return {};
}

Result<size_t> Socket::receive(std::span<char> buffer) {
  sockaddr_nl sender{};
  iovec part{.iov_base = buffer.data(), .iov_len = buffer.size()};
  msghdr datagram{};
  datagram.msg_name = &sender;
  datagram.msg_namelen = sizeof sender;
  datagram.msg_iov = &part;
  datagram.msg_iovlen = 1;
  ssize_t size = 0;
  do {
    size = recvmsg(fd_.get(), &datagram, 0);
  } while (size < 0 && errno == EINTR);
  if (size < 0) {
    return Error::from_errno(errno == EAGAIN ? ETIMEDOUT : errno, "receive the kernel's answer");
  }
  if ((datagram.msg_flags & MSG_TRUNC) != 0) {
    return Error(Code::kInternal, "receive the kernel's answer: it is too long");
  }
  // Other processes can send to this socket too; only port 0 is the kernel.
  return sender.nl_pid == 0 ? static_cast<size_t>(size) : 0;
}

Status Socket::exchange(std::span<Message> batch, const OnReply& on_reply) {
  TRY(send(batch));
  Answers answers(batch, on_reply);
  std::vector<char> buffer(kReceiveBytes);
  const auto deadline = base::Deadline::after(kTimeout);
  while (!answers.done()) {
    if (deadline.passed()) return nl_error(ETIMEDOUT, batch.front().what(), "");
    const size_t size = TRY_CTX(batch.front().what(), receive(buffer));
    TRY(answers.read(std::span(buffer).first(size)));
  }
  return {};
}

Status Socket::exchange(std::span<Message> batch) {
  return exchange(batch, [](const nlmsghdr&) {});
}

}  // namespace netns::nl
