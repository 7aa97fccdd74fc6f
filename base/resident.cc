// SPDX-License-Identifier: Apache-2.0
#include "base/resident.h"

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "base/capabilities.h"
#include "base/fd.h"
#include "base/text.h"

namespace base {
namespace {

constexpr size_t kLongestReason = 500;
constexpr int kLowest = 19;

bool become(const Credentials& who) {
  return clear_bounding_set() && ::setgroups(0, nullptr) == 0 &&
         ::setresgid(who.gid, who.gid, who.gid) == 0 &&
         ::setresuid(who.uid, who.uid, who.uid) == 0 && clear_capabilities() &&
         ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
}

// Gives the descriptors their numbers, and closes all others. They are moved out of the way first.
bool arrange(std::vector<int>& wanted) {
  constexpr unsigned kAll = ~0U;
  const int count = static_cast<int>(wanted.size());
  for (int& fd : wanted) {
    fd = ::fcntl(fd, F_DUPFD_CLOEXEC, count);
    if (fd < 0) return false;
  }
  for (int number = 0; number < count; ++number) {
    if (::dup2(wanted[static_cast<size_t>(number)], number) != number) return false;
  }
  return ::syscall(SYS_close_range, static_cast<unsigned>(count), kAll, 0U) == 0;
}

[[noreturn]] void fail(const char* what) {
  std::array<char, kLongestReason> text{};
  (void)::snprintf(text.data(), text.size(), "%s: %s", what, ::strerror(errno));
  (void)::send(1, text.data(), ::strlen(text.data()), MSG_NOSIGNAL);
  ::_exit(127);
}

// The child of the fork: waits until it is recorded, then becomes the program.
[[noreturn]] void run_child(const Resident& program, char* const* argv, std::vector<int>& wanted) {
  char recorded = 0;
  if (::recv(wanted[1], &recorded, 1, 0) != 1) ::_exit(127);
  sigset_t none;
  sigemptyset(&none);
  (void)::sigprocmask(SIG_SETMASK, &none, nullptr);
  wanted[2] = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (wanted[2] < 0 || !arrange(wanted)) ::_exit(127);
  if (::setsid() < 0 || ::chdir("/") != 0) fail("detach it");
  // Nobody waits for it as for the programs beside which it stays.
  if (::setpriority(PRIO_PROCESS, 0, kLowest) != 0) fail("lower its priority");
  if (!become(program.credentials)) fail("give up root's rights");
  char* const no_environment[] = {nullptr};
  (void)::execve(program.path.c_str(), argv, no_environment);
  fail("execute it");
}

// Waits for what the program says.
Status await_ready(int socket, const Deadline& deadline) {
  pollfd waiting{socket, POLLIN, 0};
  int ready = -1;
  do {
    ready = ::poll(&waiting, 1, static_cast<int>(deadline.left().count()));
  } while (ready < 0 && errno == EINTR);
  if (ready < 0) return Error::from_errno(errno, "poll");
  if (ready == 0) return Error(Code::kTimeout, "it did not get ready in time");
  std::array<char, kLongestReason> text{};
  const ssize_t got = ::recv(socket, text.data(), text.size(), 0);
  if (got <= 0) return Error(Code::kInternal, "it ended before it was ready");
  const std::string_view said(text.data(), static_cast<size_t>(got));
  if (said == kReady) return {};
  return Error(Code::kInternal, one_line(std::string(said), kLongestReason));
}

Status record_and_await(pid_t child, int socket,
                        const std::function<Status(const ProcessId&)>& record,
                        const Deadline& deadline) {
  const ProcessId process = TRY(identify_process(child));
  TRY(record(process));
  if (::send(socket, "", 1, MSG_NOSIGNAL) != 1) {
    return Error(Code::kInternal, "its process ended before the program ran");
  }
  return await_ready(socket, deadline);
}

}  // namespace

Status start_resident(const Resident& program,
                      const std::function<Status(const ProcessId&)>& record,
                      const Deadline& deadline) {
  const std::string what = str("start ", quote(program.path));
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    return Error::from_errno(errno, what);
  }
  const Fd ours(ends[0]);
  Fd theirs(ends[1]);
  std::vector<char*> argv;
  for (const std::string& arg : program.args) argv.push_back(const_cast<char*>(arg.c_str()));
  argv.push_back(nullptr);
  std::vector<int> wanted{program.input, theirs.get(), -1};
  wanted.insert(wanted.end(), program.given.begin(), program.given.end());
  const pid_t child = ::fork();
  if (child < 0) return Error::from_errno(errno, what);
  if (child == 0) {
    (void)::close(ends[0]);  // so that it sees when its starter ends
    run_child(program, argv.data(), wanted);
  }
  theirs.reset();
  Status started = record_and_await(child, ours.get(), record, deadline);
  if (started.ok()) return started;
  (void)::kill(child, SIGKILL);
  while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) continue;
  return Error(started.error()).wrap(what);
}

Status end_resident(const ProcessId& process, const Deadline& deadline) {
  constexpr std::chrono::milliseconds kPause{1};
  const auto current = TRY(current_process());
  if (process != ProcessId() && current.pid_namespace != process.pid_namespace) {
    return Error(Code::kUnsupported, str("process ", process.pid,
                                         " is of another pid namespace;"
                                         " run 'ipuctl gc' in the host's namespaces"));
  }
  while (is_running(process)) {
    // Where this cannot be found out now, it is not this process that dies.
    const Result<ProcessId> now = identify_process(process.pid);
    if (now.ok() && now.value() == process) (void)::kill(process.pid, SIGKILL);
    // Where it is a child of this process, as in a start that fails later.
    (void)::waitpid(process.pid, nullptr, WNOHANG);
    if (deadline.passed()) {
      return Error(Code::kTimeout, str("process ", process.pid, " has not ended yet"));
    }
    sleep_for(kPause, deadline);
  }
  return {};
}

}  // namespace base
