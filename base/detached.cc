// SPDX-License-Identifier: Apache-2.0
#include "base/detached.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "base/child.h"
#include "base/text.h"

namespace base {
namespace {

constexpr std::chrono::seconds kSetUp{10};  // for two forks

// Cuts the child of a fork off from where it came from. Raw system calls only. KEPT, above 2, stays
// open.
void detach(int kept) {
  sigset_t none;
  sigemptyset(&none);
  (void)::sigprocmask(SIG_SETMASK, &none, nullptr);
  constexpr unsigned kAll = ~0U;
  const unsigned number = static_cast<unsigned>(kept);
  const bool cut = ::setsid() >= 0 && ::chdir("/") == 0 &&
                   ::syscall(SYS_close_range, 0U, number - 1, 0U) == 0 &&
                   ::syscall(SYS_close_range, number + 1, kAll, 0U) == 0;
  // The three lowest numbers, in this order.
  if (!cut || ::open("/dev/null", O_RDWR) != 0 || ::dup(0) != 1 || ::dup(0) != 2) ::_exit(127);
}

}  // namespace

Status start_detached(const std::string& path, const std::vector<std::string>& args) {
  if (::access(path.c_str(), X_OK) != 0)
    return Error::from_errno(errno, str("start ", quote(path)));
  std::vector<char*> argv;
  for (const std::string& arg : args) argv.push_back(const_cast<char*>(arg.c_str()));
  argv.push_back(nullptr);
  return in_child(
      str("start ", quote(path)), Child::kEnds,
      [&](const Report& report) {
        detach(report.fd());
        const pid_t program = ::fork();
        // Its parent is this child, which ends now, so that nobody here has to reap it.
        if (program != 0) return program < 0 ? errno : 0;
        char* const no_environment[] = {nullptr};
        (void)::execve(path.c_str(), argv.data(), no_environment);
        ::_exit(127);
      },
      Deadline::after(kSetUp));
}

Status go_on_detached(const std::function<Work(const std::function<void()>& started)>& work,
                      const Deadline& deadline) {
  return in_child(
      "continue in a separate process", Child::kGoesOn,
      [&](const Report& report) {
        detach(report.fd());
        return work([&] { report.send(0); }) == Work::kDone ? 0 : kNoReport;
      },
      deadline);
}

}  // namespace base
