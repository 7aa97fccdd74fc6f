// SPDX-License-Identifier: Apache-2.0
#include "hook/ledger/sqlite.h"

#include <sys/stat.h>

#include <ctime>

#include "base/text.h"

namespace hook::sqlite {
namespace {

using base::Code;
using base::Error;
using base::Result;
using base::Status;
using base::str;

// The one place where SQLite's codes become ours.
Error sqlite_error(sqlite3* database, std::string_view what) {
  const int primary = sqlite3_extended_errcode(database) & 0xff;
  Code code = Code::kInternal;
  if (primary == SQLITE_BUSY || primary == SQLITE_LOCKED || primary == SQLITE_FULL)
    code = Code::kBusy;
  if (primary == SQLITE_CONSTRAINT) code = Code::kExists;
  if (primary == SQLITE_PERM || primary == SQLITE_READONLY) code = Code::kDenied;
  return Error(code, str("ledger: ", what, ": ", sqlite3_errmsg(database)));
}

// SQLite's own handler waits ever longer, up to 100 ms between two looks: where many processes
// write, those that came last are served first, and some wait until they give up.
int wait_for_writer(void* most_ms, int looks) {
  constexpr int64_t kPauseMs = 1;
  if (looks * kPauseMs >= reinterpret_cast<intptr_t>(most_ms)) return 0;
  const timespec pause{0, kPauseMs * 1'000'000};
  (void)::nanosleep(&pause, nullptr);
  return 1;
}

}  // namespace

Statement& Statement::bind(int64_t value) {
  (void)sqlite3_bind_int64(statement_.get(), next_parameter_++, value);
  return *this;
}

Statement& Statement::bind(std::string_view value) {
  (void)sqlite3_bind_text64(statement_.get(), next_parameter_++, value.data(), value.size(),
                            SQLITE_TRANSIENT, SQLITE_UTF8);
  return *this;
}

Statement& Statement::bind(std::span<const uint8_t> value) {
  (void)sqlite3_bind_blob64(statement_.get(), next_parameter_++, value.data(), value.size(),
                            SQLITE_TRANSIENT);
  return *this;
}

Result<Step> Statement::step() {
  switch (sqlite3_step(statement_.get())) {
    case SQLITE_ROW:
      return Step::kRow;
    case SQLITE_DONE:
      return Step::kDone;
    default:
      return sqlite_error(sqlite3_db_handle(statement_.get()), "run a statement");
  }
}

Status Statement::run() {
  while (TRY(step()) == Step::kRow) continue;
  return {};
}

int64_t Statement::integer(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}

std::string Statement::text(int column) const {
  const void* bytes = sqlite3_column_blob(statement_.get(), column);
  const int length = sqlite3_column_bytes(statement_.get(), column);
  if (bytes == nullptr) return "";
  return std::string(static_cast<const char*>(bytes), static_cast<size_t>(length));
}

std::vector<uint8_t> Statement::blob(int column) const {
  const std::string bytes = text(column);
  return {bytes.begin(), bytes.end()};
}

Result<Database> Database::open(const std::string& path, int busy_ms) {
  const mode_t mask = ::umask(0077);
  sqlite3* raw = nullptr;
  const int rc = sqlite3_open_v2(
      path.c_str(), &raw,
      SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE,
      nullptr);
  (void)::umask(mask);
  Database database(raw);
  if (raw == nullptr) return Error(Code::kInternal, "ledger: out of memory");
  if (rc != SQLITE_OK) return sqlite_error(raw, str("open ", base::quote(path)));
  (void)sqlite3_busy_handler(raw, wait_for_writer,
                             reinterpret_cast<void*>(static_cast<intptr_t>(busy_ms)));
  return database;
}

Result<Statement> Database::prepare(std::string_view sql) {
  sqlite3_stmt* raw = nullptr;
  if (sqlite3_prepare_v2(database_.get(), sql.data(), static_cast<int>(sql.size()), &raw,
                         nullptr) != SQLITE_OK) {
    return sqlite_error(database_.get(), str("prepare '", sql.substr(0, 40), "...'"));
  }
  return Statement(raw);
}

Status Database::execute(const char* sql) {
  if (sqlite3_exec(database_.get(), sql, nullptr, nullptr, nullptr) == SQLITE_OK) return {};
  return sqlite_error(database_.get(), str("execute '", std::string_view(sql).substr(0, 40), "'"));
}

Result<Transaction> Transaction::begin(Database& database) {
  TRY(database.execute("BEGIN IMMEDIATE"));
  return Transaction(&database);
}

Transaction::~Transaction() {
  if (database_ != nullptr) (void)database_->execute("ROLLBACK");
}

Status Transaction::commit() {
  TRY(database_->execute("COMMIT"));
  database_ = nullptr;
  return {};
}

}  // namespace hook::sqlite
