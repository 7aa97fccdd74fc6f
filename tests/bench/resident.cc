// SPDX-License-Identifier: Apache-2.0
// Runs a command, and prints the peak resident memory of each program below /usr/local that runs by
// it: resident COMMAND... A program's memory is read before it ends or becomes another one.
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

namespace {

// By program, in KiB; the largest of several processes.
std::map<std::string, long> peaks;

// The line "VmHWM: N kB" of /proc/PID/status (proc(5)); 0: there is none.
long peak_of(pid_t pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(status, line);)
    if (line.rfind("VmHWM:", 0) == 0) return std::atol(line.c_str() + sizeof "VmHWM:");
  return 0;
}

void note(pid_t pid) {
  std::error_code gone;
  const auto file = std::filesystem::read_symlink("/proc/" + std::to_string(pid) + "/exe", gone);
  if (gone || file.string().rfind("/usr/local/", 0) != 0) return;
  long& peak = peaks[file.filename().string()];
  peak = std::max(peak, peak_of(pid));
}

// A stop that begins a call of execve, whose memory is the old program's.
bool is_before_execve(pid_t pid) {
  __ptrace_syscall_info info{};
  const long size = ::ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof info, &info);
  return size > 0 && info.op == PTRACE_SYSCALL_INFO_ENTRY && info.entry.nr == SYS_execve;
}

int signal_after(pid_t pid, int status) {
  const int signal = WSTOPSIG(status);
  if (signal == (SIGTRAP | 0x80)) {
    if (is_before_execve(pid)) note(pid);
    return 0;
  }
  if (status >> 16 == PTRACE_EVENT_EXIT) note(pid);
  // A new child begins with SIGSTOP.
  return status >> 16 != 0 || signal == SIGSTOP || signal == SIGTRAP ? 0 : signal;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const pid_t first = ::fork();
  if (first == 0) {
    (void)::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    (void)::raise(SIGSTOP);
    (void)::execvp(argv[1], argv + 1);
    ::_exit(127);
  }
  int status = 0;
  int result = 1;
  if (first < 0 || ::waitpid(first, &status, 0) != first) return 1;
  const long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
                       PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_TRACEEXIT;
  if (::ptrace(PTRACE_SETOPTIONS, first, nullptr, options) != 0) return 1;
  (void)::ptrace(PTRACE_SYSCALL, first, nullptr, nullptr);
  for (pid_t pid = 0; (pid = ::waitpid(-1, &status, __WALL)) > 0;) {
    if (!WIFSTOPPED(status)) {
      if (pid == first) result = WIFEXITED(status) ? WEXITSTATUS(status) : 1;
      continue;
    }
    const long signal = signal_after(pid, status);
    (void)::ptrace(PTRACE_SYSCALL, pid, nullptr, signal);
  }
  for (const auto& [name, peak] : peaks) std::printf("  %6ld %s\n", peak, name.c_str());
  return result;
}
