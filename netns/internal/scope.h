// SPDX-License-Identifier: Apache-2.0
// The calling thread inside another network namespace, for as long as it takes to make a socket or
// to open a file.
#pragma once

#include <string>
#include <utility>

#include "base/fd.h"
#include "base/result.h"

namespace netns::internal {

// Enters a network namespace and returns in its destructor; a thread that cannot return ends the
// process, because everything after it would act on the wrong namespace. Entering the namespace
// that the thread is in already does nothing and needs no capability; any other needs CAP_SYS_ADMIN
// there and here.
class Scope {
 public:
  static base::Result<Scope> enter(int namespace_fd);
  Scope(Scope&&) = default;
  Scope& operator=(Scope&&) = delete;
  ~Scope();

 private:
  explicit Scope(base::Fd home) : home_(std::move(home)) {}
  base::Fd home_;  // not valid if there is nothing to return from
};

// A file below /proc/sys/net, of the namespace: it stays that namespace's after the return.
base::Result<base::Fd> open_setting(int namespace_fd, const std::string& path, int flags);

// A socket of the namespace, close-on-exec. The thread is back where it was when this returns.
base::Result<base::Fd> open_socket(int namespace_fd, int domain, int type, int protocol);

}  // namespace netns::internal
