// SPDX-License-Identifier: Apache-2.0
// The system calls of a confined process. What gRPC, its resolver and TLS do was traced with
// strace on Debian 12; calls that other versions of glibc make for the same are there too.
//   allowed:  threads, not processes; memory, never made executable; files for reading only; TCP
//             and UDP sockets over IPv4 and IPv6, without listen; signals to itself; the clock
//   killed:   what only an attacker has a reason for: execve, fork, ptrace, signals to others,
//             users and capabilities, mounts and namespaces, bpf, io_uring, keys
//   ENOSYS:   all else, as on a kernel that is too old for it: a library then does without, such as
//             glibc, which takes clone, whose flags a filter can see, in the place of clone3
#pragma once

#include "base/result.h"

namespace base {

// Loads the filter for this thread and those that it starts; it cannot be taken off. no_new_privs
// must be set. After a failure there is no filter. Calls of another architecture or of x32 kill.
Status load_filter();

}  // namespace base
