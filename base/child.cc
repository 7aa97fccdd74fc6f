// SPDX-License-Identifier: Apache-2.0
#include "base/child.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "base/fd.h"
#include "base/text.h"

namespace base {
namespace {

// The errno that the child sends by HEARD.
Result<int> hear(int heard, const Deadline& deadline) {
  pollfd waiting{heard, POLLIN, 0};
  int ready = -1;
  do {
    ready = ::poll(&waiting, 1, static_cast<int>(deadline.left().count()));
  } while (ready < 0 && errno == EINTR);
  if (ready < 0) return Error::from_errno(errno, "poll");
  if (ready == 0) return Error(Code::kTimeout, "the child process did not report in time");
  int err = 0;
  if (::recv(heard, &err, sizeof err, 0) == sizeof err) return err;
  return Error(Code::kInternal, "the child process ended without a report");
}

}  // namespace

std::vector<char*> pointers(const std::vector<std::string>& strings) {
  std::vector<char*> out;
  for (const std::string& s : strings) out.push_back(const_cast<char*>(s.c_str()));
  out.push_back(nullptr);
  return out;
}

void reap_child(pid_t child) {
  while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) continue;
}

void take_signals() {
  sigset_t none;
  sigemptyset(&none);
  (void)::sigprocmask(SIG_SETMASK, &none, nullptr);
}

pid_t fork_to_exec(const std::function<void()>& become) {
  // No handler of this process may run in the child: it would change the memory of both.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  (void)::sigprocmask(SIG_SETMASK, &all, &before);
  const pid_t child = ::vfork();
  if (child == 0) {
    become();
    ::_exit(127);
  }
  const int err = errno;
  (void)::sigprocmask(SIG_SETMASK, &before, nullptr);
  errno = err;
  return child;
}

void Report::send(int err) const { (void)::send(fd_, &err, sizeof err, MSG_NOSIGNAL); }

Status in_child(std::string_view what, Child kind, const std::function<int(const Report&)>& work,
                const Deadline& deadline) {
  // Not a pipe: the parent may have ended when the child reports, and SIGPIPE would end that too.
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return Error::from_errno(errno, what);
  }
  const Fd heard(ends[0]);
  Fd said(::fcntl(ends[1], F_DUPFD_CLOEXEC, 3));
  ::close(ends[1]);
  if (!said.valid()) return Error::from_errno(errno, what);
  const pid_t child = ::fork();
  if (child < 0) return Error::from_errno(errno, what);
  if (child == 0) {
    const Report report(said.get());
    const int err = work(report);
    if (err != kNoReport) report.send(err);
    ::_exit(0);
  }
  said.reset();
  const Result<int> err = hear(heard.get(), deadline);
  if (kind == Child::kEnds) {
    // Until the deadline its end of the socket kept open says that it lives: the pid is its own.
    if (!err.ok() && err.error().code() == Code::kTimeout) (void)::kill(child, SIGKILL);
    reap_child(child);
  }
  if (!err.ok()) return Error(err.error()).wrap(what);
  if (err.value() != 0) return Error::from_errno(err.value(), what);
  return {};
}

}  // namespace base
