// SPDX-License-Identifier: Apache-2.0
#include "hook/ledger/internal/sqlite.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <ctime>

#include "base/fs.h"
#include "base/log.h"
#include "base/names.h"
#include "base/text.h"

namespace hook::ledger::sqlite {
namespace {

using namespace base::names;

// Returns whether the disk was full, according to SQLite or to the kernel: a full disk under the
// shared-memory file is no SQLITE_FULL.
bool was_full(sqlite3* database, int primary) {
  if (primary == SQLITE_FULL) return true;
  if (primary != SQLITE_IOERR && primary != SQLITE_CANTOPEN) return false;
  const int error = sqlite3_system_errno(database);
  return error == ENOSPC || error == EDQUOT;
}

bool is_short_of_memory(sqlite3* database, int primary) {
  if (primary == SQLITE_NOMEM) return true;
  if (primary != SQLITE_IOERR && primary != SQLITE_CANTOPEN) return false;
  const int error = sqlite3_system_errno(database);
  return error == ENOMEM || error == EMFILE || error == ENFILE;
}

// Returns whether the error means damage. So does a table or column that is missing: it existed
// when the schema's version was written.
bool is_damage(int primary, const std::string& path, std::string_view text) {
  if (primary == SQLITE_CORRUPT || primary == SQLITE_NOTADB || primary == SQLITE_FORMAT)
    return true;
  if (primary == SQLITE_ERROR) {
    return text.starts_with("no such ") || text.ends_with(" already exists");
  }
  struct stat status {};
  return primary == SQLITE_CANTOPEN && ::stat(path.c_str(), &status) == 0 &&
         !S_ISREG(status.st_mode);
}

// The one place that translates SQLite's codes into ours.
Error sqlite_error(sqlite3* database, std::string_view what, std::string path = "") {
  const int primary = sqlite3_extended_errcode(database) & 0xff;
  const char* const name = sqlite3_db_filename(database, "main");
  if (name != nullptr && *name != '\0') path = name;
  if (was_full(database, primary)) {
    return Error::from_errno(ENOSPC,
                             str("ledger: ", base::quote(base::directory_of(path)),
                                 " is full; free at least 1 MiB (running containers continue)"));
  }
  const std::string_view text = sqlite3_errmsg(database);
  if (is_damage(primary, path, text)) return damaged(path, text);
  Code code = Code::kInternal;
  if (primary == SQLITE_BUSY || primary == SQLITE_LOCKED || primary == SQLITE_PROTOCOL ||
      is_short_of_memory(database, primary)) {
    code = Code::kBusy;
  }
  if (primary == SQLITE_CONSTRAINT) code = Code::kExists;
  if (primary == SQLITE_PERM || primary == SQLITE_READONLY) code = Code::kDenied;
  return Error(code, str("ledger: ", what, ": ", text));
}

// SQLite's own handler waits ever longer, up to 100 ms between two attempts. Among many writers it
// favours those that came last, and some wait until they give up. Here each failed wait halves the
// next: a writer that never ends (perhaps this process, whose own lock could not be undone) costs
// at most twice the first wait.
int wait_for_writer(void* argument, int looks) {
  constexpr int kPauseMs = 1;
  constexpr int kMostHalves = 30;
  Patience& patience = *static_cast<Patience*>(argument);
  if (looks * kPauseMs >= patience.most_ms >> patience.in_vain) {
    patience.in_vain = std::min(patience.in_vain + 1, kMostHalves);
    return 0;
  }
  const timespec pause{0, kPauseMs * 1'000'000};
  (void)::nanosleep(&pause, nullptr);
  return 1;
}

// Returns PATH as a file that nobody changes: SQLite then creates nothing beside it.
std::string immutable_uri(const std::string& path) {
  std::string uri = "file:";
  for (const char character : path) {
    const bool is_special = character == '%' || character == '?' || character == '#';
    if (!is_special) uri += character;
    if (character == '%') uri += "%25";
    if (character == '?') uri += "%3f";
    if (character == '#') uri += "%23";
  }
  return uri + "?immutable=1";
}

Status check_not_moved(sqlite3* database) {
  int moved = 0;
  (void)sqlite3_file_control(database, "main", SQLITE_FCNTL_HAS_MOVED, &moved);
  if (moved == 0) return {};
  return Error(Code::kUnavailable, "the ledger was rebuilt meanwhile; try again");
}

}  // namespace

Error damaged(const std::string& path, std::string_view why) {
  return {Code::kInternal, str("the ledger ", base::quote(path), " is damaged (", why,
                               "); run 'ipuctl ledger rebuild', which does not affect running"
                               " containers")};
}

bool is_full(const Error& error) { return error.sys_errno() == ENOSPC; }

sqlite3_stmt* IdleStatements::take(std::string_view sql) {
  const auto found = std::find_if(statements_.begin(), statements_.end(),
                                  [&](const auto& idle) { return sql == sqlite3_sql(idle.get()); });
  if (found == statements_.end()) return nullptr;
  sqlite3_stmt* const statement = found->release();
  statements_.erase(found);
  return statement;
}

void IdleStatements::put(sqlite3_stmt* statement) {
  constexpr size_t kMost = 64;     // more than a process uses
  (void)sqlite3_reset(statement);  // repeats the failure of the last step
  (void)sqlite3_clear_bindings(statement);
  statements_.emplace_back(statement);
  if (statements_.size() > kMost) statements_.erase(statements_.begin());
}

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
  Patience& patience = statement_.get_deleter().idle->patience();
  if (patience.is_over)
    return Error(Code::kBusy, "ledger: other processes hold its locks; try again");
  switch (sqlite3_step(statement_.get())) {
    case SQLITE_ROW:
      return Step::kRow;
    case SQLITE_DONE:
      return Step::kDone;
    case SQLITE_PROTOCOL:
      patience.is_over = true;
      [[fallthrough]];
    default:
      return sqlite_error(sqlite3_db_handle(statement_.get()), "run a statement");
  }
}

