// SPDX-License-Identifier: Apache-2.0
// Files: bounded reads, complete writes, atomic replacement.
#pragma once

#include <sys/stat.h>

#include <optional>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/result.h"

namespace base {

// open(2) relative to DIR_FD (AT_FDCWD for the working directory), always with O_CLOEXEC.
Result<Fd> open_at(int dir_fd, const std::string& path, int flags, mode_t mode = 0);

// Everything up to end of file; kInvalid if there is more than MAX_BYTES. WHAT names it in errors.
Result<std::string> read_all(int fd, size_t max_bytes, std::string_view what);
Result<std::string> read_file(const std::string& path, size_t max_bytes);
// As read_file, but an absent file is not an error.
Result<std::optional<std::string>> read_file_if_exists(const std::string& path, size_t max_bytes);

// All of DATA, over as many write(2) calls as it takes.
Status write_all(int fd, std::string_view data, std::string_view what);

// Owner, mode and SELinux label of a file that write_atomic makes.
struct FileAttributes {
  mode_t mode = 0644;
  std::optional<uid_t> uid = {};  // unset: the caller's
  std::optional<gid_t> gid = {};
  std::optional<std::string> selinux = {};  // unset: what the directory gives
};

// The SELinux label of an open file, as it is stored; absent if it has none.
std::optional<std::string> selinux_label(int fd);

// Makes NAME in DIR_FD hold exactly DATA: after success the new content, after failure or a crash
// the old, never a part. A temporary file of a failed write is removed. Synced to disk.
Status write_atomic(int dir_fd, const std::string& name, std::string_view data,
                    const FileAttributes& attributes);
// The same for a path whose directory exists.
Status write_atomic(const std::string& path, std::string_view data,
                    const FileAttributes& attributes);

// The directory PATH with MODE exactly, made if absent; parents are made with mode 0755, less the
// umask. A PATH that is a link is an error, also one to a directory.
Status ensure_dir(const std::string& path, mode_t mode);

// Removes a file. An absent file is fine.
Result<Removed> remove_file(const std::string& path);
// Removes a directory and the plain files directly in it (no deeper).
Result<Removed> remove_flat_dir(const std::string& path);

}  // namespace base
