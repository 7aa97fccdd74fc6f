// SPDX-License-Identifier: Apache-2.0
#include "base/fs.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "base/scope.h"
#include "base/text.h"
#include "base/users.h"

namespace base {
namespace {

constexpr const char* kSelinuxLabel = "security.selinux";

}  // namespace

std::optional<std::string> selinux_label(int fd) {
  char label[4096];
  const ssize_t length = ::fgetxattr(fd, kSelinuxLabel, label, sizeof label);
  if (length <= 0) return std::nullopt;
  return std::string(label, static_cast<size_t>(length));
}

namespace {

// Returns whether no power cut keeps the file, whatever is synced.
bool is_in_memory(int fd) {
  struct statfs status {};
  return ::fstatfs(fd, &status) == 0 && status.f_type == TMPFS_MAGIC;
}

Status sync_fd(int fd, std::string_view what) {
  // Some file systems (read-only or special ones) cannot sync; their content is not durable anyway.
  if (::fsync(fd) != 0 && errno != EINVAL && errno != EROFS) {
    return Error::from_errno(errno, str("sync ", quote(what)));
  }
  return {};
}

Status fill(int fd, std::string_view data, const std::string& name,
            const FileAttributes& attributes) {
  constexpr auto kUnchanged = static_cast<uid_t>(-1);
  if (::fchown(fd, attributes.uid.value_or(kUnchanged), attributes.gid.value_or(kUnchanged)) != 0) {
    return Error::from_errno(errno, str("set the owner of ", quote(name)));
  }
  if (::fchmod(fd, attributes.mode) != 0) {
    return Error::from_errno(errno, str("set the mode of ", quote(name)));
  }
  // If the directory has already set the label, no permission to relabel is necessary.
  const std::string label = attributes.selinux.value_or("");
  const bool is_other = !label.empty() && selinux_label(fd) != label;
  if (is_other && ::fsetxattr(fd, kSelinuxLabel, label.data(), label.size(), 0) != 0) {
    return Error::from_errno(errno, str("set the SELinux label of ", quote(name)));
  }
  return write_all(fd, data, name);
}

}  // namespace

Result<Fd> open_at(int dir_fd, const std::string& path, int flags, mode_t mode) {
  int fd = -1;
  do {
    fd = ::openat(dir_fd, path.c_str(), flags | O_CLOEXEC, mode);
  } while (fd < 0 && errno == EINTR);
  if (fd < 0) return Error::from_errno(errno, str("open ", quote(path)));
  return Fd(fd);
}

Result<std::string> read_all(int fd, size_t max_bytes, std::string_view what) {
  std::string data;
  char chunk[65536];
  for (;;) {
    const ssize_t got = ::read(fd, chunk, sizeof chunk);
    if (got == 0) return data;
    if (got < 0) {
      if (errno == EINTR) continue;
      return Error::from_errno(errno, str("read ", quote(what)));
    }
    data.append(chunk, static_cast<size_t>(got));
    if (data.size() > max_bytes) {
      return Error(Code::kInvalid,
                   str("read ", quote(what), ": longer than ", max_bytes, " bytes"));
    }
  }
}

Result<std::string> read_file(const std::string& path, size_t max_bytes) {
  const Fd fd = TRY(open_at(AT_FDCWD, path, O_RDONLY));
  return read_all(fd.get(), max_bytes, path);
}

Result<std::string> read_plain_file(const std::string& path, size_t max_bytes) {
  const Fd fd = TRY(open_at(AT_FDCWD, path, O_RDONLY | O_NONBLOCK));
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) return Error::from_errno(errno, str("stat ", quote(path)));
  if (!S_ISREG(status.st_mode)) {
    return Error(Code::kInvalid, str(quote(path), " is not a regular file"));
  }
  return read_all(fd.get(), max_bytes, path);
}

Result<std::optional<std::string>> read_file_if_exists(const std::string& path, size_t max_bytes) {
  Result<std::string> data = read_file(path, max_bytes);
  if (data.ok()) return std::optional<std::string>(std::move(data).take());
  if (data.error().sys_errno() == ENOENT) return std::optional<std::string>();
  return std::move(data).error();
}

namespace {

Status check_trusted(const std::string& path, const struct stat& status) {
  const bool owned = is_root(status.st_uid) || status.st_uid == ::geteuid();
  if (owned && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0) return {};
  char mode[8];
  (void)std::snprintf(mode, sizeof mode, "%04o", status.st_mode & 07777U);
  return Error(Code::kDenied,
               str(quote(path), " can be changed by others than root (owner ", status.st_uid,
                   ", mode ", mode, "); run 'chown root: ", path, " && chmod go-w ", path, "'"));
}

}  // namespace

Result<Fd> open_trusted_directory(const std::string& path) {
  Fd fd = TRY(open_at(AT_FDCWD, path, O_PATH | O_DIRECTORY));
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0)
    return Error::from_errno(errno, str("look at ", quote(path)));
  TRY(check_trusted(path, status));
  return fd;
}

