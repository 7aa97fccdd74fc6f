// SPDX-License-Identifier: Apache-2.0
#include "cmd/ipu-agent/listener.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/fs.h"
#include "base/names.h"
#include "base/users.h"

namespace agent {
namespace {

using namespace base::names;

constexpr const char* kGroup = "ipu";
constexpr int kBacklog = 64;
constexpr int kPassed = 3;  // the first descriptor that systemd passes

bool is_listening(int socket) {
  int domain = 0;
  int listens = 0;
  socklen_t size = sizeof(int);
  return ::getsockopt(socket, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 && domain == AF_UNIX &&
         ::getsockopt(socket, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0 && listens != 0;
}

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

Result<sockaddr_un> address_of(const std::string& path) {
  sockaddr_un address{AF_UNIX, {}};
  if (path.size() >= sizeof address.sun_path)
    return Error(Code::kInvalid, str("the path ", quote(path), " is too long for a socket"));
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return address;
}

Result<base::Fd> new_socket() {
  base::Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.valid()) return Error::from_errno(errno, "make a socket");
  return socket;
}

// Removes a socket that an ended process has left.
Status remove_dead(const std::string& path, const sockaddr_un& address) {
  const base::Fd probe = TRY(new_socket());
  const int rc =
      ::connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
  if (rc == 0 || errno == EAGAIN)
    return Error(Code::kExists, str("another process listens on ", quote(path), " already"));
  if (errno != ECONNREFUSED) return {};
  TRY(base::remove_file(path));
  return {};
}

Result<gid_t> group() {
  const std::optional<gid_t> gid = TRY(base::find_group(kGroup));
  if (gid) return *gid;
  return Error(Code::kNotFound,
               str("there is no group ", quote(kGroup), "; run 'groupadd --system ", kGroup, "'"));
}

}  // namespace

Result<Listener> passed_listener() {
  if (variable("LISTEN_PID") != str(::getpid())) return Listener{};
  const std::string count = variable("LISTEN_FDS");
  base::Fd socket(kPassed);
  if (count != "1" || !is_listening(kPassed)) {
    return Error(Code::kInvalid,
                 "systemd must pass one listening unix socket; see ipu-agent.socket");
  }
  const bool is_set =
      ::fcntl(kPassed, F_SETFD, FD_CLOEXEC) == 0 && ::fcntl(kPassed, F_SETFL, O_NONBLOCK) == 0;
  if (!is_set) return Error::from_errno(errno, "set up the socket of systemd");
  return Listener{std::move(socket), ""};
}

Result<Listener> make_listener(const std::string& path) {
  const gid_t gid = TRY(group());
  const sockaddr_un address = TRY(address_of(path));
  TRY(remove_dead(path, address));
  base::Fd socket = TRY(new_socket());
  const mode_t before = ::umask(0177);
  const int bound =
      ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
  const int err = errno;
  (void)::umask(before);
  if (bound != 0) return Error::from_errno(err, str("make the socket ", quote(path)));
  // Nobody but root can connect before it has its group.
  const bool is_open = ::chown(path.c_str(), 0, gid) == 0 && ::chmod(path.c_str(), 0660) == 0 &&
                       ::listen(socket.get(), kBacklog) == 0;
  if (!is_open) return Error::from_errno(errno, str("open the socket ", quote(path)));
  return Listener{std::move(socket), path};
}

}  // namespace agent
