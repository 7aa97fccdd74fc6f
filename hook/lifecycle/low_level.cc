// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/low_level.h"

#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "base/fs.h"
#include "base/text.h"
#include "hook/config/config.h"

namespace hook {
namespace {

using base::Code;
using base::Error;
using base::Result;
using base::Status;
using base::str;

std::string link_path(const std::string& run_dir) { return str(run_dir, "/runtime"); }

std::string read_link(const std::string& path) {
  char target[PATH_MAX];
  const ssize_t length = ::readlink(path.c_str(), target, sizeof target);
  return length > 0 && target[0] == '/' ? std::string(target, static_cast<size_t>(length)) : "";
}

Status check_runtime(const std::string& path, const struct stat& file) {
  struct stat self {};
  if (::stat("/proc/self/exe", &self) == 0 && self.st_dev == file.st_dev &&
      self.st_ino == file.st_ino) {
    return Error(Code::kDenied,
                 str("low-level runtime '", path,
                     "' is this program itself; name runc or crun in runtime.paths"));
  }
  constexpr mode_t kOthersWrite = S_IWGRP | S_IWOTH;
  if (!S_ISREG(file.st_mode) || file.st_uid != 0 || (file.st_mode & kOthersWrite) != 0) {
    return Error(Code::kDenied, str("low-level runtime '", path,
                                    "' must be a file of root that nobody else can write"));
  }
  return {};
}

}  // namespace

Result<std::string> choose_runtime(const std::vector<std::string>& candidates) {
  for (const std::string& path : candidates) {
    struct stat file {};
    if (::stat(path.c_str(), &file) != 0) continue;
    TRY(check_runtime(path, file));
    return path;
  }
  return Error(Code::kNotFound, str("none of the low-level runtimes ", base::join(candidates, ", "),
                                    " is installed; install runc or set runtime.paths"));
}

std::vector<std::string> remembered_runtimes(const std::string& run_dir) {
  std::vector<std::string> candidates = default_runtimes();
  const std::string remembered = read_link(link_path(run_dir));
  if (!remembered.empty()) candidates.insert(candidates.begin(), remembered);
  return candidates;
}

Status remember_runtime(const std::string& run_dir, const std::string& runtime) {
  const Result<std::string> chosen = choose_runtime(remembered_runtimes(run_dir));
  if (chosen.ok() && chosen.value() == runtime) return {};
  const std::string link = link_path(run_dir);
  TRY(base::ensure_dir(run_dir, 0711));
  const std::string temporary = str(link, ".", TRY(base::random_hex(8)));
  if (::symlink(runtime.c_str(), temporary.c_str()) != 0) {
    return Error::from_errno(errno, str("make link '", temporary, "'"));
  }
  if (::rename(temporary.c_str(), link.c_str()) != 0) {
    const int err = errno;
    (void)::unlink(temporary.c_str());
    return Error::from_errno(err, str("replace link '", link, "'"));
  }
  return {};
}

}  // namespace hook
