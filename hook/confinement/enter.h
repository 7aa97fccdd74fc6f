// SPDX-License-Identifier: Apache-2.0
// Confinement of root programs that do not become another program: it takes from them, before they
// read what others wrote, all that their phase does not need.
#pragma once

#include <string>

#include "base/result.h"
#include "hook/confinement/lists/phases.h"

namespace hook::confinement {

// Confines this process, and all that it starts, to PHASE for good. It must have one thread.
// - It keeps the capabilities of the phase that it has. None is inheritable, and no execve gives
//   one back: the bounding set has no others (without CAP_SETPCAP it stays as it is), and
//   no_new_privs is set.
// - A system call that phases.h does not allow ends it, and leaves a record: see
//   base/forbidden_calls.h. Calls of another architecture end it without one. On a kernel without
//   seccomp filters nothing is filtered.
// The record names PROGRAM, which must stay valid, and is in the file RECORDS too, but for kDoor.
// After a failure the process must not continue.
base::Status enter(Phase phase, const char* program, const std::string& records);

}  // namespace hook::confinement
