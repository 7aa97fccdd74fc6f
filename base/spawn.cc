// SPDX-License-Identifier: Apache-2.0
#include "base/spawn.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "base/child.h"
#include "base/text.h"

namespace base {
namespace {

constexpr int kCannotStart = 127;

// Gives the child its three descriptors and nothing else. Raw system calls only.
bool take_streams(int out) {
  const int in = ::open("/dev/null", O_RDWR);
  if (in < 0 || ::dup2(out, STDOUT_FILENO) < 0 || ::dup2(in, STDIN_FILENO) < 0) return false;
  constexpr unsigned kFirst = STDERR_FILENO + 1;
  return ::syscall(SYS_close_range, kFirst, ~0U, 0U) == 0;
}

[[noreturn]] void become(const char* path, char* const* argv, int out, pid_t parent) {
  const bool is_set = ::setsid() >= 0 && ::chdir("/") == 0 && take_streams(out) &&
                      ::prctl(PR_SET_PDEATHSIG, SIGTERM) == 0 && ::getppid() == parent;
  char* const no_environment[] = {nullptr};
  take_signals();
  if (is_set) (void)::execve(path, argv, no_environment);
  ::_exit(kCannotStart);
}

}  // namespace

Result<pid_t> spawn(const std::string& path, const std::vector<std::string>& args, int out) {
  if (::access(path.c_str(), X_OK) != 0)
    return Error::from_errno(errno, str("start ", quote(path)));
  const std::vector<char*> argv = pointers(args);
  const pid_t parent = ::getpid();
  const pid_t child = fork_to_exec([&] { become(path.c_str(), argv.data(), out, parent); });
  if (child < 0) return Error::from_errno(errno, str("start ", quote(path)));
  return child;
}

}  // namespace base
