// SPDX-License-Identifier: Apache-2.0
#include "base/fd.h"

#include <unistd.h>

#include <cerrno>

namespace base {

void Fd::reset(int fd) {
  const int saved_errno = errno;
  const int old = std::exchange(fd_, fd);
  if (old >= 0) (void)::close(old);
  errno = saved_errno;
}

}  // namespace base
