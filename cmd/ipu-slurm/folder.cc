// SPDX-License-Identifier: Apache-2.0
#include "cmd/ipu-slurm/folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <system_error>
#include <thread>

#include "base/fs.h"
#include "base/names.h"
#include "hook/config/paths.h"

namespace slurm {
namespace {

using namespace base::names;

constexpr size_t kLongestFile = 1 << 20;
constexpr std::chrono::milliseconds kLockPause{20};
constexpr std::chrono::seconds kPatience{5};

std::string root() { return hook::config::jobs_dir(); }

Status make_root() {
  TRY(base::ensure_dir(hook::config::run_dir(), 0711));
  return base::ensure_dir(root(), 0700);
}

bool is_at(int fd, const std::string& place) {
  struct stat own {};
  struct stat there {};
  return ::fstat(fd, &own) == 0 && ::stat(place.c_str(), &there) == 0 &&
         own.st_ino == there.st_ino && own.st_dev == there.st_dev;
}

// Notes in the lock file who has it.
Status write_self(int fd) {
  const base::ProcessId self = TRY(base::current_process());
  if (::ftruncate(fd, 0) != 0) return Error::from_errno(errno, "write the lock");
  return base::write_all(fd, text_of(self), "the lock");
}

void kill_holder(int fd) {
  char text[128] = {};
  if (::pread(fd, text, sizeof text - 1, 0) <= 0) return;
  const Result<base::ProcessId> holder = parse_process(text);
  if (!holder.ok()) return;
  const Result<base::ProcessId> now = base::identify_process(holder.value().pid);
  if (now.ok() && now.value() == holder.value()) (void)::kill(now.value().pid, SIGKILL);
}

}  // namespace

std::string text_of(const base::ProcessId& process) {
  return str(process.pid, " ", process.start_time, " ", process.pid_namespace, "\n");
}

Result<base::ProcessId> parse_process(std::string_view text) {
  const std::vector<std::string_view> words = base::split(base::trim(text), ' ');
  if (words.size() != 3) return Error(Code::kNotFound, "no process is recorded");
  base::ProcessId process;
  process.pid = TRY(base::parse_int<pid_t>(words[0], 1, INT32_MAX));
  process.start_time = TRY(base::parse_int<uint64_t>(words[1], 0, UINT64_MAX));
  process.pid_namespace = TRY(base::parse_int<uint64_t>(words[2], 0, UINT64_MAX));
  return process;
}

std::string runtime_root() { return root() + "/oci"; }

Folder::Folder(uint32_t job) : job_(job) {}

std::string Folder::path(const std::string& name) const {
  return name.empty() ? str(root(), "/", job_) : str(root(), "/", job_, "/", name);
}

std::string Folder::container() const { return str("slurm-", job_); }

bool Folder::exists() const { return ::access(path(kRequest).c_str(), F_OK) == 0; }

Result<base::Fd> Folder::lock(std::chrono::milliseconds longest, Others others) const {
  TRY(make_root());
  const std::string place = path() + ".lock";
  const Deadline deadline = Deadline::after(longest);
  const Deadline patience = Deadline::after(kPatience);
  for (;;) {
    base::Fd file = TRY(base::open_at(AT_FDCWD, place, O_RDWR | O_CREAT | O_NOFOLLOW, 0600));
    if (::flock(file.get(), LOCK_EX | LOCK_NB) == 0) {
      // Who had it before may have unlinked it.
      if (!is_at(file.get(), place)) continue;
      (void)write_self(file.get());  // without it, nobody can kill this process for the lock
      return file;
    }
    if (errno != EWOULDBLOCK) return Error::from_errno(errno, "lock the job");
    if (deadline.passed())
      return Error(Code::kTimeout, str("another program still works for job ", job_));
    if (others == Others::kKilled && patience.passed()) kill_holder(file.get());
    std::this_thread::sleep_for(kLockPause);
  }
}

void Folder::unlink_lock() const { (void)base::remove_file(path() + ".lock"); }

Status Folder::record(const Request& request) const {
  TRY(base::ensure_dir(path(), 0700));
  std::string text;
  for (const std::string& argument : to_arguments(request)) text += str(argument, "\n");
  Status written = write(kRequest, text);
  if (!written.ok()) (void)remove();
  return written;
}

Result<Request> Folder::request() const {
  const std::string text = TRY(read(kRequest));
  std::vector<std::string> arguments;
  for (const std::string_view line : base::split(text, '\n')) {
    if (!line.empty()) arguments.emplace_back(line);
  }
  Arguments parsed = TRY(parse_arguments(arguments));
  return std::move(parsed.request);
}

void Folder::forget_request() const { (void)base::remove_file(path(kRequest)); }

Status Folder::write(const std::string& name, const std::string& text) const {
  return base::write_atomic(path(name), text, {.mode = 0600});
}

Result<std::string> Folder::read(const std::string& name) const {
  std::optional<std::string> text = TRY(base::read_file_if_exists(path(name), kLongestFile));
  return std::move(text).value_or("");
}

Status Folder::remove() const {
  std::error_code failed;
  std::filesystem::remove_all(path(), failed);
  if (failed) return Error::from_errno(failed.value(), str("remove ", path()));
  return {};
}

}  // namespace slurm
