// SPDX-License-Identifier: Apache-2.0
#include "cmd/vipu-simulator/listen.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/fs.h"
#include "base/names.h"
#include "base/text.h"

namespace simulator {

using namespace base::names;
using base::Fd;

namespace {

constexpr int kBacklog = 64;

Result<sockaddr_un> unix_name(const std::string& path) {
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof name.sun_path) {
    return Error(Code::kInvalid, str("socket ", base::quote(path), ": the path must have 1 to ",
                                     sizeof name.sun_path - 1, " bytes"));
  }
  std::memcpy(name.sun_path, path.data(), path.size());
  return name;
}

Result<Fd> unix_socket(int flags) {
  Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | flags, 0));
  if (!socket.valid()) return Error::from_errno(errno, "unix socket");
  return socket;
}

// Removes the socket of a program that has ended.
Status remove_stale(const std::string& path) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) return {};  // nothing there, or bind reports the error
  if (!S_ISSOCK(info.st_mode)) {
    return Error(Code::kExists,
                 str("listen on ", base::quote(path),
                     ": it exists and is no socket; remove it, or give another path"));
  }
  const Result<Fd> peer = connect_unix(path);
  if (peer.ok()) {
    return Error(Code::kBusy,
                 str("listen on ", base::quote(path),
                     ": another program listens there; stop it, or give another path"));
  }
  if (peer.error().sys_errno() != ECONNREFUSED) return peer.error();
  TRY(base::remove_file(path));
  return {};
}

}  // namespace

Result<Fd> listen_tcp(const std::string& address, uint16_t port) {
  const std::string what = str("listen on ", address, ":", port);
  Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.valid()) return Error::from_errno(errno, what);
  const int on = 1;
  (void)::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_port = htons(port);
  if (::inet_pton(AF_INET, address.c_str(), &name.sin_addr) != 1) {
    return Error(Code::kInvalid, str(base::quote(address), " is not an IPv4 address"));
  }
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&name), sizeof name) != 0 ||
      ::listen(socket.get(), kBacklog) != 0) {
    return Error::from_errno(errno, what);
  }
  return socket;
}

Result<uint16_t> port_of(const Fd& socket) {
  sockaddr_in name{};
  socklen_t size = sizeof name;
  if (::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&name), &size) != 0) {
    return Error::from_errno(errno, "port of a socket");
  }
  return ntohs(name.sin_port);
}

Result<Fd> listen_unix(const std::string& path) {
  const sockaddr_un name = TRY(unix_name(path));
  TRY(remove_stale(path));
  Fd socket = TRY(unix_socket(SOCK_NONBLOCK));
  const std::string what = str("listen on ", base::quote(path));
  // Nobody can connect before listen, and by then the mode is set.
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&name), sizeof name) != 0 ||
      ::chmod(path.c_str(), 0600) != 0 || ::listen(socket.get(), kBacklog) != 0) {
    return Error::from_errno(errno, what);
  }
  return socket;
}

Result<Fd> connect_unix(const std::string& path) {
  const sockaddr_un name = TRY(unix_name(path));
  Fd socket = TRY(unix_socket(0));
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&name), sizeof name) != 0) {
    return Error::from_errno(errno, str("connect to ", base::quote(path)));
  }
  return socket;
}

}  // namespace simulator
