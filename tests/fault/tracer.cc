// SPDX-License-Identifier: Apache-2.0
#include "tests/fault/tracer.h"

#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstddef>
#include <map>

#include "base/fs.h"
#include "base/names.h"
#include "base/text.h"
#include "tests/fault/effects.h"
#include "tests/fault/places.h"

namespace fault {
namespace {

using namespace base::names;

constexpr const char* kClient = "ipu-vipu-client";
constexpr const char* kFleetClient = "ipu-fleet-client";

struct Process {
  size_t number = 0;  // in the order in which they were forked
  std::string name;   // as in Point
  size_t children = 0;
  pid_t pid = 0;
  size_t parent = 0;  // its number; 0: none
  std::string program;
  size_t calls = 0;
  bool killed = false;  // by the plan
};

// A thread that is traced.
struct Task {
  size_t process = 0;  // its number
  bool fresh = true;   // its first stop is still to come
  Call call;           // that it is in
  enum class Then { kNothing, kFail, kKill, kKillWaiter } then = Then::kNothing;
};

void write_register(pid_t tid, size_t offset, int64_t value) {
  (void)::ptrace(PTRACE_POKEUSER, tid, offset, value);
}
void skip_call(pid_t tid) { write_register(tid, offsetof(user_regs_struct, orig_rax), -1); }
void set_result(pid_t tid, int64_t value) {
  write_register(tid, offsetof(user_regs_struct, rax), value);
}

pid_t group_of(pid_t tid) {
  const Result<std::string> text = base::read_file(str("/proc/", tid, "/status"), 1 << 16);
  const size_t at = text.ok() ? text.value().find("\nTgid:\t") : std::string::npos;
  return at == std::string::npos ? tid : std::atoi(text.value().c_str() + at + 7);
}

std::string executable_of(pid_t tid) {
  char target[PATH_MAX];
  const ssize_t length = ::readlink(str("/proc/", tid, "/exe").c_str(), target, sizeof target);
  return std::string(target, static_cast<size_t>(std::max<ssize_t>(length, 0)));
}

class Tracer {
 public:
  Tracer(const Plan& plan, const std::vector<std::string>& installed, Calls calls, pid_t first)
      : plan_(plan), installed_(installed), keep_(calls), first_(first) {
    add_task(first, 0).fresh = false;
  }

  // Until no task is left.
  Trace run(const Deadline& deadline) {
    constexpr long kOptions = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
                              PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;
    (void)::ptrace(PTRACE_SETOPTIONS, first_, nullptr, kOptions);
    resume(first_, 0);
    while (!tasks_.empty()) {
      if (deadline.passed() && !trace_.hung) end_all();
      int status = 0;
      const pid_t tid = ::waitpid(-1, &status, __WALL | WNOHANG);
      if (tid > 0) {
        handle(tid, status);
      } else {
        wait_for_child();
      }
    }
    for (const auto& [number, process] : processes_) {
      trace_.processes[number - 1].program = process.program;
      trace_.processes[number - 1].count = process.calls;
    }
    return std::move(trace_);
  }

 private:
  static void wait_for_child() {
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    constexpr timespec kPause{0, 20'000'000};
    (void)::sigtimedwait(&child, nullptr, &kPause);
  }

  void end_all() {
    trace_.hung = true;
    for (auto& [number, process] : processes_) kill_process(process);
  }

  Task& add_task(pid_t tid, size_t parent) {
    const auto found = tasks_.find(tid);
    if (found != tasks_.end()) return found->second;
    Task task;
    task.process = process_of(tid, parent);
    return tasks_.emplace(tid, task).first->second;
  }

  size_t process_of(pid_t tid, size_t parent) {
    const pid_t group = group_of(tid);
    if (group != tid) {
      const auto leader = tasks_.find(group);
      if (leader != tasks_.end()) return leader->second.process;
    }
    Process process;
    process.number = processes_.size() + 1;
    process.pid = group;
    process.parent = parent;
    process.name = "1";
    if (parent != 0) {
      Process& from = processes_[parent];
      process.name = str(from.name, ".", ++from.children);
      process.program = from.program;
    }
    trace_.processes.push_back({process.name, process.program, 0, {}});
    processes_[process.number] = process;
    return process.number;
  }

