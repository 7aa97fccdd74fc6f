// SPDX-License-Identifier: Apache-2.0
#include "netns/handle.h"

#include <fcntl.h>
#include <linux/limits.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>

#include "base/clock.h"
#include "base/fd.h"
#include "base/fs.h"
#include "base/log.h"
#include "base/names.h"
#include "base/text.h"

namespace netns {

using namespace base::names;
using base::Fd;
using base::Removed;

namespace {

// Other processes hold the lock only for a few mount calls.
constexpr std::chrono::seconds kLockTimeout{5};
constexpr std::chrono::milliseconds kRetry{2};

Result<std::string> path_of(const std::string& directory, const std::string& name) {
  const bool is_file_name = !name.empty() && name.size() <= NAME_MAX && name != "." &&
                            name != ".." && name.find('/') == std::string::npos;
  if (!is_file_name)
    return Error(Code::kInvalid, str("handle ", quote(name), " is not a file name"));
  return str(directory, '/', name);
}

Result<Fd> lock(const std::string& directory) {
  Fd fd = TRY(base::open_at(AT_FDCWD, directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  const auto deadline = Deadline::after(kLockTimeout);
  const base::LockWait wait(directory);
  while (flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) {
      return Error::from_errno(errno, str("lock ", quote(directory)));
    }
    if (deadline.passed()) {
      return Error(Code::kTimeout, str("lock ", quote(directory), ": another process holds it"));
    }
    base::sleep_for(kRetry, deadline);
  }
  return fd;
}

Result<std::optional<Namespace>> open_kept(const std::string& path) {
  Result<Namespace> kept = Namespace::at(path);
  if (kept.ok()) return std::optional(std::move(kept).take());
  // The file is absent, or it is the empty file of an interrupted keep().
  const Code code = kept.error().code();
  if (code == Code::kNotFound || code == Code::kInvalid) return std::optional<Namespace>();
  return kept.error();
}

// Does both steps each time: an earlier call may have been interrupted between them.
Status make_private_mount(const std::string& directory) {
  struct statx status {};
  const std::string what = str("mount ", quote(directory));
  if (statx(AT_FDCWD, directory.c_str(), AT_SYMLINK_NOFOLLOW, 0, &status) != 0) {
    return Error::from_errno(errno, what);
  }
  const bool is_mount = (status.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
  const char* const path = directory.c_str();
  if (!is_mount && mount(path, path, nullptr, MS_BIND, nullptr) != 0) {
    return Error::from_errno(errno, what);
  }
  if (mount(nullptr, path, nullptr, MS_PRIVATE, nullptr) != 0) {
    return Error::from_errno(errno, what);
  }
  return {};
}

}  // namespace

Status keep(const std::string& directory, const std::string& name, const Namespace& ns) {
  const std::string path = TRY(path_of(directory, name));
  TRY(base::ensure_dir(directory, 0700));
  const Fd held = TRY(lock(directory));
  TRY(make_private_mount(directory));
  const std::optional<Namespace> kept = TRY(open_kept(path));
  if (kept.has_value()) {
    if (kept->identity() == ns.identity()) return {};
    return Error(Code::kExists, str(quote(path), " already keeps another network namespace"));
  }
  TRY(base::open_at(AT_FDCWD, path, O_RDONLY | O_CREAT | O_NOFOLLOW, 0400));
  const std::string source = str("/proc/self/fd/", ns.fd());
  if (mount(source.c_str(), path.c_str(), nullptr, MS_BIND, nullptr) != 0) {
    return Error::from_errno(errno, str("keep a network namespace at ", quote(path)));
  }
  return {};
}

Result<std::optional<Namespace>> find_kept(const std::string& directory, const std::string& name) {
  const std::string path = TRY(path_of(directory, name));
  return open_kept(path);
}

Result<Removed> drop(const std::string& directory, const std::string& name) {
  const std::string path = TRY(path_of(directory, name));
  const Result<Fd> held = lock(directory);
  if (!held.ok() && held.error().code() == Code::kNotFound) return Removed::kWasAbsent;
  if (!held.ok()) return held.error();
  // Unmounts lazily, because another process may have it open. Absent or unmounted is not an error.
  if (umount2(path.c_str(), MNT_DETACH | UMOUNT_NOFOLLOW) != 0 && errno != EINVAL &&
      errno != ENOENT) {
    return Error::from_errno(errno, str("unmount ", quote(path)));
  }
  // This also removes the copies in other mount namespaces.
  return base::remove_file(path);
}

}  // namespace netns
