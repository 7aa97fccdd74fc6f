// SPDX-License-Identifier: Apache-2.0
#include "base/process.h"

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <string_view>

#include "base/capabilities.h"
#include "base/child.h"
#include "base/fd.h"
#include "base/fs.h"
#include "base/scope.h"
#include "base/text.h"

namespace base {
namespace {

constexpr int kLastFd = ~0U >> 1;
// A program that closed its output is about to end.
constexpr std::chrono::milliseconds kLastWords{200};

struct Stat {
  char state;
  uint32_t threads;
  ProcessId id;
};

// Reads /proc/PID/stat. The name (field 2) may hold spaces and parentheses, so count from the last
// ')'.
Result<Stat> read_stat(pid_t pid) {
  const std::string path = str("/proc/", pid, "/stat");
  const std::string text = TRY(read_file(path, 4096));
  const size_t name_end = text.rfind(')');
  const std::vector<std::string_view> fields =
      name_end == std::string::npos ? std::vector<std::string_view>()
                                    : split(std::string_view(text).substr(name_end + 1), ' ');
  constexpr size_t kState = 1;       // field 3
  constexpr size_t kThreads = 18;    // field 20
  constexpr size_t kStartTime = 20;  // field 22
  if (fields.size() <= kStartTime || fields[kState].empty()) {
    return Error(Code::kInternal, str("parse ", quote(path), ": too few fields"));
  }
  const uint32_t threads = TRY(parse_int<uint32_t>(fields[kThreads], 0, UINT32_MAX));
  const uint64_t start = TRY(parse_int<uint64_t>(fields[kStartTime], 0, UINT64_MAX));
  return Stat{fields[kState][0], threads, {pid, start, 0}};
}

Result<uint64_t> own_pid_namespace() {
  struct stat status {};
  constexpr const char* kPath = "/proc/self/ns/pid";
  if (::stat(kPath, &status) != 0) return Error::from_errno(errno, str("inspect ", quote(kPath)));
  return status.st_ino;
}

// Everything that the child needs, prepared before fork: the child allocates nothing.
struct Prepared {
  const char* path;
  std::vector<char*> argv;
  std::vector<char*> envp;
  const Credentials* credentials;
  pid_t parent;
  int error_fd;
  int question_fd;  // -1: none
};

// Starts the program in the child of fork_to_exec().
[[noreturn]] void exec_child(const Prepared& prepared, int socket, int exec_error) {
  const auto fail = [&] {
    const int err = errno;
    (void)!::write(exec_error, &err, sizeof err);
    ::_exit(127);
  };
  // The child must not have a controlling terminal, nor keep a directory of the caller's in use.
  if (::setsid() < 0 || ::chdir("/") != 0) fail();
  const rlimit no_core{0, 0};
  (void)::setrlimit(RLIMIT_CORE, &no_core);
  // Moved away first: if the caller has closed its own 0, 1 or 2, the descriptors have these
  // numbers.
  constexpr int kFree = kQuestionFd + 2;
  exec_error = ::fcntl(exec_error, F_DUPFD_CLOEXEC, kFree);
  socket = ::fcntl(socket, F_DUPFD_CLOEXEC, kFree);
  const int errors = prepared.error_fd >= 0 ? ::fcntl(prepared.error_fd, F_DUPFD_CLOEXEC, kFree)
                                            : ::open("/dev/null", O_WRONLY);
  const int question =
      prepared.question_fd >= 0 ? ::fcntl(prepared.question_fd, F_DUPFD_CLOEXEC, kFree) : -1;
  if (exec_error < 0 || socket < 0 || errors < 0) fail();
  if (::dup2(errors, 2) < 0 || ::dup2(socket, 0) < 0 || ::dup2(socket, 1) < 0) fail();
  // Moved to the next number, so that one close_range can close all others.
  const bool asks = prepared.question_fd >= 0;
  if (asks && ::dup2(question, kQuestionFd) < 0) fail();
  const int last = asks ? kQuestionFd + 1 : kQuestionFd;
  if (::dup3(exec_error, last, O_CLOEXEC) < 0) fail();
  exec_error = last;
  const auto others = static_cast<unsigned>(last + 1);
  if (::syscall(SYS_close_range, others, static_cast<unsigned>(kLastFd), 0U) != 0) fail();
  if (prepared.credentials != nullptr && !drop_to(*prepared.credentials)) fail();
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) fail();
  // Set after the change of user, which clears it.
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) fail();
  if (::getppid() != prepared.parent) ::_exit(127);
  take_signals();
  (void)::execve(prepared.path, prepared.argv.data(), prepared.envp.data());
  fail();
  ::_exit(127);
}

