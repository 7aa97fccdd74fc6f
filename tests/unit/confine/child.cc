// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/confine/child.h"

#include <grp.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>

namespace test {

void become_nobody() {
  constexpr uid_t kNobody = 65534;
  (void)::alarm(30);
  if (::geteuid() == 0 &&
      (::setgroups(0, nullptr) != 0 || ::setresgid(kNobody, kNobody, kNobody) != 0 ||
       ::setresuid(kNobody, kNobody, kNobody) != 0)) {
    ::_exit(kNotConfined);
  }
  // A change of user takes it away, the execve of a real start gives it back.
  if (::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) != 0) ::_exit(kNotConfined);
}

pid_t start_child(const std::function<int()>& function) {
  const pid_t pid = ::fork();
  if (pid == 0) ::_exit(function());
  return pid;
}

Ending wait_for(pid_t pid) {
  int status = 0;
  if (pid < 0 || ::waitpid(pid, &status, 0) != pid) return {};
  if (WIFSIGNALED(status)) return {-1, WTERMSIG(status)};
  return {WEXITSTATUS(status), 0};
}

Ending confined(const std::function<int()>& probe, const base::Limits& limits,
                const base::Network& network) {
  return wait_for(start_child([&] {
    become_nobody();
    const base::Status status = base::confine(limits, network);
    if (status.ok()) return probe();
    std::fprintf(stderr, "%s\n", status.error().message().c_str());
    return kNotConfined;
  }));
}

Ending unconfined(const std::function<int()>& probe) {
  return wait_for(start_child([&] {
    become_nobody();
    return probe();
  }));
}

int errno_of(long result) { return result < 0 ? errno : 0; }

}  // namespace test
