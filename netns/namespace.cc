// SPDX-License-Identifier: Apache-2.0
#include "netns/namespace.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <linux/nsfs.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <cerrno>

#include "base/fs.h"
#include "base/names.h"
#include "base/text.h"
#include "netns/internal/scope.h"

namespace netns {
namespace {

using namespace base::names;
using base::Fd;

// Asks the ioctl only of namespace files: another file might give its number another meaning.
bool is_network_namespace(int fd) {
  struct statfs filesystem {};
  if (fstatfs(fd, &filesystem) != 0 || filesystem.f_type != NSFS_MAGIC) return false;
  return ioctl(fd, NS_GET_NSTYPE) == CLONE_NEWNET;
}

Result<uint64_t> cookie_of(int namespace_fd) {
  const Fd socket = TRY(internal::open_socket(namespace_fd, AF_UNIX, SOCK_DGRAM, 0));
  uint64_t cookie = 0;
  socklen_t size = sizeof cookie;
  if (getsockopt(socket.get(), SOL_SOCKET, SO_NETNS_COOKIE, &cookie, &size) != 0) {
    return Error::from_errno(errno, "read a network namespace's cookie (Linux 5.14 or later)");
  }
  return cookie;
}

}  // namespace

Result<Namespace> Namespace::from_fd(Fd fd, const std::string& what) {
  if (!is_network_namespace(fd.get())) {
    return Error(Code::kInvalid, str(what, " is not a network namespace"));
  }
  struct stat status {};
  if (fstat(fd.get(), &status) != 0) return Error::from_errno(errno, what);
  const uint64_t cookie = TRY_CTX(what, cookie_of(fd.get()));
  const Identity identity{status.st_dev, status.st_ino, cookie};
  return Namespace(std::move(fd), identity);
}

Result<Namespace> Namespace::current() { return at("/proc/thread-self/ns/net"); }

Result<Namespace> Namespace::of_process(pid_t pid) {
  if (pid <= 0) return Error(Code::kInvalid, str(pid, " is not the id of a process"));
  return at(str("/proc/", pid, "/ns/net"));
}

Result<Namespace> Namespace::at(const std::string& path) {
  // O_NONBLOCK keeps a path that names a FIFO from blocking us.
  Fd fd = TRY(base::open_at(AT_FDCWD, path, O_RDONLY | O_NONBLOCK | O_NOCTTY));
  return from_fd(std::move(fd), base::quote(path));
}

}  // namespace netns