// Sends all of COMMAND's input, then reads the output until end of file. Answers questions
// meanwhile, which arrive on QUESTIONS unless that is -1.
Result<std::string> exchange(int socket, int questions, const Command& command,
                             const Deadline& deadline) {
  std::string_view input = command.input;
  std::string out;
  char chunk[65536];
  // Without this, a program that never sees the end of its input would run until the deadline.
  const auto end_input = [&]() -> Status {
    if (::shutdown(socket, SHUT_WR) == 0) return {};
    return Error::from_errno(errno, "close the input of the program");
  };
  if (input.empty()) TRY(end_input());
  for (;;) {
    pollfd waiters[] = {{socket, static_cast<short>(input.empty() ? POLLIN : POLLIN | POLLOUT), 0},
                        {questions, POLLIN, 0}};
    const pollfd& waiter = waiters[0];
    const int ready = ::poll(waiters, 2, static_cast<int>(deadline.left().count()));
    if (ready < 0 && errno != EINTR) return Error::from_errno(errno, "poll");
    if (ready == 0) return Error(Code::kTimeout, "deadline passed");
    // A program that asks for ever ends at the deadline, too.
    if (waiters[1].revents != 0 && (deadline.passed() || !answer_one(questions, command.serve))) {
      questions = -1;
    }
    if ((waiter.revents & POLLOUT) != 0 && !input.empty()) {
      const ssize_t put = ::send(socket, input.data(), input.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      // A program that ends without reading its input may still have written its answer.
      input.remove_prefix(put > 0 ? static_cast<size_t>(put) : errno == EPIPE ? input.size() : 0);
      if (input.empty()) TRY(end_input());
    }
    if ((waiter.revents & (POLLIN | POLLHUP | POLLERR)) == 0) continue;
    const ssize_t got = ::recv(socket, chunk, sizeof chunk, MSG_DONTWAIT);
    if (got == 0 || (got < 0 && errno == ECONNRESET)) return out;
    if (got > 0) out.append(chunk, static_cast<size_t>(got));
    if (out.size() > command.max_output) {
      return Error(Code::kInvalid,
                   str("the program wrote more than ", command.max_output, " bytes"));
    }
  }
}

// Waits for the end of a child. Returns false if it still runs after this time.
bool ends(pid_t pid, std::chrono::milliseconds time) {
  const Fd process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0U)));
  if (!process.valid()) return errno == ESRCH;  // the kernel reaped it
  const auto give_up = Deadline::after(time);
  pollfd waiter{process.get(), POLLIN, 0};
  int ready = -1;
  do {
    ready = ::poll(&waiter, 1, static_cast<int>(give_up.left().count()));
  } while (ready < 0 && errno == EINTR);
  return ready > 0;
}

int reap(pid_t pid) {
  int status = 0;
  pid_t got = -1;
  do {
    got = ::waitpid(pid, &status, 0);
  } while (got < 0 && errno == EINTR);
  if (got != pid) return -1;  // our starter ignores SIGCHLD: the kernel reaped it
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

// Drops the bounding set first, while that is still allowed. Drops the other sets explicitly: a
// change of user keeps the inheritable set, and with some callers' securebits all of them.
bool drop_to(const Credentials& who) {
  return clear_bounding_set() && ::setgroups(0, nullptr) == 0 &&
         ::setresgid(who.gid, who.gid, who.gid) == 0 &&
         ::setresuid(who.uid, who.uid, who.uid) == 0 && clear_capabilities();
}

Result<ProcessId> identify_process(pid_t pid) {
  Stat stat = TRY(read_stat(pid));
  // If only the first thread has ended, a process looks like a zombie but runs.
  if ((stat.state == 'Z' || stat.state == 'X') && stat.threads <= 1) {
    return Error(Code::kNotFound, str("process ", pid, " has ended"));
  }
  stat.id.pid_namespace = TRY(own_pid_namespace());
  return stat.id;
}

Result<ProcessId> current_process() { return identify_process(::getpid()); }

bool is_running(const ProcessId& process) {
  if (process == ProcessId()) return false;
  const Result<uint64_t> here = own_pid_namespace();
  if (!here.ok() || here.value() != process.pid_namespace) return true;
  const Result<ProcessId> now = identify_process(process.pid);
  if (!now.ok()) return now.error().code() != Code::kNotFound;
  return now.value() == process;
}

Result<Output> run(const Command& command, const Deadline& deadline) {
  const std::string what = str("run ", quote(command.path));
  int sockets[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0) {
    return Error::from_errno(errno, what);
  }
  const Fd ours(sockets[0]);
  Fd theirs(sockets[1]);
  int questions[] = {-1, -1};
  if (command.serve && ::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, questions) != 0) {
    return Error::from_errno(errno, what);
  }
  const Fd questions_here(questions[0]);
  Fd questions_there(questions[1]);
  int pipes[2];
  if (::pipe2(pipes, O_CLOEXEC) != 0) return Error::from_errno(errno, what);
  const Fd exec_error_read(pipes[0]);
  Fd exec_error_write(pipes[1]);

  const Prepared prepared{command.path.c_str(),
                          pointers(command.args),
                          pointers(command.env),
                          command.credentials ? &*command.credentials : nullptr,
                          ::getpid(),
                          command.error_fd,
                          questions_there.get()};
  const pid_t pid =
      fork_to_exec([&] { exec_child(prepared, theirs.get(), exec_error_write.get()); });
  if (pid < 0) return Error::from_errno(errno, what);
  theirs.reset();
  questions_there.reset();
  exec_error_write.reset();
  // Its session is a process group, which has what it started.
  const auto kill_all = [pid] {
    (void)::kill(-pid, SIGKILL);
    (void)::kill(pid, SIGKILL);
  };
  ScopeExit end_child([&] {
    kill_all();
    (void)reap(pid);
  });

  int exec_errno = 0;
  ssize_t got = -1;
  do {
    got = ::read(exec_error_read.get(), &exec_errno, sizeof exec_errno);
  } while (got < 0 && errno == EINTR);
  if (got == sizeof exec_errno) {
    return Error::from_errno(exec_errno, what);
  }
  std::string out = TRY_CTX(what, exchange(ours.get(), questions_here.get(), command, deadline));
  end_child.dismiss();
  if (!ends(pid, kLastWords)) kill_all();
  return Output{reap(pid), std::move(out)};
}

}  // namespace base