Status Statement::run() {
  while (TRY(step()) == Step::kRow) continue;
  return {};
}

std::string Statement::name(int column) const {
  return sqlite3_column_name(statement_.get(), column);
}

Type Statement::type(int column) const {
  switch (sqlite3_column_type(statement_.get(), column)) {
    case SQLITE_INTEGER:
      return Type::kInteger;
    case SQLITE_TEXT:
      return Type::kText;
    case SQLITE_BLOB:
      return Type::kBlob;
    default:
      return Type::kNull;
  }
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

// Has SQLite count no memory, which takes a lock for each piece, and take small pieces from a
// larger store of its own. Does nothing once a database was opened.
void tune() {
  [[maybe_unused]] static const bool is_done = [] {
    constexpr int kPiece = 256;
    constexpr int kPieces = 1000;
    (void)sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
    (void)sqlite3_config(SQLITE_CONFIG_LOOKASIDE, kPiece, kPieces);
    return true;
  }();
}

Result<Database> Database::open(const std::string& path, int busy_ms) {
  tune();
  const mode_t mask = ::umask(0077);
  sqlite3* raw = nullptr;
  const int rc = sqlite3_open_v2(
      path.c_str(), &raw,
      SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE,
      nullptr);
  (void)::umask(mask);
  Database database(raw);
  if (raw == nullptr) return Error(Code::kInternal, "ledger: out of memory");
  if (rc != SQLITE_OK) return sqlite_error(raw, str("open ", base::quote(path)), path);
  database.wait_for_others(busy_ms);
  // Long changes would keep what a rollback of theirs needs in files below /var/tmp.
  TRY(database.execute("PRAGMA temp_store=MEMORY"));
  return database;
}

Result<Database> Database::open_to_read(const std::string& path, int busy_ms) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) {
    return Error::from_errno(errno, str("ledger ", base::quote(path)));
  }
  const bool has_log = ::stat((path + "-wal").c_str(), &status) == 0;
  const std::string name = has_log ? path : immutable_uri(path);
  sqlite3* raw = nullptr;
  const int rc = sqlite3_open_v2(
      name.c_str(), &raw,
      SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE,
      nullptr);
  Database database(raw);
  if (raw == nullptr) return Error(Code::kInternal, "ledger: out of memory");
  if (rc != SQLITE_OK) return sqlite_error(raw, str("open ", base::quote(path)), path);
  database.wait_for_others(busy_ms);
  return database;
}

