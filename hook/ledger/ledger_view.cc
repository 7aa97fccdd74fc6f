// SPDX-License-Identifier: Apache-2.0
// A ledger that is only read.
#include <sys/stat.h>

#include <iterator>

#include "base/names.h"
#include "hook/ledger/internal/schema.h"
#include "hook/ledger/internal/store.h"
#include "hook/ledger/ledger.h"

namespace hook::ledger {
namespace {

using namespace base::names;
using sqlite::Database;
using sqlite::Statement;

constexpr int kReadMs = 5000;  // the longest wait for a writer

// Without a log, a file is read as one that nobody changes: that is for the moment of a copy only.
bool has_log(const std::string& path) {
  struct stat status {};
  return ::stat((path + "-wal").c_str(), &status) == 0;
}

// Returns the schema of DATABASE. From here on, what is read of it is of one moment.
Result<int64_t> begin_to_read(Database& database) {
  TRY(database.execute("BEGIN"));
  Statement version = TRY(database.prepare("PRAGMA user_version"));
  TRY(version.step());
  return version.integer(0);
}

}  // namespace

Result<Ledger> Ledger::open_view(const std::string& path) {
  if (!has_log(path)) return open_copy(path);
  Result<Database> file = Database::open_to_read(path, kReadMs);
  if (!file.ok() && file.error().code() == Code::kNotFound) return open_copy(path);
  if (!file.ok()) return file.error();
  Ledger ledger(std::make_unique<Store>(Store{std::move(file).take()}));
  const int64_t version = TRY(begin_to_read(ledger.store_->database));
  if (version != kNewestVersion) return open_copy(path);
  return ledger;
}

}  // namespace hook::ledger