  void handle(pid_t tid, int status) {
    if (!WIFSTOPPED(status)) return ended(tid, status);
    const bool known = tasks_.count(tid) != 0;
    // A new process may stop before its parent's fork is reported: its number comes with that.
    if (!known) {
      early_.push_back(tid);
      return;
    }
    Task& task = tasks_[tid];
    const int signal = WSTOPSIG(status);
    const int event = status >> 16;
    if (event == PTRACE_EVENT_FORK || event == PTRACE_EVENT_VFORK || event == PTRACE_EVENT_CLONE) {
      forked(tid, task);
    } else if (event == PTRACE_EVENT_EXEC) {
      executed(tid, task);
    } else if (signal == (SIGTRAP | 0x80)) {
      stopped_at_call(tid, task);
    } else if (task.fresh && signal == SIGSTOP) {
      task.fresh = false;
      resume(tid, 0);
    } else {
      resume(tid, event != 0 ? 0 : signal);
    }
  }

  void forked(pid_t tid, const Task& task) {
    unsigned long child = 0;
    (void)::ptrace(PTRACE_GETEVENTMSG, tid, nullptr, &child);
    const auto pid = static_cast<pid_t>(child);
    Task& added = add_task(pid, task.process);
    const auto early = std::find(early_.begin(), early_.end(), pid);
    if (early != early_.end()) {
      early_.erase(early);
      added.fresh = false;
      resume(pid, 0);
    }
    resume(tid, 0);
  }

  void executed(pid_t tid, Task& task) {
    Process& process = processes_[task.process];
    const std::string path = executable_of(tid);
    const size_t slash = path.rfind('/');
    process.program = path.substr(slash + 1);
    counting_ = true;
    const bool ours =
        std::find(installed_.begin(), installed_.end(), path.substr(0, slash)) != installed_.end();
    const bool stays = process.program == kEndpoint;
    if (ours && !stays && !is_spared(process)) return resume(tid, 0);
    if (task.then == Task::Then::kKill) kill_process(process);
    (void)::ptrace(PTRACE_DETACH, tid, nullptr, nullptr);
    if (tid == first_) let_go_ = true;
    tasks_.erase(tid);
    if (let_go_ && tid == first_) (void)::waitpid(tid, &trace_.ended.status, 0);
  }

  // With TLS and without.
  [[nodiscard]] static bool is_client(const Process& process) {
    return process.program.starts_with(kClient);
  }

  // Stopping a client at each of its thousand calls takes longer than all else: one that will not
  // be cut is let go. It does not outlive the process that waits for it.
  [[nodiscard]] bool is_spared(const Process& process) const {
    return is_client(process) && keep_ == Calls::kForget &&
           (plan_.cut == Cut::kFail || process.name != plan_.at.process);
  }

  void stopped_at_call(pid_t tid, Task& task) {
    __ptrace_syscall_info info{};
    (void)::ptrace(PTRACE_GET_SYSCALL_INFO, tid, sizeof info, &info);
    if (info.op == PTRACE_SYSCALL_INFO_ENTRY) {
      task.call.number = info.entry.nr;
      std::copy(std::begin(info.entry.args), std::end(info.entry.args), task.call.args.begin());
      entering(tid, task);
    } else if (info.op == PTRACE_SYSCALL_INFO_EXIT) {
      leaving(tid, task);
    }
    resume(tid, 0);
  }

  [[nodiscard]] bool counts(const Process& process, const Call& call) const {
    if (!counting_) return false;
    if (is_client(process)) return plan_.cut != Cut::kFail && is_send(process.pid, call);
    if (plan_.cut == Cut::kKillWaiter)
      return process.program == kFleetClient && is_send(process.pid, call);
    return has_effect(call);
  }

