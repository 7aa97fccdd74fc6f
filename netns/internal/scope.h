// SPDX-License-Identifier: Apache-2.0
// A visit of the calling thread to another network namespace, just long enough to make a socket or
// to open a file.
#pragma once

#include <string>
#include <utility>

#include "base/fd.h"
#include "base/result.h"

namespace netns::internal {

// Enters a network namespace, and returns to the old one in its destructor. If the thread cannot
// return, the process ends, because everything after that would act on the wrong namespace.
// Entering the thread's current namespace does nothing and needs no capability; entering another
// needs CAP_SYS_ADMIN in both.
class Scope {
 public:
  static base::Result<Scope> enter(int namespace_fd);
  Scope(Scope&&) = default;
  Scope& operator=(Scope&&) = delete;
  ~Scope();

 private:
  explicit Scope(base::Fd home) : home_(std::move(home)) {}
  base::Fd home_;  // not valid if the thread never left
};

// Opens a file of the namespace below /proc/sys/net. The file stays that namespace's after the
// return.
base::Result<base::Fd> open_setting(int namespace_fd, const std::string& path, int flags);

// Opens a close-on-exec socket in the namespace. The thread is back where it was when this returns.
base::Result<base::Fd> open_socket(int namespace_fd, int domain, int type, int protocol);
// Does the same in the thread's current namespace.
base::Result<base::Fd> open_socket_here(int domain, int type, int protocol);

}  // namespace netns::internal
