// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/recording.h"

#include <linux/if_link.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <optional>

#include "base/names.h"

namespace {

using namespace base::names;
using Datagram = Recording::Datagram;

struct Recorder {
  Recorded which = Recorded::kAll;
  uint64_t target = 0;  // cookie
  std::vector<Datagram> datagrams;
};
Recorder* recorder = nullptr;

bool is_question(const nlmsghdr& first, int protocol) {
  constexpr int kGet = 2;  // of the four route requests about each kind of object
  if (protocol == NETLINK_ROUTE) return (first.nlmsg_type & 3) == kGet;
  return first.nlmsg_type != NFNL_MSG_BATCH_BEGIN;
}

template <typename T>
std::optional<T> option_of(int fd, int name) {
  T value{};
  socklen_t size = sizeof value;
  if (::getsockopt(fd, SOL_SOCKET, name, &value, &size) != 0) return std::nullopt;
  return value;
}

void note(int fd, const msghdr& message) {
  if (option_of<int>(fd, SO_DOMAIN) != AF_NETLINK) return;
  Datagram datagram;
  datagram.protocol = option_of<int>(fd, SO_PROTOCOL).value_or(-1);
  datagram.is_for_target = option_of<uint64_t>(fd, SO_NETNS_COOKIE) == recorder->target;
  for (size_t i = 0; i < message.msg_iovlen; ++i) {
    const auto* const from = static_cast<const std::byte*>(message.msg_iov[i].iov_base);
    datagram.bytes.insert(datagram.bytes.end(), from, from + message.msg_iov[i].iov_len);
  }
  nlmsghdr first{};
  std::memcpy(&first, datagram.bytes.data(), sizeof first);
  if (recorder->which == Recorded::kChanges && is_question(first, datagram.protocol)) return;
  recorder->datagrams.push_back(std::move(datagram));
}

// Puts the descriptor of the namespace of now into a request for a link.
void put_namespace(std::vector<std::byte>& bytes, int fd) {
  nlmsghdr header{};
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.nlmsg_type != RTM_NEWLINK) return;
  size_t at = sizeof(nlmsghdr) + sizeof(ifinfomsg);
  while (at + sizeof(nlattr) <= header.nlmsg_len) {
    nlattr attribute{};
    std::memcpy(&attribute, &bytes[at], sizeof attribute);
    if (attribute.nla_type == IFLA_NET_NS_FD) {
      std::memcpy(&bytes[at + sizeof(nlattr)], &fd, sizeof fd);
    }
    at += (size_t{attribute.nla_len} + 3) / 4 * 4;
  }
}

// Receives the only answer to changes that succeed, the only one to a question, or all of a dump.
// Returns the errno of a change.
int exchange(int fd, int protocol, const std::vector<std::byte>& bytes) {
  static std::array<std::byte, 32768> buffer;
  nlmsghdr request{};
  std::memcpy(&request, bytes.data(), sizeof request);
  const bool asks = is_question(request, protocol);
  const bool dumps = asks && (request.nlmsg_flags & NLM_F_DUMP) == NLM_F_DUMP;
  if (::send(fd, bytes.data(), bytes.size(), 0) < 0) return errno;
  for (;;) {
    if (::recv(fd, buffer.data(), buffer.size(), 0) < 0) return errno;
    nlmsghdr first{};
    std::memcpy(&first, buffer.data(), sizeof first);
    if (dumps && first.nlmsg_type != NLMSG_DONE && first.nlmsg_type != NLMSG_ERROR) continue;
    if (asks) return 0;
    nlmsgerr answer{};
    std::memcpy(&answer, &buffer[NLMSG_HDRLEN], sizeof answer);
    return -answer.error;
  }
}

// The sockets of both namespaces, as far as datagrams need them.
class Sockets {
 public:
  Status open(const std::vector<Datagram>& datagrams, bool for_target) {
    for (const Datagram& datagram : datagrams) {
      base::Fd& fd = of(datagram);
      if (datagram.is_for_target != for_target || fd.valid()) continue;
      fd = base::Fd(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, datagram.protocol));
      if (!fd.valid()) return Error::from_errno(errno, "socket");
    }
    return {};
  }
  base::Fd& of(const Datagram& datagram) {
    return fds_[datagram.is_for_target ? 1 : 0][datagram.protocol == NETLINK_ROUTE ? 1 : 0];
  }

 private:
  std::array<std::array<base::Fd, 2>, 2> fds_;
};

}  // namespace

// In place of the C library's.
extern "C" ssize_t sendmsg(int fd, const msghdr* message, int flags) {
  if (recorder != nullptr) note(fd, *message);
  return ::syscall(SYS_sendmsg, fd, message, flags);
}

Result<Recording> Recording::of(Recorded which, const std::function<Status()>& call,
                                const netns::Namespace& host, const netns::Namespace& target) {
  if (host.identity() == target.identity()) return Error(Code::kInvalid, "one namespace");
  Recorder here{which, target.identity().cookie, {}};
  recorder = &here;
  const Status done = call();
  recorder = nullptr;
  if (!done.ok()) return done.error();
  Recording recording;
  recording.datagrams_ = std::move(here.datagrams);
  return recording;
}

Status Recording::replay(const netns::Namespace& host, const netns::Namespace& target) {
  Sockets sockets;
  TRY(sockets.open(datagrams_, false));
  if (::setns(target.fd(), CLONE_NEWNET) != 0) return Error::from_errno(errno, "setns");
  const Status opened = sockets.open(datagrams_, true);
  if (::setns(host.fd(), CLONE_NEWNET) != 0) return Error::from_errno(errno, "setns");
  TRY(opened);
  for (Datagram& datagram : datagrams_) {
    put_namespace(datagram.bytes, target.fd());
    const int err = exchange(sockets.of(datagram).get(), datagram.protocol, datagram.bytes);
    if (err != 0) return Error::from_errno(err, "replay");
  }
  return {};
}
