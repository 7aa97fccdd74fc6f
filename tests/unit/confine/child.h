// SPDX-License-Identifier: Apache-2.0
// Functions that run in a child of their own: confined, or not for comparison.
#pragma once

#include <sys/types.h>

#include <functional>

#include "base/confine.h"

namespace test {

// How a child ended: with an exit status, or by a signal.
struct Ending {
  int status = -1;
  int signal = 0;
  bool operator==(const Ending&) const = default;
};

inline constexpr Ending kFine{0, 0};

// Exit status of a child that could not be confined.
inline constexpr int kNotConfined = 125;

// Whom it runs as: nobody where the caller is root, and else the caller. Dumpable, as after an
// execve. It is killed by SIGALRM after 30 s. For the child of a fork.
void become_nobody();

// Forks a child that runs FUNCTION and exits with its result.
pid_t start_child(const std::function<int()>& function);
Ending wait_for(pid_t pid);

// What became of PROBE as nobody and confined. A probe gives 0 or an errno.
Ending confined(const std::function<int()>& probe, const base::Limits& limits = {},
                const base::Network& network = {});
// The same without confine().
Ending unconfined(const std::function<int()>& probe);

// errno if RESULT is that of a system call that failed, else 0.
int errno_of(long result);

}  // namespace test
