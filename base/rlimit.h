// SPDX-License-Identifier: Apache-2.0
// Resource limits of processes.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "base/result.h"

namespace base {

// Returns the highest RLIMIT_MEMLOCK, in bytes, that this process may give to a child:
// RLIM_INFINITY with CAP_SYS_RESOURCE, its own hard limit otherwise.
Result<uint64_t> highest_memlock();

// Returns the same for process PID below PROC ("/proc").
Result<uint64_t> highest_memlock_of(const std::string& proc, pid_t pid);

// Sets the soft and hard RLIMIT_MEMLOCK of process PID. Returns kDenied above highest_memlock().
Status set_memlock(pid_t pid, uint64_t bytes);

}  // namespace base
