// SPDX-License-Identifier: Apache-2.0
// Work in a child process: for what a process can do only once, such as to enter a mount namespace.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace base {

// The way from a child to the parent that waits for it.
class Report {
 public:
  explicit Report(int fd) : fd_(fd) {}
  // The descriptor, above 2, that a child must keep when it closes all others.
  [[nodiscard]] int fd() const { return fd_; }
  // Sends an errno, 0 for success. The parent takes the first one. A parent that ended does no
  // harm.
  void send(int err) const;

 private:
  int fd_;
};

enum class Child {
  kEnds,    // the parent reaps the child, and kills it at the deadline
  kGoesOn,  // others reap the child, which may work on after its report
};
// A child that ends without a report.
inline constexpr int kNoReport = -1;

// Starts a child that becomes another program: BECOME makes raw system calls only, and execve last.
// The child ends with status 127 if BECOME returns. The child shares the caller's memory, and the
// caller goes on once the child has ended or become the program. So nothing is copied: a copy costs
// more than a small program. BECOME runs with all signals blocked, until take_signals(). If it
// changes the user, the caller leaves no core any more. Returns -1 with errno on failure.
pid_t fork_to_exec(const std::function<void()>& become);

// Returns STRINGS as execve(2) takes them, valid as long as they are.
[[nodiscard]] std::vector<char*> pointers(const std::vector<std::string>& strings);

// Waits for the end of CHILD, and reaps it unless the kernel does, because the caller ignores
// SIGCHLD.
void reap_child(pid_t child);

// Unblocks all signals: the last call before execve. Raw system calls only.
void take_signals();

// Runs WORK in a child process and returns what the child reports: WORK's call of send(), or else
// the errno that WORK returns. The error is "WHAT: text of the errno". kTimeout if there is no
// report by DEADLINE; kInternal if the child ended without one. It does not matter whether the
// caller ignores SIGCHLD. The caller has one thread.
Status in_child(std::string_view what, Child kind, const std::function<int(const Report&)>& work,
                const Deadline& deadline);

}  // namespace base
