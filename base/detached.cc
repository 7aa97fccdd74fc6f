// SPDX-License-Identifier: Apache-2.0
#include "base/detached.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "base/fd.h"
#include "base/text.h"

namespace base {
namespace {

// Cuts the child of a fork off from where it came from. Raw system calls only. KEPT, above 2, stays
// open; -1: no descriptor does.
void detach(int kept) {
  sigset_t none;
  sigemptyset(&none);
  (void)::sigprocmask(SIG_SETMASK, &none, nullptr);
  constexpr unsigned kAll = ~0U;
  const unsigned first = kept < 0 ? 0 : static_cast<unsigned>(kept);
  const bool cut = ::setsid() >= 0 && ::chdir("/") == 0 &&
                   (kept < 0 || ::syscall(SYS_close_range, 0U, first - 1, 0U) == 0) &&
                   ::syscall(SYS_close_range, kept < 0 ? 0U : first + 1, kAll, 0U) == 0;
  // The three lowest numbers, in this order.
  if (!cut || ::open("/dev/null", O_RDWR) != 0 || ::dup(0) != 1 || ::dup(0) != 2) ::_exit(127);
}

// Runs in the child of a fork.
[[noreturn]] void exec_detached(const char* path, char* const* argv) {
  detach(-1);
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

Status go_on_detached(const std::function<Work(const std::function<void()>& started)>& work,
                      const Deadline& deadline) {
  // Not a pipe: the caller may have ended when the work begins, and SIGPIPE would end that too.
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return Error::from_errno(errno, "make a socket pair");
  }
  const Fd heard(ends[0]);
  Fd said(::fcntl(ends[1], F_DUPFD_CLOEXEC, 3));
  ::close(ends[1]);
  if (!said.valid()) return Error::from_errno(errno, "make a socket pair");
  const pid_t child = ::fork();
  if (child < 0) return Error::from_errno(errno, "fork");
  if (child == 0) {
    detach(said.get());
    const auto started = [&] { (void)::send(said.get(), "", 1, MSG_NOSIGNAL); };
    if (work(started) == Work::kDone) started();
    ::_exit(0);
  }
  said.reset();
  pollfd waiting{heard.get(), POLLIN, 0};
  int ready = -1;
  do {
    ready = ::poll(&waiting, 1, static_cast<int>(deadline.left().count()));
  } while (ready < 0 && errno == EINTR);
  char byte = 0;
  if (ready == 1 && ::read(heard.get(), &byte, 1) == 1) return {};
  return Error(ready == 0 ? Code::kTimeout : Code::kInternal,
               "the process that was to go on did not begin");
}

}  // namespace base
