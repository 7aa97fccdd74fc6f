// SPDX-License-Identifier: Apache-2.0
#include "netns/sysfs.h"

#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <optional>

#include "base/names.h"
#include "base/text.h"
#include "netns/internal/scope.h"

namespace netns {

using namespace base::names;
using base::Fd;
using internal::Scope;

Result<Sysfs> Sysfs::of(const Namespace& ns) {
  // The namespace of the opener decides which namespace it shows.
  std::optional<Scope> inside = TRY(Scope::enter(ns.fd()));
  const Fd context(static_cast<int>(::syscall(SYS_fsopen, "sysfs", FSOPEN_CLOEXEC)));
  const int err = errno;
  inside.reset();
  if (!context.valid()) return Error::from_errno(err, "open sysfs");
  if (::syscall(SYS_fsconfig, context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) != 0) {
    return Error::from_errno(errno, "make sysfs");
  }
  constexpr unsigned kAttributes =
      MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC;
  Fd root(static_cast<int>(::syscall(SYS_fsmount, context.get(), FSMOUNT_CLOEXEC, kAttributes)));
  if (!root.valid()) return Error::from_errno(errno, "mount sysfs");
  return Sysfs(std::move(root));
}

std::string Sysfs::path() const { return base::str("/proc/self/fd/", root_.get()); }

}  // namespace netns
