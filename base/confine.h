// SPDX-License-Identifier: Apache-2.0
// confine: takes from a program, before it reads its input, all that it does not need to talk TCP
// to a server. A library of its own (confine), for ipu-vipu-client.
#pragma once

#include <cstdint>

#include "base/result.h"

namespace base {

// How much a confined process may use. The defaults are several times what gRPC was seen to use: 7
// threads and 11 descriptors on 2 processors, more threads on more.
struct Limits {
  // RLIMIT_DATA, in bytes: private writable memory, 8 MiB for the stack of each thread included.
  // A sanitizer reserves terabytes.
#ifdef __SANITIZE_ADDRESS__
  uint64_t data = UINT64_MAX;
#else
  uint64_t data = uint64_t{1} << 30;
#endif
  uint64_t descriptors = 64;  // RLIMIT_NOFILE
  // RLIMIT_NPROC: threads of all processes of the user together, and many starts run at once.
  uint64_t tasks = 4096;
};

// Confines the calling process for good, or fails; after a failure it must not go on. It must still
// have one thread. After success it
//   - has no capability and can gain none, is not dumpable (so no other process of its user can
//     trace it or read its memory), makes no core, and gets SIGKILL when its parent ends;
//   - is within LIMITS, and can write no file (its output must be a pipe or a socket);
//   - can make those system calls only that confine_filter.h lists.
// The bounding set of a caller without CAP_SETPCAP stays as it is: with no_new_privs it gives
// nothing. The user and groups stay too: who starts the program chooses them.
Status confine(const Limits& limits = {});

}  // namespace base
