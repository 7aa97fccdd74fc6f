// SPDX-License-Identifier: Apache-2.0
// The record of a process that a forbidden system call ended.
#pragma once

#include <span>
#include <string>

#include "base/result.h"

namespace base {

// The limit of the file of records, in bytes; its last line may exceed it.
inline constexpr size_t kMaxForbiddenCalls = 64 << 10;

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
// goes to standard error, to syslog, and to the end of the file, with the time before it; not to a
// file that has reached its limit. Holds for children too, but not after execve.
Status record_forbidden_calls(const ForbiddenCalls& calls);

// From now on the line goes to standard error alone. For a process that is about to enter the mount
// namespace of a container, where other files have the names.
void record_on_stderr_only();

}  // namespace base
