// SPDX-License-Identifier: Apache-2.0
// Runs a program of the product under ptrace, numbers the system calls of it and of all processes
// that come from it which have an effect outside, and cuts the run short at one of them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "tests/fault/program.h"

namespace fault {

// A point of a run: the CALLth call with an effect of PROCESS, from 1. The program itself is "1",
// the second process that it forks "1.2". Numbering each process by what it comes from, and calls
// for each process by itself, makes a point independent of how the kernel interleaves them.
struct Point {
  std::string process = "1";
  size_t call = 1;
};

enum class Cut {
  kNone,
  kKillBefore,  // SIGKILL to the process instead of the call
  kKillAfter,   // SIGKILL to the process once the call is done
  kFail,        // the call is not made and returns an error
  kKillWaiter,  // SIGKILL to the process that waits for a client, once the client's call is done
};

struct Plan {
  Cut cut = Cut::kNone;
  int error = 0;  // for kFail
  Point at = {};
};

// Where a run was cut.
struct Hit {
  Point point;
  std::string program;  // "ipuctl"
  std::string call;     // "pwrite64 /var/lib/.../ledger.db-wal"
};

struct Seen {
  std::string process;  // as in Point
  std::string program;
  size_t count = 0;                // of its calls that count
  std::vector<std::string> calls;  // those that count; only if Calls::kKeep
};

enum class Calls { kForget, kKeep };

struct Trace {
  Ended ended;                       // the program itself
  bool killed = false;               // it, by the plan
  std::optional<Hit> hit;            // nothing: the run ended without coming to the point
  std::vector<Seen> processes;       // in the order in which they were forked
  std::vector<std::string> crashes;  // "ipuctl: signal 6": deaths that the plan has no part in
  size_t aborts = 0;                 // processes that called abort(), and left a record of it
  bool hung = false;                 // processes of it were still there at the deadline
};

// Runs PROGRAM, cut by PLAN, until it and all that come from it have ended, or DEADLINE, when they
// are killed. Programs outside INSTALLED, the folders of the product, are let go when they are
// executed. Of ipu-vipu-client, which has threads, only what it sends counts, and kFail spares it.
// With kKillWaiter, only what the clients send counts, also ipu-fleet-client.
base::Result<Trace> trace(const Program& program, const Plan& plan,
                          const std::vector<std::string>& installed, const base::Deadline& deadline,
                          Calls calls = Calls::kForget);

}  // namespace fault
