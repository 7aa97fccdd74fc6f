// SPDX-License-Identifier: Apache-2.0
// Processes: who a pid is, and running a program with a deadline.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace base {

// A process that cannot be mistaken for a later one with the same pid.
struct ProcessId {
  pid_t pid = 0;
  uint64_t start_time = 0;     // clock ticks since boot: field 22 of /proc/PID/stat
  uint64_t pid_namespace = 0;  // in which the pid counts: inode of /proc/self/ns/pid
  bool operator==(const ProcessId&) const = default;
};

// The process that has PID now; kNotFound if there is none, or only a zombie.
Result<ProcessId> identify_process(pid_t pid);
Result<ProcessId> current_process();
// Whether that very process runs. A zombie does not, nor does nobody: ProcessId(). A process that
// cannot be looked at, or that belongs to another pid namespace than ours, does: what it holds must
// not be taken away.
[[nodiscard]] bool is_running(const ProcessId& process);

// Who a program runs as: with no other group and with no capability, not even in its bounding set.
struct Credentials {
  uid_t uid;
  gid_t gid;
};

struct Command {
  std::string path;               // absolute
  std::vector<std::string> args;  // argv[0] included
  std::vector<std::string>
      env;                // the whole environment, "KEY=value"; the caller's is not inherited
  std::string input;      // its standard input
  size_t max_output = 0;  // of standard output, in bytes; more is an error
  std::optional<Credentials> credentials;  // unset: the caller's own
  int error_fd = -1;                       // its standard error; -1: /dev/null
};

struct Output {
  int exit_status = 0;  // 128 + signal when it was killed; -1 when another party reaped it
  std::string out;
};

// Runs the program to its end and collects what it wrote. It gets no descriptor but the first
// three, a session of its own, "/" as its working directory, no_new_privs, and SIGKILL when this
// thread ends, at DEADLINE, or 200 ms after it closed both ends of its standard input and output.
// It is reaped before the call returns. kTimeout at the deadline; kNotFound if the program is not
// there; kDenied if CREDENTIALS cannot be taken on: that needs CAP_SETUID, CAP_SETGID and
// CAP_SETPCAP.
Result<Output> run(const Command& command, const Deadline& deadline);

}  // namespace base
