// SPDX-License-Identifier: Apache-2.0
// Resource limits of processes.
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "base/result.h"

namespace base {

// The highest RLIMIT_MEMLOCK, in bytes, that this process may give to a child: RLIM_INFINITY with
// CAP_SYS_RESOURCE, its own hard limit without.
Result<uint64_t> highest_memlock();

// Gives process PID this RLIMIT_MEMLOCK, soft and hard. kDenied if it is more than
// highest_memlock().
Status set_memlock(pid_t pid, uint64_t bytes);

}  // namespace base
