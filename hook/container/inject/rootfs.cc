// SPDX-License-Identifier: Apache-2.0
#include "hook/container/inject/rootfs.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <span>

#include "base/child.h"
#include "base/forbidden_calls.h"
#include "base/fs.h"
#include "base/names.h"
#include "base/scope.h"
#include "base/text.h"

namespace hook::inject {
namespace {

using namespace base::names;
using base::Fd;

constexpr uint64_t kNoLinks = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_BENEATH;
constexpr size_t kMaxMountInfo = 16 << 20;
constexpr std::chrono::seconds kMountTime{10};

Result<Fd> open_in(int directory, const std::string& path, uint64_t flags, uint64_t resolve) {
  open_how how{};
  how.flags = flags | O_CLOEXEC;
  how.resolve = resolve;
  const long fd = ::syscall(SYS_openat2, directory, path.c_str(), &how, sizeof how);
  if (fd < 0) return Error::from_errno(errno, str("open ", base::quote(path), " of the container"));
  return Fd(static_cast<int>(fd));
}

Result<bool> shares_namespace(pid_t pid, const char* kind) {
  struct stat theirs {};
  struct stat ours {};
  if (::stat(str("/proc/", pid, "/ns/", kind).c_str(), &theirs) != 0 ||
      ::stat(str("/proc/self/ns/", kind).c_str(), &ours) != 0) {
    return Error::from_errno(errno, str("inspect namespace '", kind, "' of process ", pid));
  }
  return theirs.st_ino == ours.st_ino;
}

// Tells whether a mount of this process has the file system DEVICE: field 3 of proc(5), mountinfo.
Result<bool> is_mounted_here(dev_t device) {
  const std::string text = TRY(base::read_file("/proc/self/mountinfo", kMaxMountInfo));
  const std::string wanted = str(::gnu_dev_major(device), ":", ::gnu_dev_minor(device));
  for (const std::string_view line : base::split(text, '\n')) {
    const std::vector<std::string_view> fields = base::split(line, ' ');
    if (fields.size() > 2 && fields[2] == wanted) return true;
  }
  return false;
}

// Succeeds for a tmpfs that the host does not have: its content ends with the container.
Status check_private(int directory, const std::string& path) {
  struct statfs file_system {};
  struct stat status {};
  if (::fstatfs(directory, &file_system) != 0 || ::fstat(directory, &status) != 0) {
    return Error::from_errno(errno, str("inspect ", base::quote(path), " of the container"));
  }
  if (file_system.f_type == TMPFS_MAGIC && !TRY(is_mounted_here(status.st_dev))) {
    return {};
  }
  return Error(Code::kUnsupported,
               str("the container has a mount of the host on ", base::quote(path),
                   ", so the hook creates nothing there; leave the mount out, or use the runtime"
                   " wrapper instead of the hook alone"));
}

Error not_usable(const Error& error, const std::string& path) {
  if (error.sys_errno() == ELOOP || error.sys_errno() == ENOTDIR) {
    return {Code::kUnsupported, str(base::quote(path),
                                    " in the image is a symbolic link or not a directory;"
                                    " replace it with a directory")};
  }
  return error;
}

// Opens NAME in the directory AT, with PATH for errors.
Result<Fd> enter(int at, const std::string& name, const std::string& path) {
  Result<Fd> within = open_in(at, name, O_PATH | O_DIRECTORY, kNoLinks | RESOLVE_NO_XDEV);
  if (within.ok()) return within;
  if (within.error().sys_errno() != EXDEV) return not_usable(within.error(), path);
  Fd mounted = TRY(open_in(at, name, O_PATH | O_DIRECTORY, kNoLinks));
  TRY(check_private(mounted.get(), path));
  return mounted;
}

// Does the same, and makes it first if it is absent.
Result<Fd> make_and_enter(int at, const std::string& name, const std::string& path) {
  if (::mkdirat(at, name.c_str(), 0755) == 0 || errno == EEXIST) return enter(at, name, path);
  return Error::from_errno(errno, str("make directory ", base::quote(path), " in the container"));
}

// Checks that NAME, which is absent, can be made in the directory AT.
Status check_makable(int at, const std::string& name, const std::string& path) {
  if (::faccessat(at, ".", W_OK, AT_EACCESS) == 0 || errno != EROFS) return {};
  return Error(Code::kUnsupported, str("cannot make ", base::quote(path),
                                       " in the container: the directory above is"
                                       " read-only; create ",
                                       base::quote(name), " there, or mount it writable"));
}

std::string name_in(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// Returns SOURCE as a detached mount.
Result<Fd> detached_mount(const std::string& source) {
  constexpr unsigned kFlags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_SYMLINK_NOFOLLOW;
  Fd tree(::open_tree(AT_FDCWD, source.c_str(), kFlags));
  if (!tree.valid())
    return Error::from_errno(errno, str("clone the mount of ", base::quote(source)));
  mount_attr attributes{};
  attributes.attr_set =
      MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC;
  attributes.propagation = MS_PRIVATE;
  if (::mount_setattr(tree.get(), "", AT_EMPTY_PATH, &attributes, sizeof attributes) != 0) {
    return Error::from_errno(errno, str("make ", base::quote(source), " read-only"));
  }
  return tree;
}

// Mounts from a child process that does nothing else, because a mount needs its mount namespace.
Status mount_in(int mounts, int tree, int target, const std::string& path) {
  constexpr unsigned kBoth = MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH;
  return base::in_child(
      str("mount on ", base::quote(path), " of the container"), base::Child::kEnds,
      [&](const base::Report&) {
        base::record_on_stderr_only();
        const bool done =
            ::setns(mounts, CLONE_NEWNS) == 0 && ::move_mount(tree, "", target, "", kBoth) == 0;
        return done ? 0 : errno;
      },
      base::Deadline::after(kMountTime));
}

}  // namespace

Result<Rootfs> Rootfs::open(pid_t pid, const std::string& path) {
  if (TRY(shares_namespace(pid, "mnt"))) {
    return Error(
        Code::kUnsupported,
        "the container shares the mounts of the host; give it a mount namespace of its own");
  }
  if (!TRY(shares_namespace(pid, "user"))) {
    return Error(Code::kUnsupported,
                 "device nodes do not work in a user namespace; use the runtime wrapper instead of"
                 " the hook alone, or start the container without --userns");
  }
  Rootfs rootfs;
  const std::string proc = str("/proc/", pid);
  rootfs.mounts_ = TRY(base::open_at(AT_FDCWD, proc + "/ns/mnt", O_RDONLY));
  // The root of the process is still the host's directory tree, with its own mounts in it.
  const Fd host = TRY(base::open_at(AT_FDCWD, proc + "/root", O_PATH | O_DIRECTORY));
  const size_t relative = path.find_first_not_of('/');
  if (!path.starts_with("/") || relative == std::string::npos) {
    return Error(Code::kInvalid,
                 str("config.json: key 'root.path' is ", base::quote(path), ", not a directory"));
  }
  rootfs.root_ = TRY(open_in(host.get(), path.substr(relative), O_PATH | O_DIRECTORY,
                             RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS));
  return rootfs;
}

Result<Fd> Rootfs::directory(const std::string& path) const {
  Fd at = TRY(base::open_at(root_.get(), ".", O_PATH | O_DIRECTORY));
  std::string so_far;
  const std::vector<std::string_view> names = base::split(path, '/');
  for (const std::string_view name : std::span(names).subspan(1)) {
    so_far += str("/", name);
    Fd next = TRY(make_and_enter(at.get(), std::string(name), so_far));
    at = std::move(next);
  }
  return at;
}

Status Rootfs::check_directory(const std::string& path) const {
  Fd at = TRY(base::open_at(root_.get(), ".", O_PATH | O_DIRECTORY));
  std::string so_far;
  const std::vector<std::string_view> names = base::split(path, '/');
  for (const std::string_view name : std::span(names).subspan(1)) {
    so_far += str("/", name);
    Result<Fd> next = enter(at.get(), std::string(name), so_far);
    if (!next.ok() && next.error().sys_errno() == ENOENT) {
      return check_makable(at.get(), std::string(name), so_far);
    }
    if (!next.ok()) return std::move(next).error();
    at = std::move(next).take();
  }
  return {};
}

Status Rootfs::add_device(const oci::DeviceNode& device) {
  const mode_t mask = ::umask(0);
  const base::ScopeExit restore([&] { (void)::umask(mask); });
  const std::string parent = device.path.substr(0, device.path.rfind('/'));
  const Fd directory = TRY(this->directory(parent));
  TRY(check_private(directory.get(), parent));
  const std::string name = name_in(device.path);
  const dev_t number = ::gnu_dev_makedev(device.major, device.minor);
  if (::mknodat(directory.get(), name.c_str(), S_IFCHR | 0666, number) == 0) return {};
  const int err = errno;
  struct stat there {};
  if (err != EEXIST || ::fstatat(directory.get(), name.c_str(), &there, AT_SYMLINK_NOFOLLOW) != 0) {
    return Error::from_errno(err, str("make ", base::quote(device.path), " in the container"));
  }
  if (S_ISCHR(there.st_mode) && there.st_rdev == number) return {};
  return Error(Code::kExists, str(base::quote(device.path),
                                  " already exists in the container and is another device"));
}

Status Rootfs::add_directory(const oci::DirectoryMount& mount) {
  const mode_t mask = ::umask(0);
  const base::ScopeExit restore([&] { (void)::umask(mask); });
  const Fd target = TRY(directory(mount.destination));
  const Fd tree = TRY(detached_mount(mount.source));
  return mount_in(mounts_.get(), tree.get(), target.get(), mount.destination);
}

}  // namespace hook::inject
