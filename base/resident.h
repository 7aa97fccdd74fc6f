// SPDX-License-Identifier: Apache-2.0
// A program that stays after its caller has ended, and that is recorded before it runs.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/process.h"
#include "base/result.h"

namespace base {

// The descriptors of the program: 0 its input, 1 a socket for one message to its starter, 2
// /dev/null, and from kFirstGiven on those that were given. No others.
inline constexpr int kFirstGiven = 3;
// What the program says when it is ready. Anything else is the reason why it cannot start.
inline constexpr const char* kReady = "ready";

struct Resident {
  std::string path;               // absolute
  std::vector<std::string> args;  // argv[0] included
  int input;
  std::vector<int> given;
  Credentials credentials;
};

// Starts PROGRAM with its own session, "/" as its working directory, the lowest priority,
// no_new_privs and an empty environment, and waits until it is ready. RECORD gets the identity of
// the process before the program runs; if RECORD fails, or the caller ends before it is done, the
// program never runs. After any error nothing runs. The caller has one thread. It must end soon,
// because it leaves the process to be reaped by another. Needs CAP_SETUID, CAP_SETGID, CAP_SETPCAP
// and CAP_KILL.
Status start_resident(const Resident& program,
                      const std::function<Status(const ProcessId&)>& record,
                      const Deadline& deadline);

// Ends PROCESS by SIGKILL and waits until it has ended; succeeds if it has already. Returns
// kTimeout if it still runs at DEADLINE, and kUnsupported if it is of another pid namespace.
Status end_resident(const ProcessId& process, const Deadline& deadline);

}  // namespace base