Result<Database> Database::copy_of(const std::string& path, int busy_ms) {
  sqlite3* raw = nullptr;
  if (sqlite3_open_v2(":memory:", &raw, SQLITE_OPEN_READWRITE | SQLITE_OPEN_EXRESCODE, nullptr) !=
      SQLITE_OK) {
    return Error(Code::kInternal, "ledger: out of memory");
  }
  Database copy(raw);
  Result<Database> source = open_to_read(path, busy_ms);
  if (!source.ok() && source.error().code() == Code::kNotFound) return copy;
  if (!source.ok()) return source.error();
  sqlite3* const file = source.value().handle();
  sqlite3_backup* const backup = sqlite3_backup_init(raw, "main", file, "main");
  if (backup != nullptr) {
    (void)sqlite3_backup_step(backup, -1);
    (void)sqlite3_backup_finish(backup);
  }
  if (sqlite3_errcode(raw) != SQLITE_OK) {
    return sqlite_error(raw, str("read ", base::quote(path)), path);
  }
  return copy;
}

void Database::wait_for_others(int most_ms) {
  patience_->most_ms = most_ms;
  (void)sqlite3_busy_handler(database_.get(), wait_for_writer, patience_.get());
}

Result<Statement> Database::prepare(std::string_view sql) {
  sqlite3_stmt* raw = idle_->take(sql);
  if (raw != nullptr) return Statement(raw, *idle_);
  if (sqlite3_prepare_v2(database_.get(), sql.data(), static_cast<int>(sql.size()), &raw,
                         nullptr) != SQLITE_OK) {
    return sqlite_error(database_.get(), str("prepare '", sql.substr(0, 40), "...'"));
  }
  return Statement(raw, *idle_);
}

Status Database::execute(const char* sql) {
  if (sqlite3_exec(database_.get(), sql, nullptr, nullptr, nullptr) == SQLITE_OK) return {};
  return sqlite_error(database_.get(), str("execute '", std::string_view(sql).substr(0, 40), "'"));
}

void Database::restart_log(const char* change) {
  constexpr int kLong = 16;  // pages
  sqlite3* const database = database_.get();
  const auto checkpoint = [&](int mode) {
    int pages = 0;
    int copied = 0;
    const int code = sqlite3_wal_checkpoint_v2(database, nullptr, mode, &pages, &copied);
    return code == SQLITE_OK && copied == pages && pages >= kLong;
  };
  (void)sqlite3_busy_handler(database, nullptr, nullptr);
  // The first one does the work, and keeps no writer waiting.
  if (checkpoint(SQLITE_CHECKPOINT_PASSIVE) && checkpoint(SQLITE_CHECKPOINT_RESTART))
    (void)execute(change);
  (void)sqlite3_busy_handler(database, wait_for_writer, patience_.get());
}

Result<Transaction> Transaction::begin(Database& database) {
  if (database.refusal_) return *database.refusal_;
  Statement begin = TRY(database.prepare("BEGIN IMMEDIATE"));
  {
    const base::LockWait wait("the ledger");
    TRY(begin.run());
  }
  database.patience_->in_vain = 0;
  Transaction transaction(&database);
  // The lock is needed first: now nobody else can put another file in its place.
  TRY(check_not_moved(database.handle()));
  return transaction;
}

Transaction::~Transaction() {
  if (database_ != nullptr) (void)database_->execute("ROLLBACK");
}

Status Transaction::commit() {
  Statement commit = TRY(database_->prepare("COMMIT"));
  TRY(commit.run());
  database_ = nullptr;
  return {};
}

}  // namespace hook::ledger::sqlite