// The directories come first: whoever cannot change them cannot swap the file afterwards.
Result<std::optional<std::string>> read_trusted_file(const std::string& path, size_t max_bytes) {
  std::error_code err;
  const std::string target = std::filesystem::canonical(path, err);
  if (err.value() == ENOENT) return std::optional<std::string>();
  if (err) return Error::from_errno(err.value(), str("open ", quote(path)));
  TRY(open_trusted_directory(std::filesystem::absolute(path).parent_path()));
  if (target != path) TRY(open_trusted_directory(std::filesystem::path(target).parent_path()));
  const Fd fd = TRY(open_at(AT_FDCWD, target, O_RDONLY | O_NOFOLLOW));
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0)
    return Error::from_errno(errno, str("look at ", quote(path)));
  TRY(check_trusted(target, status));
  return std::optional<std::string>(TRY(read_all(fd.get(), max_bytes, path)));
}

Status write_all(int fd, std::string_view data, std::string_view what) {
  while (!data.empty()) {
    const ssize_t put = ::write(fd, data.data(), data.size());
    if (put < 0) {
      if (errno == EINTR) continue;
      return Error::from_errno(errno, str("write ", quote(what)));
    }
    data.remove_prefix(static_cast<size_t>(put));
  }
  return {};
}

Status write_atomic(int dir_fd, const std::string& name, std::string_view data,
                    const FileAttributes& attributes) {
  const std::string unique = TRY(random_hex(8));
  const std::string temporary = str(".", name, ".", unique);
  const Fd fd = TRY(open_at(dir_fd, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600));
  ScopeExit remove_temporary([&] { (void)::unlinkat(dir_fd, temporary.c_str(), 0); });
  TRY(fill(fd.get(), data, name, attributes));
  Fd directory;
  if (!is_in_memory(fd.get())) {
    TRY(sync_fd(fd.get(), name));
    // Opened before the rename, so that only the sync can fail after it.
    directory = TRY(open_at(dir_fd, ".", O_RDONLY | O_DIRECTORY));
  }
  if (::renameat(dir_fd, temporary.c_str(), dir_fd, name.c_str()) != 0) {
    return Error::from_errno(errno, str("replace ", quote(name)));
  }
  remove_temporary.dismiss();
  return directory.valid() ? sync_fd(directory.get(), name) : Status();
}

Status write_atomic(const std::string& path, std::string_view data,
                    const FileAttributes& attributes) {
  const size_t slash = path.rfind('/');
  const std::string dir = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const Fd directory = TRY(open_at(AT_FDCWD, dir, O_RDONLY | O_DIRECTORY));
  const std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
  TRY_CTX(quote(path), write_atomic(directory.get(), name, data, attributes));
  return {};
}

std::string directory_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

Status ensure_dir(const std::string& path, mode_t mode) {
  for (size_t slash = path.find('/', 1);; slash = path.find('/', slash + 1)) {
    const std::string part = path.substr(0, slash);
    const mode_t first_mode = slash == std::string::npos ? mode : 0755;
    if (::mkdir(part.c_str(), first_mode) != 0 && errno != EEXIST) {
      return Error::from_errno(errno, str("make directory ", quote(part)));
    }
    if (slash == std::string::npos) break;
  }
  // The descriptor makes sure that the mode is set on a directory, not through a link.
  const Fd directory = TRY(open_at(AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  if (::fchmod(directory.get(), mode) != 0) {
    return Error::from_errno(errno, str("set the mode of ", quote(path)));
  }
  return {};
}

Result<Removed> remove_file(const std::string& path) {
  if (::unlink(path.c_str()) == 0) return Removed::kNow;
  if (errno == ENOENT) return Removed::kWasAbsent;
  return Error::from_errno(errno, str("remove ", quote(path)));
}

namespace {

Result<Removed> try_remove_flat_dir(const std::string& path) {
  std::error_code err;
  for (auto it = std::filesystem::directory_iterator(path, err);
       !err && it != std::filesystem::directory_iterator(); it.increment(err)) {
    TRY(remove_file(it->path().string()));
  }
  if (err == std::errc::no_such_file_or_directory) return Removed::kWasAbsent;
  if (err) return Error::from_errno(err.value(), str("list ", quote(path)));
  if (::rmdir(path.c_str()) == 0) return Removed::kNow;
  if (errno == ENOENT) return Removed::kWasAbsent;
  return Error::from_errno(errno, str("remove directory ", quote(path)));
}

}  // namespace

Result<Removed> remove_flat_dir(const std::string& path) {
  constexpr int kAttempts = 5;  // another process may meanwhile write a last file into it
  for (int attempt = 1;; ++attempt) {
    Result<Removed> done = try_remove_flat_dir(path);
    if (done.ok() || done.error().sys_errno() != ENOTEMPTY || attempt == kAttempts) return done;
  }
}

}  // namespace base
