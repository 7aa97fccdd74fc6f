// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/low_level.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <filesystem>

#include "base/fs.h"
#include "base/names.h"
#include "base/process.h"
#include "base/text.h"
#include "base/users.h"
#include "hook/config/config.h"

namespace hook::lifecycle {
namespace {

using namespace base::names;
using base::ProcessId;

std::string link_path(const std::string& run_dir) { return str(run_dir, "/runtime"); }

// Returns a link name that contains the process that makes it, so that leftovers of dead processes
// are recognized.
std::string temporary_link(const std::string& run_dir, const ProcessId& maker) {
  return str(link_path(run_dir), ".", maker.pid, ".", maker.start_time, ".", maker.pid_namespace);
}

Result<ProcessId> maker_of(const std::string& name) {
  const std::vector<std::string_view> parts = base::split(name, '.');
  if (parts.size() != 4 || parts[0] != "runtime") {
    return Error(Code::kInvalid, str(base::quote(name), " is not a temporary link"));
  }
  ProcessId maker;
  maker.pid = TRY(base::parse_int<pid_t>(parts[1], 1, INT_MAX));
  maker.start_time = TRY(base::parse_int<uint64_t>(parts[2], 0, UINT64_MAX));
  maker.pid_namespace = TRY(base::parse_int<uint64_t>(parts[3], 0, UINT64_MAX));
  return maker;
}

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
  if (!S_ISREG(file.st_mode) || !base::is_root(file.st_uid) || (file.st_mode & kOthersWrite) != 0) {
    return Error(Code::kDenied,
                 str("low-level runtime '", path,
                     "' must be a regular file that root owns and nobody else can write"));
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

std::vector<std::string> remembered_runtimes(const std::string& run_dir,
                                             const std::string& config_file) {
  const std::string remembered = read_link(link_path(run_dir));
  std::vector<std::string> candidates = {remembered};
  if (remembered.empty()) candidates = config::load_runtimes(config_file);
  for (std::string& path : config::default_runtimes()) {
    const bool is_there = std::find(candidates.begin(), candidates.end(), path) != candidates.end();
    if (!is_there) candidates.push_back(std::move(path));
  }
  return candidates;
}

Status remember_runtime(const std::string& run_dir, const std::string& runtime) {
  const std::string remembered = read_link(link_path(run_dir));
  std::error_code unused;
  if (!remembered.empty() && std::filesystem::equivalent(remembered, runtime, unused)) return {};
  const std::string link = link_path(run_dir);
  TRY(base::ensure_dir(run_dir, 0711));
  const ProcessId self = TRY(base::current_process());
  const std::string temporary = temporary_link(run_dir, self);
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

Status remove_half_made_links(const std::string& run_dir) {
  std::error_code err;
  for (auto it = std::filesystem::directory_iterator(run_dir, err);
       !err && it != std::filesystem::directory_iterator(); it.increment(err)) {
    const Result<ProcessId> maker = maker_of(it->path().filename().string());
    if (maker.ok() && !base::is_running(maker.value())) {
      TRY(base::remove_file(it->path().string()));
    }
  }
  if (!err || err == std::errc::no_such_file_or_directory) return {};
  return Error::from_errno(err.value(), str("list ", base::quote(run_dir)));
}

std::string state_dir_of(const std::string& runtime, const std::string& root,
                         const std::string& container) {
  const bool is_name = !container.empty() && container != "." && container != ".." &&
                       container.find('/') == std::string::npos;
  if (!is_name || (!root.empty() && root[0] != '/')) return "";
  if (!root.empty()) return str(root, "/", container);
  // The default directories for root, from runc(8) and crun(1).
  const std::string program = runtime.substr(runtime.rfind('/') + 1);
  return str(program.starts_with("crun") ? "/run/crun/" : "/run/runc/", container);
}

}  // namespace hook::lifecycle
