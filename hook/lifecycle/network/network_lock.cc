// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/network/network_lock.h"

#include <fcntl.h>

#include <cerrno>
#include <limits>

#include "base/fs.h"
#include "base/names.h"
#include "base/text.h"

namespace hook::lifecycle::network {

using namespace base::names;

Result<NetworkLock> NetworkLock::take(const std::string& run_dir, uint64_t cookie,
                                      const Deadline& deadline) {
  constexpr std::chrono::milliseconds kRetry{2};
  TRY(base::ensure_dir(run_dir, 0711));
  const std::string path = str(run_dir, "/network.lock");
  base::Fd file = TRY(base::open_at(AT_FDCWD, path, O_RDWR | O_CREAT | O_NOFOLLOW, 0600));
  struct flock range {};
  range.l_type = F_WRLCK;
  range.l_whence = SEEK_SET;
  range.l_start = static_cast<off_t>(cookie & std::numeric_limits<off_t>::max());
  range.l_len = 1;
  // A lock of the open file, not of the process: it ends with the descriptor.
  while (::fcntl(file.get(), F_OFD_SETLK, &range) != 0) {
    if (errno != EAGAIN && errno != EACCES && errno != EINTR) {
      return Error::from_errno(errno, str("lock ", base::quote(path)));
    }
    if (deadline.passed()) {
      return Error(Code::kTimeout,
                   "another process is changing the container's network namespace; start the"
                   " container again");
    }
    base::sleep_for(kRetry, deadline);
  }
  return NetworkLock(std::move(file));
}

}  // namespace hook::lifecycle::network
