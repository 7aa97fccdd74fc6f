// SPDX-License-Identifier: Apache-2.0
#include "hook/ledger/internal/gate.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <chrono>

#include "base/clock.h"
#include "base/fs.h"
#include "base/log.h"
#include "base/names.h"
#include "base/text.h"

namespace hook::ledger {
namespace {

using namespace base::names;
using base::Fd;

constexpr std::chrono::milliseconds kPatience{5000};  // the same as for another writer
constexpr std::chrono::milliseconds kRetry{2};

// The writer's lock: byte 120 of the shared-memory file. See "WAL-Index File Locking" in SQLite's
// file format.
constexpr off_t kWriteLock = 120;

}  // namespace

Result<Gate> Gate::enter(const std::string& ledger, Way way) {
  const std::string directory = base::directory_of(ledger);
  Fd fd = TRY(base::open_at(AT_FDCWD, directory, O_RDONLY | O_DIRECTORY));
  const int lock = (way == Way::kOpen ? LOCK_SH : LOCK_EX) | LOCK_NB;
  const auto patience = Deadline::after(kPatience);
  const base::LockWait wait(directory);
  while (::flock(fd.get(), lock) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) {
      return Error::from_errno(errno, str("lock ", base::quote(directory)));
    }
    if (patience.passed()) {
      return Error(Code::kBusy, str("ledger: 'ipuctl ledger rebuild' is under way; try again"));
    }
    base::sleep_for(kRetry, patience);
  }
  return Gate(std::move(fd));
}

Result<WritersFence> WritersFence::raise(const std::string& ledger) {
  const std::string path = ledger + "-shm";
  Result<Fd> shared = base::open_at(AT_FDCWD, path, O_RDWR | O_NOFOLLOW);
  if (!shared.ok() && shared.error().sys_errno() == ENOENT) return WritersFence(Fd());
  Fd fd = TRY(std::move(shared));
  // A lock of the open file, not of the process: closing any descriptor ends SQLite's own locks of
  // the process.
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = kWriteLock;
  lock.l_len = 1;
  const auto patience = Deadline::after(kPatience);
  const base::LockWait wait(path);
  while (::fcntl(fd.get(), F_OFD_SETLK, &lock) != 0) {
    if (errno != EAGAIN && errno != EACCES && errno != EINTR) {
      return Error::from_errno(errno, str("lock ", base::quote(path)));
    }
    if (patience.passed()) {
      return Error(Code::kBusy, str("ledger: another process writes to the database and does not "
                                    "end; find it with 'fuser ",
                                    ledger, "'"));
    }
    base::sleep_for(kRetry, patience);
  }
  return WritersFence(std::move(fd));
}

}  // namespace hook::ledger
