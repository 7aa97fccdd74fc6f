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

// Calls open(2) relative to DIR_FD (AT_FDCWD for the working directory), always with O_CLOEXEC.
Result<Fd> open_at(int dir_fd, const std::string& path, int flags, mode_t mode = 0);

// Reads up to end of file. Returns kInvalid beyond MAX_BYTES. WHAT names the input in errors.
Result<std::string> read_all(int fd, size_t max_bytes, std::string_view what);
Result<std::string> read_file(const std::string& path, size_t max_bytes);
// Reads a regular file as read_file does, and waits for nobody: not for a writer of a FIFO, and not
// for another process's lease on the file (EWOULDBLOCK).
Result<std::string> read_plain_file(const std::string& path, size_t max_bytes);
// Reads a file as read_file does, but an absent file is not an error.
Result<std::optional<std::string>> read_file_if_exists(const std::string& path, size_t max_bytes);

// Reads a file that decides what root does, as read_file_if_exists does. Returns kDenied, with the
// command to run, if others than root and the caller can change the file: by its owner or mode, or
// by those of its directory. A link leads to a file and a directory for which the same holds.
Result<std::optional<std::string>> read_trusted_file(const std::string& path, size_t max_bytes);
// Opens a directory, as a place only. Returns the same kDenied if others can change it.
Result<Fd> open_trusted_directory(const std::string& path);

// Writes all of DATA, in as many write(2) calls as necessary.
Status write_all(int fd, std::string_view data, std::string_view what);

// The owner, mode and SELinux label of a file that write_atomic makes.
struct FileAttributes {
  mode_t mode = 0644;
  std::optional<uid_t> uid = {};  // unset: the caller's
  std::optional<gid_t> gid = {};
  std::optional<std::string> selinux = {};  // unset: the directory's default
};

// Returns the SELinux label of an open file, as stored, or nothing if the file has none.
std::optional<std::string> selinux_label(int fd);

// Makes NAME in DIR_FD hold exactly DATA, synced to disk unless it is on a tmpfs. After success
// NAME has the new content; after a failure or a crash the old content, never a part. A failed
// write removes its temporary file.
Status write_atomic(int dir_fd, const std::string& name, std::string_view data,
                    const FileAttributes& attributes);
// Does the same for a path whose directory exists.
Status write_atomic(const std::string& path, std::string_view data,
                    const FileAttributes& attributes);

// Returns the directory of a path with a slash: "/a/b" is in "/a".
std::string directory_of(const std::string& path);
// Makes sure that the directory PATH exists with exactly MODE. Makes absent parents with mode 0755,
// less the umask. A PATH that is a link is an error, even a link to a directory.
Status ensure_dir(const std::string& path, mode_t mode);

// Removes a file. An absent file is not an error.
Result<Removed> remove_file(const std::string& path);
// Removes a directory and the plain files directly in it (no deeper).
Result<Removed> remove_flat_dir(const std::string& path);

}  // namespace base
