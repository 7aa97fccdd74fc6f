// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/network/network_lock.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <filesystem>
#include <limits>

#include "base/fs.h"
#include "base/log.h"
#include "base/names.h"
#include "base/text.h"

namespace hook::lifecycle::network {

using namespace base::names;

namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxText = 64 << 10;

// Returns the number that PATH ends with; 0 if it is none.
pid_t number_of(const fs::path& path) {
  const Result<pid_t> number = base::parse_int<pid_t>(path.filename().string(), 1, INT_MAX);
  return number.ok() ? number.value() : 0;
}

// Returns whether the file that FDINFO (proc(5)) tells of holds the lock of BYTE.
bool holds_byte(const std::string& fdinfo, off_t byte) {
  const std::string to = byte == std::numeric_limits<off_t>::max() ? "EOF" : std::to_string(byte);
  const std::string end = str(" ", byte, " ", to);
  for (const std::string_view line : base::split(fdinfo, '\n')) {
    if (line.starts_with("lock:") && line.ends_with(end)) return true;
  }
  return false;
}

bool process_holds(const fs::path& process, const struct stat& file, off_t byte) {
  std::error_code failed;
  fs::directory_iterator each(process / "fd", failed);
  for (; !failed && each != fs::directory_iterator(); each.increment(failed)) {
    struct stat status {};
    const fs::path& fd = each->path();
    if (::stat(fd.c_str(), &status) != 0 || status.st_ino != file.st_ino ||
        status.st_dev != file.st_dev)
      continue;
    const Result<std::string> info = base::read_file(process / "fdinfo" / fd.filename(), kMaxText);
    if (info.ok() && holds_byte(info.value(), byte)) return true;
  }
  return false;
}

// Returns the process that holds the lock of BYTE of FILE; 0 if this process may not see it. The
// kernel itself names no process: such a lock is of an open file.
pid_t holder_of(int file, off_t byte) {
  struct stat status {};
  if (::fstat(file, &status) != 0) return 0;
  std::error_code failed;
  fs::directory_iterator each("/proc", failed);
  for (; !failed && each != fs::directory_iterator(); each.increment(failed)) {
    const pid_t pid = number_of(each->path());
    if (pid != 0 && process_holds(each->path(), status, byte)) return pid;
  }
  return 0;
}

// Returns "process 12 (ipuctl gc)".
std::string process_text(pid_t pid) {
  constexpr size_t kLongest = 60;
  Result<std::string> words = base::read_file(str("/proc/", pid, "/cmdline"), kMaxText);
  std::string text = words.ok() ? std::move(words).take() : "";
  std::replace(text.begin(), text.end(), '\0', ' ');
  text = base::one_line(base::trim(text), kLongest);
  return text.empty() ? str("process ", pid) : str("process ", pid, " (", text, ")");
}

// Whether somebody, or a terminal, has stopped it.
bool is_stopped(pid_t pid) {
  const Result<std::string> status = base::read_file(str("/proc/", pid, "/status"), kMaxText);
  return status.ok() && (status.value().find("\nState:\tT") != std::string::npos ||
                         status.value().find("\nState:\tt") != std::string::npos);
}

Error held_by(pid_t holder) {
  if (holder == 0) {
    return {Code::kTimeout,
            "another process is changing the container's network namespace; start the"
            " container again"};
  }
  if (!is_stopped(holder)) {
    return {Code::kTimeout, str("another process is changing the networks of containers: ",
                                process_text(holder), "; start the container again")};
  }
  return {Code::kTimeout,
          str("another process has locked the networks of containers, and is stopped: ",
              process_text(holder), "; let it go on by 'kill -CONT ", holder,
              "', or end it, then start the container again")};
}

}  // namespace

Result<NetworkLock> NetworkLock::take(const std::string& run_dir, uint64_t cookie,
                                      const Deadline& deadline) {
  constexpr std::chrono::milliseconds kRetry{2};
  TRY(base::ensure_dir(run_dir, 0711));
  const std::string path = str(run_dir, "/network.lock");
  base::Fd file = TRY(base::open_at(AT_FDCWD, path, O_RDWR | O_CREAT | O_NOFOLLOW, 0600));
  struct flock range {};
  range.l_type = F_WRLCK;
  range.l_whence = SEEK_SET;
  range.l_start = static_cast<off_t>(cookie & std::numeric_limits<off_t>::max());
  range.l_len = 1;
  const base::LockWait wait(path);
  // A lock of the open file, not of the process: it ends with the descriptor.
  while (::fcntl(file.get(), F_OFD_SETLK, &range) != 0) {
    if (errno != EAGAIN && errno != EACCES && errno != EINTR) {
      return Error::from_errno(errno, str("lock ", base::quote(path)));
    }
    if (deadline.passed()) {
      return held_by(holder_of(file.get(), range.l_start));
    }
    base::sleep_for(kRetry, deadline);
  }
  return NetworkLock(std::move(file));
}

}  // namespace hook::lifecycle::network