  void entering(pid_t tid, Task& task) {
    Process& process = processes_[task.process];
    if (!counts(process, task.call)) return;
    ++process.calls;
    if (keep_ == Calls::kKeep) {
      trace_.processes[process.number - 1].calls.push_back(describe(tid, task.call));
    }
    const bool here = process.name == plan_.at.process && process.calls == plan_.at.call;
    if (!here || plan_.cut == Cut::kNone) return;
    trace_.hit = Hit{plan_.at, process.program, describe(tid, task.call)};
    cut(tid, task, process);
  }

  void cut(pid_t tid, Task& task, Process& process) {
    switch (plan_.cut) {
      case Cut::kKillBefore:
        skip_call(tid);
        kill_process(process);
        break;
      case Cut::kKillAfter:
        task.then = Task::Then::kKill;
        break;
      case Cut::kFail:
        skip_call(tid);
        task.then = Task::Then::kFail;
        break;
      case Cut::kKillWaiter:
        task.then = Task::Then::kKillWaiter;
        break;
      case Cut::kNone:
        break;
    }
  }

  void leaving(pid_t tid, Task& task) {
    const Task::Then then = std::exchange(task.then, Task::Then::kNothing);
    Process& process = processes_[task.process];
    if (then == Task::Then::kFail) set_result(tid, -plan_.error);
    if (then == Task::Then::kKill) kill_process(process);
    if (then == Task::Then::kKillWaiter) kill_process(processes_[process.parent]);
  }

  void kill_process(Process& process) {
    process.killed = true;
    if (process.pid == first_) trace_.killed = true;
    (void)::kill(process.pid, SIGKILL);
  }

  void ended(pid_t tid, int status) {
    const auto task = tasks_.find(tid);
    if (task == tasks_.end()) return;  // a child of ours that is not traced
    const Process& process = processes_[task->second.process];
    if (tid == first_) trace_.ended.status = status;
    const bool sent_by_plan = process.killed || trace_.hung;
    if (WIFSIGNALED(status) && tid == process.pid && !is_expected(WTERMSIG(status), sent_by_plan)) {
      trace_.crashes.push_back(str(process.program, ": ", status_text(status)));
    }
    // See base::record_crashes().
    if (WIFEXITED(status) && WEXITSTATUS(status) == 128 + SIGABRT && tid == process.pid)
      ++trace_.aborts;
    tasks_.erase(task);
  }

  // The product itself ends its client with SIGKILL.
  static bool is_expected(int signal, bool sent_by_plan) {
    return signal == SIGKILL || sent_by_plan;
  }

  static void resume(pid_t tid, int signal) {
    (void)::ptrace(PTRACE_SYSCALL, tid, nullptr, static_cast<long>(signal));
  }

  const Plan& plan_;
  const std::vector<std::string>& installed_;
  Calls keep_;
  pid_t first_;
  bool counting_ = false;  // the program itself has been executed
  bool let_go_ = false;
  std::map<pid_t, Task> tasks_;
  std::map<size_t, Process> processes_;  // by number
  std::vector<pid_t> early_;
  Trace trace_;
};

}  // namespace

Result<Trace> trace(const Program& program, const Plan& plan,
                    const std::vector<std::string>& installed, const Deadline& deadline,
                    Calls calls) {
  const Streams streams = TRY(Streams::open(program.input));
  const pid_t pid = TRY(start(program, streams, Traced::kYes));
  int status = 0;
  if (::waitpid(pid, &status, __WALL) != pid || !WIFSTOPPED(status)) {
    return Error(base::Code::kInternal, str("trace ", program.path, ": it did not stop"));
  }
  Trace traced = Tracer(plan, installed, calls, pid).run(deadline);
  traced.ended.out = streams.out_text();
  traced.ended.err = streams.err_text();
  return traced;
}

}  // namespace fault
