// SPDX-License-Identifier: Apache-2.0
#include "hook/engines/daemon.h"

#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "base/fd.h"
#include "base/fs.h"
#include "base/text.h"

namespace hook {
namespace {

using base::Code;
using base::Error;
using base::Result;
using base::Status;
using base::str;

constexpr size_t kMaxArgs = 1 << 20;

bool has_our_files(const std::string& directory) {
  struct stat theirs {};
  struct stat ours {};
  return ::stat((directory + "/ns/mnt").c_str(), &theirs) == 0 &&
         ::stat("/proc/self/ns/mnt", &ours) == 0 && theirs.st_ino == ours.st_ino;
}

std::vector<std::string> read_args(const std::string& directory) {
  const Result<std::string> text = base::read_file(directory + "/cmdline", kMaxArgs);
  std::vector<std::string> args;
  if (!text.ok() || text.value().empty()) return args;
  std::string_view rest = text.value();
  if (rest.back() == '\0') rest.remove_suffix(1);
  for (const std::string_view arg : base::split(rest, '\0')) args.emplace_back(arg);
  return args;
}

std::string_view last_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// Whether the process is this user's, and really that program: anybody may call himself dockerd.
bool is_program_of_ours(const std::string& directory, std::string_view name) {
  struct stat status {};
  if (::stat(directory.c_str(), &status) != 0 || status.st_uid != ::geteuid()) return false;
  std::error_code err;
  const std::string program = std::filesystem::read_symlink(directory + "/exe", err).string();
  constexpr std::string_view kGone = " (deleted)";  // replaced by an upgrade
  std::string_view path = program;
  if (path.ends_with(kGone)) path.remove_suffix(kGone.size());
  return !err && last_name(path) == name;
}

}  // namespace

std::vector<Daemon> find_daemons(const std::string& proc, std::string_view name) {
  std::vector<Daemon> found;
  std::error_code err;
  for (auto it = std::filesystem::directory_iterator(proc, err);
       !err && it != std::filesystem::directory_iterator(); it.increment(err)) {
    const Result<pid_t> pid = base::parse_int<pid_t>(it->path().filename().string(), 1, INT32_MAX);
    if (!pid.ok()) continue;
    Daemon daemon;
    daemon.args = read_args(it->path().string());
    if (daemon.args.empty() || !is_program_of_ours(it->path().string(), name)) continue;
    const Result<base::ProcessId> process = base::identify_process(pid.value());
    if (!process.ok() || !has_our_files(it->path().string())) continue;
    daemon.process = process.value();
    found.push_back(std::move(daemon));
  }
  return found;
}

std::optional<std::string> option_value(const std::vector<std::string>& args,
                                        std::initializer_list<std::string_view> names) {
  std::optional<std::string> value;
  for (size_t i = 1; i < args.size(); ++i) {
    for (const std::string_view name : names) {
      if (args[i] == name && i + 1 < args.size()) value = args[i + 1];
      if (args[i].starts_with(str(name, "="))) value = args[i].substr(name.size() + 1);
    }
  }
  return value;
}

Status signal_daemon(const Daemon& daemon, int signal) {
  const base::Fd handle(static_cast<int>(::syscall(SYS_pidfd_open, daemon.process.pid, 0)));
  if (!handle.valid() && errno != ESRCH) return Error::from_errno(errno, "find the daemon");
  if (!handle.valid() || !base::is_running(daemon.process)) {
    return Error(Code::kNotFound, str("process ", daemon.process.pid, " has ended"));
  }
  if (::syscall(SYS_pidfd_send_signal, handle.get(), signal, nullptr, 0) == 0) return {};
  return Error::from_errno(errno, str("signal process ", daemon.process.pid));
}

}  // namespace hook
