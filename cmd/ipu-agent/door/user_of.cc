// SPDX-License-Identifier: Apache-2.0
#include "cmd/ipu-agent/door/user_of.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>

#include "base/names.h"

namespace agent {

using namespace base::names;

Result<std::string> path_of(int socket) {
  sockaddr_un address{};
  socklen_t size = sizeof address;
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0)
    return Error::from_errno(errno, "ask for the path of a socket");
  const bool has_path = address.sun_family == AF_UNIX && size > sizeof(sa_family_t) &&
                        size <= sizeof address && address.sun_path[0] == '/';
  if (!has_path) return Error(Code::kInvalid, "the socket has no path");
  return std::string(address.sun_path, ::strnlen(address.sun_path, sizeof address.sun_path));
}

Result<uid_t> user_of(int socket, const std::string& path) {
  int listens = 0;
  socklen_t size = sizeof listens;
  if (::getsockopt(socket, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0)
    return Error::from_errno(errno, "examine a connection");
  const Result<std::string> own = path_of(socket);
  if (listens != 0 || !own.ok() || own.value() != path)
    return Error(Code::kDenied, "this is not a connection of a user");
  ucred peer{};
  size = sizeof peer;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0) return peer.uid;
  return Error::from_errno(errno, "ask who has connected");
}

}  // namespace agent
