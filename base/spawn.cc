// SPDX-License-Identifier: Apache-2.0
#include "base/spawn.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "base/text.h"

namespace base {
namespace {

constexpr int kCannotStart = 127;

// Gives the child of a fork its three descriptors and nothing else. Raw system calls only.
bool take_streams(int out) {
  const int in = ::open("/dev/null", O_RDWR);
  if (in < 0 || ::dup2(out, STDOUT_FILENO) < 0 || ::dup2(in, STDIN_FILENO) < 0) return false;
  constexpr unsigned kFirst = STDERR_FILENO + 1;
  return ::syscall(SYS_close_range, kFirst, ~0U, 0U) == 0;
}

[[noreturn]] void become(const char* path, char* const* argv, int out, pid_t parent) {
  sigset_t none;
  sigemptyset(&none);
  (void)::sigprocmask(SIG_SETMASK, &none, nullptr);
  const bool is_set = ::setsid() >= 0 && ::chdir("/") == 0 && take_streams(out) &&
                      ::prctl(PR_SET_PDEATHSIG, SIGTERM) == 0 && ::getppid() == parent;
  char* const no_environment[] = {nullptr};
  if (is_set) (void)::execve(path, argv, no_environment);
  ::_exit(kCannotStart);
}

}  // namespace

Result<pid_t> spawn(const std::string& path, const std::vector<std::string>& args, int out) {
  if (::access(path.c_str(), X_OK) != 0)
    return Error::from_errno(errno, str("start ", quote(path)));
  std::vector<char*> argv;
  for (const std::string& arg : args) argv.push_back(const_cast<char*>(arg.c_str()));
  argv.push_back(nullptr);
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) return Error::from_errno(errno, str("start ", quote(path)));
  if (child == 0) become(path.c_str(), argv.data(), out, parent);
  return child;
}

}  // namespace base
