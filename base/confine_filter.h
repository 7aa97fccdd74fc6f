// SPDX-License-Identifier: Apache-2.0
// The system call filter of a confined process. The list comes from strace of HTTP/2, TLS, c-ares
// and a server of gRPC on Debian 12, plus the calls that other versions of glibc make for the same
// purpose.
// - Allowed: memory, never made executable; files for reading only; reading
//   from and writing to the sockets that it has; signals to itself; the clock. With kOwn also TCP
//   and UDP sockets over IPv4 and IPv6, without listen.
// - Never allowed: sending with MSG_FASTOPEN, which connects without connect(2).
// - Killed: calls that only an attacker has a reason to make: execve, fork, ptrace, signals to
//   others, users and capabilities, mounts and namespaces, bpf, io_uring, keys.
// - ENOSYS: everything else, as on a kernel that is too old for the call. Libraries then fall back:
//   glibc replaces clone3 with clone, whose flags a filter can see.
#pragma once

#include "base/result.h"

namespace base {

enum class Sockets {
  kOwn,    // makes them, and connects them
  kGiven,  // has those that it inherits or receives, as they are: it also sets no option
  // As kGiven, and accepts connections on one that listens; opens no file, and has threads, not
  // processes.
  kAccepted,
};

// Loads the filter for this thread and all threads that it starts later. The filter cannot be
// removed. Requires no_new_privs. After a failure no filter is loaded. System calls of another
// architecture or of x32 kill the process.
Status load_filter(Sockets sockets);

}  // namespace base
