// SPDX-License-Identifier: Apache-2.0
// Processes: identifying a pid, and running a program with a deadline.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "base/serve.h"

namespace base {

// An identity that no later process with the same pid shares.
struct ProcessId {
  pid_t pid = 0;
  uint64_t start_time = 0;     // clock ticks since boot: field 22 of /proc/PID/stat
  uint64_t pid_namespace = 0;  // namespace of the pid: inode of /proc/self/ns/pid
  bool operator==(const ProcessId&) const = default;
};

// Returns the process that has PID now, or kNotFound if there is none or only a zombie.
Result<ProcessId> identify_process(pid_t pid);
Result<ProcessId> current_process();
// Returns whether exactly this process runs. A zombie does not run, nor does an empty ProcessId().
// A process that cannot be inspected, or that belongs to another pid namespace, counts as running:
// its resources must not be taken away.
[[nodiscard]] bool is_running(const ProcessId& process);

// The user and group that a program runs as. It has no other group, and no capability even in its
// bounding set.
struct Credentials {
  uid_t uid;
  gid_t gid;
};

// Makes this process run as WHO, for good. Uses raw system calls only, so that the child of a fork
// may call it. Returns false with errno on failure.
[[nodiscard]] bool drop_to(const Credentials& who);

struct Command {
  std::string path;               // absolute
  std::vector<std::string> args;  // argv[0] included
  std::vector<std::string>
      env;                // the whole environment, "KEY=value"; the caller's is not inherited
  std::string input;      // standard input
  size_t max_output = 0;  // limit for standard output, in bytes; more is an error
  std::optional<Credentials> credentials;  // unset: the caller's own
  int error_fd = -1;                       // standard error; -1: /dev/null
  // Answers what the program asks on kQuestionFd; unset: it has no such descriptor. Runs in run(),
  // which waits for it even past the deadline.
  Serve serve = {};
};

struct Output {
  int exit_status = 0;  // 128 + signal if the program was killed; -1 if another process reaped it
  std::string out;
};

// Runs the program to its end and collects its standard output. The program has only the first
// three descriptors, and kQuestionFd if COMMAND serves it, its own session, "/" as its working
// directory, and no_new_privs. It gets SIGKILL when this thread ends, at DEADLINE, or 200 ms after
// it closed both its standard input and output. It is reaped before run() returns. Returns kTimeout
// at the deadline, kNotFound if the program is absent, and kDenied if CREDENTIALS cannot be
// assumed, which needs CAP_SETUID, CAP_SETGID and CAP_SETPCAP.
Result<Output> run(const Command& command, const Deadline& deadline);

}  // namespace base
