// SPDX-License-Identifier: Apache-2.0
#include "tests/fault/ledger_edit.h"

#include <sqlite3.h>

#include <filesystem>
#include <memory>

#include "base/names.h"
#include "base/text.h"

namespace fault {

using namespace base::names;

namespace {

using Database = std::unique_ptr<sqlite3, int (*)(sqlite3*)>;

// Leaves the log as it is when it is closed, as the product does.
Result<Database> open(const std::string& path) {
  sqlite3* raw = nullptr;
  const int opened = sqlite3_open_v2(path.c_str(), &raw, SQLITE_OPEN_READWRITE, nullptr);
  Database database(raw, sqlite3_close);
  if (opened != SQLITE_OK) return Error(Code::kInternal, "open the ledger to change it");
  int persist = 1;
  (void)sqlite3_file_control(raw, "main", SQLITE_FCNTL_PERSIST_WAL, &persist);
  (void)sqlite3_db_config(raw, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  (void)sqlite3_wal_autocheckpoint(raw, 0);
  return database;
}

Status execute(const Database& database, const std::string& sql) {
  if (sqlite3_exec(database.get(), sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK) return {};
  return Error(Code::kInternal, str("change the ledger: ", sqlite3_errmsg(database.get())));
}

}  // namespace

Status fill_log(const std::string& state_dir) {
  // At 250 pages the product's connections copy; a page has 4096 bytes and a header of 24.
  constexpr uintmax_t kEnough = uintmax_t{249} * (4096 + 24);
  const std::string path = str(state_dir, "/ledger.db");
  const Database database = TRY(open(path));
  for (int i = 0; i < 1000; ++i) {
    if (std::filesystem::file_size(path + "-wal") >= kEnough) return {};
    // Twice, so that all is as before; SQLite writes no page that does not change.
    for (int sign = 0; sign < 2; ++sign) {
      TRY(execute(database, "UPDATE lease SET changed_ms = -changed_ms"));
    }
  }
  return Error(Code::kInternal, "the ledger's log does not grow");
}

Status move_ipus(const std::string& state_dir, const std::string& container) {
  const Database database = TRY(open(str(state_dir, "/ledger.db")));
  return execute(database,
                 str("UPDATE ipu SET device = device + ", kElsewhere,
                     " WHERE lease IN (SELECT id FROM lease WHERE container = '", container, "')"));
}

}  // namespace fault
