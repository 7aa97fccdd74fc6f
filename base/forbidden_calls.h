// SPDX-License-Identifier: Apache-2.0
// The record of a process that a forbidden system call ended.
#pragma once

#include <span>
#include <string>

#include "base/result.h"

namespace base {

// What a record says, and where it goes. The texts must stay valid.
struct ForbiddenCalls {
  const char* program;  // "ipuctl"
  const char* phase;    // what the program does, and so which calls it may make
  std::string file;     // absolute; its directory is root's alone
  // The name of each system call, by its number; a null pointer where there is none.
  std::span<const char* const> names;
};

// From now on a system call that a seccomp filter answers with SECCOMP_RET_TRAP ends this process
// by SIGSYS, after it has written a line that names the program, the phase and the call. The line
// is written as signal_record.h says. Holds for children too, but not after execve.
Status record_forbidden_calls(const ForbiddenCalls& calls);

// From now on this line, and that of a crash (crash_record.h), go to standard error alone. For a
// process that is about to enter the mount namespace of a container, where other files have the
// names.
void record_on_stderr_only();

}  // namespace base
