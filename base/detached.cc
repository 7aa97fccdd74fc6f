// SPDX-License-Identifier: Apache-2.0
#include "base/detached.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "base/text.h"

namespace base {
namespace {

// Raw system calls only: this runs in the child of a fork.
[[noreturn]] void exec_detached(const char* path, char* const* argv) {
  sigset_t none;
  sigemptyset(&none);
  (void)::sigprocmask(SIG_SETMASK, &none, nullptr);
  constexpr unsigned kAll = ~0U;
  if (::setsid() < 0 || ::chdir("/") != 0 || ::syscall(SYS_close_range, 0U, kAll, 0U) != 0) {
    ::_exit(127);
  }
  // The three lowest numbers, in this order.
  if (::open("/dev/null", O_RDWR) != 0 || ::dup(0) != 1 || ::dup(0) != 2) ::_exit(127);
  // Its parent is the child that ends now, so that nobody here has to reap it.
  if (::fork() != 0) ::_exit(0);
  char* const no_environment[] = {nullptr};
  (void)::execve(path, argv, no_environment);
  ::_exit(127);
}

}  // namespace

Status start_detached(const std::string& path, const std::vector<std::string>& args) {
  if (::access(path.c_str(), X_OK) != 0)
    return Error::from_errno(errno, str("start ", quote(path)));
  std::vector<char*> argv;
  for (const std::string& arg : args) argv.push_back(const_cast<char*>(arg.c_str()));
  argv.push_back(nullptr);
  const pid_t child = ::fork();
  if (child < 0) return Error::from_errno(errno, str("start ", quote(path)));
  if (child == 0) exec_detached(path.c_str(), argv.data());
  int status = 0;
  pid_t reaped = -1;
  do {
    reaped = ::waitpid(child, &status, 0);
  } while (reaped < 0 && errno == EINTR);
  // Not reaped here: SIGCHLD is ignored by whoever started us.
  if (reaped == child && status != 0) {
    return Error(Code::kInternal, str("start ", quote(path), ": its process could not be set up"));
  }
  return {};
}

}  // namespace base
