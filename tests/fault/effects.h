// SPDX-License-Identifier: Apache-2.0
// Which system calls have an effect outside the process that makes them. The table names those that
// have none; every other one counts, also one that it does not know.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <string>

namespace fault {

// A system call as a process enters it.
struct Call {
  uint64_t number = 0;
  std::array<uint64_t, 6> args = {};
};

// Whether CALL may change something that outlives the process or that another one sees: files, the
// network, processes, namespaces, mounts, locks. Not: memory, descriptors, signals and credentials
// of the process itself, and reading. close(2) has none either: what it lets go, the end of the
// process lets go as well.
[[nodiscard]] bool has_effect(const Call& call);

// Whether CALL, made by process PID, sends something: on a socket or on standard output.
[[nodiscard]] bool is_send(pid_t pid, const Call& call);

// "pwrite64 /var/lib/x/ledger.db-wal": the name of the call, and what it is about where its first
// arguments are a descriptor or a path. PID must be stopped.
[[nodiscard]] std::string describe(pid_t pid, const Call& call);

}  // namespace fault
