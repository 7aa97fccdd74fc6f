// SPDX-License-Identifier: Apache-2.0
#include "hook/ledger/internal/reserve.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/fs.h"
#include "base/names.h"
#include "base/text.h"
#include "hook/ledger/internal/store.h"

namespace hook::ledger {
namespace {

using namespace base::names;
using base::Fd;

bool is_kept(const struct stat& status) {
  constexpr int64_t kBlock = 512;  // stat(2)
  return status.st_size >= kReserveBytes && status.st_blocks * kBlock >= kReserveBytes;
}

// Frees the log's space after copying it into the database. If the database has to grow and there
// is no room, this fails and loses nothing.
void shorten_log(Store& store) { (void)store.database.execute("PRAGMA wal_checkpoint(TRUNCATE)"); }

}  // namespace

std::string reserve_file(const std::string& ledger) {
  return base::directory_of(ledger) + "/reserve";
}

Status ensure_reserve(const std::string& ledger) {
  const std::string path = reserve_file(ledger);
  struct stat status {};
  if (::lstat(path.c_str(), &status) == 0 && is_kept(status)) return {};
  const Fd file = TRY(base::open_at(AT_FDCWD, path, O_WRONLY | O_CREAT | O_NOFOLLOW, 0600));
  const int error = ::posix_fallocate(file.get(), 0, kReserveBytes);
  if (error == 0) return {};
  (void)!::ftruncate(file.get(), 0);
  return Error::from_errno(error,
                           str("ledger: ", base::quote(base::directory_of(path)),
                               " is full; free at least 1 MiB (running containers continue)"));
}

GivenUp give_up_reserve(const std::string& ledger) {
  const std::string path = reserve_file(ledger);
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0 || status.st_blocks == 0) return GivenUp::kWasNot;
  // Not truncate(2), which confined programs may not call.
  const Result<Fd> emptied = base::open_at(AT_FDCWD, path, O_WRONLY | O_TRUNC | O_NOFOLLOW);
  return emptied.ok() ? GivenUp::kYes : GivenUp::kWasNot;
}

bool has_had_reserve(const std::string& ledger) {
  struct stat status {};
  return ::lstat(reserve_file(ledger).c_str(), &status) == 0;
}

Status with_reserve(Store& store, const std::function<Status()>& change) {
  Status done = change();
  if (done.ok() || !sqlite::is_full(done.error())) return done;
  shorten_log(store);
  done = change();
  if (done.ok() || !sqlite::is_full(done.error())) return done;
  if (give_up_reserve(store.database.path()) == GivenUp::kWasNot) return done;
  shorten_log(store);
  return change();
}

}  // namespace hook::ledger
