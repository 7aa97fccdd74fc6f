// SPDX-License-Identifier: Apache-2.0
// The record of a crash of this process: when, and at which place of the program.
#pragma once

#include <string>

#include "base/result.h"

namespace base {

// From now on a line is written (signal_record.h) if SIGSEGV, SIGBUS, SIGFPE, SIGILL or SIGABRT
// ends this process. It names PROGRAM, which must stay valid, the version, the signal and the place
// as an offset in the program's file: `addr2line -e PROGRAM OFFSET`. After a signal that was sent,
// such as abort()'s, the process ends with the exit status 128 + SIGNAL. FILE is absolute; its
// directory is root's alone. Holds for children too, but not after execve.
Status record_crashes(const char* program, const std::string& file);

// From now on the line goes to standard error alone; see record_on_stderr_only().
void record_crashes_on_stderr_only();

}  // namespace base
