// SPDX-License-Identifier: Apache-2.0
#include "netns/internal/scope.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>

#include "base/fs.h"
#include "base/names.h"

namespace netns::internal {

using namespace base::names;
using base::Fd;

namespace {

constexpr const char* kHere = "/proc/thread-self/ns/net";

}  // namespace

Result<Scope> Scope::enter(int namespace_fd) {
  struct stat here {};
  struct stat there {};
  if (stat(kHere, &here) != 0 || fstat(namespace_fd, &there) != 0) {
    return Error::from_errno(errno, "identify a network namespace");
  }
  if (here.st_dev == there.st_dev && here.st_ino == there.st_ino) return Scope(Fd());
  Fd home = TRY(base::open_at(AT_FDCWD, kHere, O_RDONLY));
  if (setns(namespace_fd, CLONE_NEWNET) != 0) {
    return Error::from_errno(errno, "enter a network namespace (needs CAP_SYS_ADMIN)");
  }
  return Scope(std::move(home));
}

Scope::~Scope() {
  if (home_.valid() && setns(home_.get(), CLONE_NEWNET) != 0) std::abort();
}

Result<Fd> open_setting(int namespace_fd, const std::string& path, int flags) {
  const Scope inside = TRY(Scope::enter(namespace_fd));
  return base::open_at(AT_FDCWD, path, flags);
}

Result<Fd> open_socket(int namespace_fd, int domain, int type, int protocol) {
  const Scope inside = TRY(Scope::enter(namespace_fd));
  return open_socket_here(domain, type, protocol);
}

Result<Fd> open_socket_here(int domain, int type, int protocol) {
  Fd fd(socket(domain, type | SOCK_CLOEXEC, protocol));
  if (!fd.valid()) return Error::from_errno(errno, "make a socket in a network namespace");
  return fd;
}

}  // namespace netns::internal
