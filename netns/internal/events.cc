// SPDX-License-Identifier: Apache-2.0
#include "netns/internal/events.h"

#include <linux/netlink.h>
#include <sys/socket.h>

#include <cerrno>
#include <vector>

#include "base/names.h"
#include "netns/internal/scope.h"

namespace netns::internal {

using namespace base::names;

namespace {

constexpr size_t kBytes = 32768;
constexpr int kMostDatagrams = 10'000;  // in one call
constexpr const char* kWhat = "watch the network of the host";

}  // namespace

Result<base::Fd> open_events(const Namespace& in, int protocol, unsigned group) {
  base::Fd socket = TRY(open_socket(in.fd(), AF_NETLINK, SOCK_RAW | SOCK_NONBLOCK, protocol));
  sockaddr_nl address{};
  address.nl_family = AF_NETLINK;
  address.nl_groups = 1U << (group - 1);
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return Error::from_errno(errno, kWhat);
  return socket;
}

Result<Lost> read_events(const base::Fd& socket,
                         const std::function<void(const nlmsghdr&)>& on_event) {
  Lost lost = Lost::kNothing;
  std::vector<char> buffer(kBytes);
  for (int datagram = 0; datagram < kMostDatagrams; ++datagram) {
    sockaddr_nl sender{};
    socklen_t length = sizeof sender;
    const ssize_t size = ::recvfrom(socket.get(), buffer.data(), buffer.size(), 0,
                                    reinterpret_cast<sockaddr*>(&sender), &length);
    if (size < 0 && errno == EAGAIN) break;
    if (size < 0 && errno == ENOBUFS) lost = Lost::kSome;
    if (size < 0 && errno != EINTR && errno != ENOBUFS) return Error::from_errno(errno, kWhat);
    if (size < 0 || sender.nl_pid != 0) continue;  // only port 0 is the kernel
    int left = static_cast<int>(size);
    for (auto* event = reinterpret_cast<nlmsghdr*>(buffer.data()); nlmsg_ok(event, left) != 0;
         event = nlmsg_next(event, &left)) {
      on_event(*event);
    }
  }
  return lost;
}

}  // namespace netns::internal
