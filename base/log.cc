// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "base/clock.h"
#include "base/fd.h"
#include "base/fs.h"
#include "base/text.h"
#include "base/trace.h"

namespace base {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kLongestStep = 1000;  // bytes
constexpr size_t kLongestId = 128;     // more than a container's, of 64 digits
constexpr std::chrono::milliseconds kNotedWait{10};
constexpr std::array<std::string_view, 4> kLevels = {"error", "warning", "info", "debug"};

struct Log {
  const char* program = "";
  std::optional<LogLevel> level;  // unset: no log
  std::string file;
  std::string id;
  Clock::time_point last;
};
Log process_log;

double millis_of(Clock::duration time) {
  return std::chrono::duration<double, std::milli>(time).count();
}

struct OpenLog {
  Fd directory;
  std::string name;  // in the directory
  Fd file;
  struct stat status {};
};

Status check_ours(const OpenLog& log, const std::string& path) {
  constexpr mode_t kOthersWrite = S_IWGRP | S_IWOTH;
  const struct stat& status = log.status;
  const bool is_ours = status.st_uid == ::geteuid() && (status.st_mode & kOthersWrite) == 0;
  if (S_ISREG(status.st_mode) && status.st_nlink == 1 && is_ours) return {};
  return Error(Code::kDenied, str("the log ", quote(path),
                                  " must be a plain file of root with one name, which"
                                  " nobody else can write; remove it"));
}

Result<OpenLog> open_log(const std::string& path) {
  constexpr int kFlags = O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
  const std::filesystem::path whole(path);
  OpenLog log;
  log.name = whole.filename();
  log.directory = TRY(open_trusted_directory(whole.parent_path()));
  log.file = TRY(open_at(log.directory.get(), log.name, kFlags, 0600));
  if (::fstat(log.file.get(), &log.status) != 0)
    return Error::from_errno(errno, str("look at ", quote(path)));
  TRY(check_ours(log, path));
  return log;
}

// Moves a full log away. Of those that see it full at once, one has the lock, and it moves the file
// only if the name still leads to it: no newer log is moved.
void rotate(const OpenLog& full) {
  struct flock whole {};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  struct stat now {};
  const int directory = full.directory.get();
  const char* const name = full.name.c_str();
  if (::fcntl(full.file.get(), F_OFD_SETLK, &whole) != 0) return;
  if (::fstatat(directory, name, &now, AT_SYMLINK_NOFOLLOW) != 0) return;
  if (now.st_dev != full.status.st_dev || now.st_ino != full.status.st_ino) return;
  (void)::renameat(directory, name, directory, (full.name + ".1").c_str());
}

// Returns a log that is not full, unless another process is about to move it.
Result<OpenLog> open_with_room(const std::string& path) {
  OpenLog log = TRY(open_log(path));
  if (static_cast<size_t>(log.status.st_size) < kMaxLog) return log;
  rotate(log);
  return open_log(path);
}

}  // namespace

std::string_view name_of(LogLevel level) { return kLevels[static_cast<size_t>(level)]; }

std::optional<LogLevel> find_log_level(std::string_view name) {
  for (size_t level = 0; level < kLevels.size(); ++level) {
    if (kLevels[level] == name) return static_cast<LogLevel>(level);
  }
  return std::nullopt;
}

void start_log(const char* program, LogLevel level, const std::string& file) {
  process_log = {program, level, file, "", Clock::now()};
}

void log_for(std::string_view id) { process_log.id = one_line(id, kLongestId); }

void log_step(LogLevel level, std::string_view what, std::string_view id) {
  keep_step(what);
  if (!process_log.level || level > *process_log.level) return;
  const std::string about = id.empty() ? process_log.id : one_line(id, kLongestId);
  const Clock::time_point now = Clock::now();
  std::array<char, 32> millis{};
  (void)std::snprintf(millis.data(), millis.size(), "%.1f", millis_of(now - process_log.last));
  process_log.last = now;
  const Result<OpenLog> log = open_with_room(process_log.file);
  if (!log.ok()) return;
  // One write: lines of several processes do not mix.
  const std::string line = str(
      rfc3339(unix_millis()), " ", name_of(level), " ", process_log.program, " ", ::getpid(), " ",
      about.empty() ? "-" : about, " ", millis.data(), " ", one_line(what, kLongestStep), "\n");
  (void)!::write(log.value().file.get(), line.data(), line.size());
}

Status check_log(const std::string& file) {
  TRY(open_with_room(file));
  return {};
}

LockWait::~LockWait() {
  const Clock::duration waited = Clock::now() - since_;
  if (waited < kNotedWait) return;
  log_step(LogLevel::kWarning,
           str("waited ", static_cast<int64_t>(millis_of(waited)), " ms for the lock of ", what_));
}

}  // namespace base
