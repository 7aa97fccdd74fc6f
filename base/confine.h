// SPDX-License-Identifier: Apache-2.0
// Confinement: takes from a program, before it reads its input, everything that it does not need to
// talk TCP to a server, and even the sockets, if another process connects them for it. This is a
// separate library (confine) for ipu-vipu-client, ipu-fleet-client and ipu-vipu-endpoint.
#pragma once

#include <cstdint>

#include "base/result.h"

namespace base {

// The resources that a confined process may use. The defaults are several times the measured use of
// gRPC: 7 threads and 11 descriptors on 2 processors, and more threads on more processors.
struct Limits {
  // RLIMIT_DATA, in bytes: private writable memory, including an 8 MiB stack per thread. Unlimited
  // under a sanitizer, which reserves terabytes.
#ifdef __SANITIZE_ADDRESS__
  uint64_t data = UINT64_MAX;
#else
  uint64_t data = uint64_t{1} << 30;
#endif
  uint64_t descriptors = 64;  // RLIMIT_NOFILE
  // RLIMIT_NPROC, in a user namespace of its own: threads of this process. Before Linux 5.14, those
  // of all processes of the user count together, and many starts run at once.
  uint64_t tasks = 4096;
};

// What a confined process does with the network.
enum class Service : bool { kNone, kAccepts };

// The network of a confined process.
struct Network {
  // false: it makes no socket and connects none. It has only those that it inherits or receives.
  bool own_sockets = true;
  // The TCP port to which its own sockets may connect, beside that of DNS; 0: all. The kernel keeps
  // to it from Landlock's ABI 4 on (Linux 6.7); an older one, or one without Landlock, allows all.
  uint16_t port = 0;
  // kAccepts: it has a socket that listens, accepts connections, and outlives its parent. Without
  // sockets of its own.
  Service service = Service::kNone;
};

// Confines the calling process for good. The process must have a single thread, and must not
// continue after a failure. After success the process
// - has no capability and can gain none, is not dumpable (no other process of its user can trace it
//   or read its memory), makes no core, and gets SIGKILL when its parent ends, unless it accepts
//   connections;
// - is within LIMITS and can write no file (its output must be a pipe or a socket);
// - is in a user namespace of its own, if the kernel and the administrator let it make one; if not,
//   nothing limits its threads;
// - can make only the system calls that confine_filter.h lists, and has the NETWORK alone.
// Without CAP_SETPCAP the bounding set stays as it is; with no_new_privs it grants nothing. The
// user and groups stay as the starter of the program chose them.
Status confine(const Limits& limits = {}, const Network& network = {});

}  // namespace base
