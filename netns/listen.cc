// SPDX-License-Identifier: Apache-2.0
#include "netns/listen.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "base/names.h"
#include "base/text.h"
#include "netns/internal/scope.h"

namespace netns {

using namespace base::names;

Result<base::Fd> listen_in(const Namespace& in, const Address& address, uint16_t port) {
  constexpr int kWaiting = 8;  // connections that are not accepted yet
  base::Fd fd = TRY(internal::open_socket(in.fd(), AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0));
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_port = htons(port);
  const auto raw = address.raw();
  std::copy(raw.begin(), raw.end(), reinterpret_cast<uint8_t*>(&name.sin_addr));
  const int yes = 1;
  // Connections of an earlier listener may linger; the loopback interface may still be down.
  const bool done = ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) == 0 &&
                    ::setsockopt(fd.get(), IPPROTO_IP, IP_FREEBIND, &yes, sizeof yes) == 0 &&
                    ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&name), sizeof name) == 0 &&
                    ::listen(fd.get(), kWaiting) == 0;
  if (done) return fd;
  return Error::from_errno(errno, str("listen on ", to_string(address), ":", port,
                                      " in the network namespace of a container"));
}

}  // namespace netns
