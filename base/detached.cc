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

// Cuts a child off from where it came from. Raw system calls only. KEPT, above 2, stays open; -1:
// none. Returns false with errno on failure.
[[nodiscard]] bool detach(int kept) {
  constexpr unsigned kAll = ~0U;
  bool is_cut = ::setsid() >= 0 && ::chdir("/") == 0;
  if (kept < 0) {
    is_cut = is_cut && ::syscall(SYS_close_range, 0U, kAll, 0U) == 0;
  } else {
    const unsigned number = static_cast<unsigned>(kept);
    is_cut = is_cut && ::syscall(SYS_close_range, 0U, number - 1, 0U) == 0 &&
             ::syscall(SYS_close_range, number + 1, kAll, 0U) == 0;
  }
  // The three lowest numbers, in this order.
  return is_cut && ::open("/dev/null", O_RDWR) == 0 && ::dup(0) == 1 && ::dup(0) == 2;
}

}  // namespace

Status start_detached(const std::string& path, const std::vector<std::string>& args,
                      const std::vector<std::string>& environment) {
  if (::access(path.c_str(), X_OK) != 0)
    return Error::from_errno(errno, str("start ", quote(path)));
  const std::vector<char*> argv = pointers(args);
  const std::vector<char*> envp = pointers(environment);
  int err = 0;  // of the child, which shares this memory
  const auto become = [&] {
    take_signals();
    (void)::execve(path.c_str(), argv.data(), envp.data());
    err = errno;
  };
  const pid_t child = fork_to_exec([&] {
    // The program's parent is this child, which ends now, so that nobody here has to reap it.
    if (!detach(-1) || fork_to_exec(become) < 0) err = errno;
    ::_exit(0);
  });
  if (child < 0) return Error::from_errno(errno, str("start ", quote(path)));
  reap_child(child);
  return err == 0 ? Status() : Error::from_errno(err, str("start ", quote(path)));
}

Status leave_to(const std::string& path, const std::vector<std::string>& args,
                const std::vector<std::string>& environment) {
  const std::vector<char*> argv = pointers(args);
  const std::vector<char*> envp = pointers(environment);
  int err = 0;  // of the child, which shares this memory
  const pid_t child = fork_to_exec([&] {
    if (detach(-1)) {
      take_signals();
      (void)::execve(path.c_str(), argv.data(), envp.data());
    }
    err = errno;
  });
  if (child < 0) return Error::from_errno(errno, str("start ", quote(path)));
  if (err == 0) return {};
  reap_child(child);
  return Error::from_errno(err, str("start ", quote(path)));
}

Status go_on_detached(const std::function<Work(const std::function<void()>& started)>& work,
                      const Deadline& deadline) {
  return in_child(
      "continue in a separate process", Child::kGoesOn,
      [&](const Report& report) {
        if (!detach(report.fd())) return errno;
        take_signals();
        return work([&] { report.send(0); }) == Work::kDone ? 0 : kNoReport;
      },
      deadline);
}

}  // namespace base
