// SPDX-License-Identifier: Apache-2.0
// The parts of SQLite that the ledger needs, with owner types and Result. Only hook/ledger includes
// this header.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace hook::ledger::sqlite {

struct CloseDatabase {
  void operator()(sqlite3* database) const { (void)sqlite3_close_v2(database); }
};
struct FinalizeStatement {
  void operator()(sqlite3_stmt* statement) const { (void)sqlite3_finalize(statement); }
};

enum class Step { kRow, kDone };
enum class Type { kNull, kInteger, kText, kBlob };

// How long a connection waits for locks.
struct Patience {
  int most_ms = 0;
  int in_vain = 0;       // failed waits for other writers since the last transaction that began
  bool is_over = false;  // SQLite gave up on a lock, perhaps its own; each retry would take 10 s
};

// Prepared statements that are not in use, kept for the next use of the same SQL. Without them,
// parsing would take most of the time of a change.
class IdleStatements {
 public:
  explicit IdleStatements(Patience& patience) : patience_(patience) {}
  Patience& patience() { return patience_; }
  // Returns the statement for SQL; null if there is none.
  sqlite3_stmt* take(std::string_view sql);
  void put(sqlite3_stmt* statement);

 private:
  Patience& patience_;
  std::vector<std::unique_ptr<sqlite3_stmt, FinalizeStatement>> statements_;
};

struct ReturnStatement {
  IdleStatements* idle = nullptr;
  void operator()(sqlite3_stmt* statement) const { idle->put(statement); }
};

// One prepared statement. bind() sets its parameters from left to right.
class Statement {
 public:
  Statement& bind(int64_t value);
  Statement& bind(std::string_view value);
  Statement& bind(std::span<const uint8_t> value);  // as BLOB

  base::Result<Step> step();
  base::Status run();  // step to the end, ignoring rows

  [[nodiscard]] int columns() const { return sqlite3_column_count(statement_.get()); }
  [[nodiscard]] std::string name(int column) const;
  [[nodiscard]] Type type(int column) const;
  [[nodiscard]] int64_t integer(int column) const;
  [[nodiscard]] std::string text(int column) const;
  [[nodiscard]] std::vector<uint8_t> blob(int column) const;

 private:
  friend class Database;
  Statement(sqlite3_stmt* statement, IdleStatements& idle)
      : statement_(statement, ReturnStatement{&idle}) {}
  std::unique_ptr<sqlite3_stmt, ReturnStatement> statement_;
  int next_parameter_ = 1;
};

class Database {
 public:
  // Opens the database at PATH; creates it with mode 0600 if absent. Waits up to BUSY_MS for other
  // writers, and half as long after each failed wait. Once SQLite has given up on a lock for
  // reading, the connection stays unusable. The codes from kNotFound to kBusy do not mean damage; a
  // damaged database is kInternal, with what to do.
  static base::Result<Database> open(const std::string& path, int busy_ms);
  // Does the same only to read: neither creates nor changes the database. Fails with kNotFound if
  // there is none. Without a log beside it, no other process may change the file meanwhile.
  static base::Result<Database> open_to_read(const std::string& path, int busy_ms);

  // Returns a database in memory with what the one at PATH holds; empty if that is absent.
  static base::Result<Database> copy_of(const std::string& path, int busy_ms);

  Database(Database&&) = default;
  Database& operator=(Database&&) = delete;  // or the old connection would outlive its patience
  base::Result<Statement> prepare(std::string_view sql);
  base::Status execute(const char* sql);  // one or more statements without parameters
  // Lets no transaction begin from now on; begin() fails with WHY, until it is absent.
  void refuse_changes(std::optional<base::Error> why) { refusal_ = std::move(why); }
  // Copies the log into the database and starts it anew with CHANGE, a statement that changes
  // nothing, if the log is long and nobody else is at work. Waits for no one; does nothing else.
  void restart_log(const char* change);
  [[nodiscard]] int64_t changes() const { return sqlite3_changes64(database_.get()); }
  [[nodiscard]] sqlite3* handle() const { return database_.get(); }
  [[nodiscard]] std::string path() const { return sqlite3_db_filename(handle(), "main"); }

 private:
  friend class Transaction;
  explicit Database(sqlite3* database) : database_(database) {}
  void wait_for_others(int most_ms);
  std::optional<base::Error> refusal_ = {};
  std::unique_ptr<Patience> patience_ = std::make_unique<Patience>();  // outlives the connection
  std::unique_ptr<sqlite3, CloseDatabase> database_;
  std::unique_ptr<IdleStatements> idle_ = std::make_unique<IdleStatements>(*patience_);
};

// Returns the error for a database at PATH that is unusable, with what to do.
[[nodiscard]] base::Error damaged(const std::string& path, std::string_view why);

// Returns whether ERROR was caused by a full disk.
[[nodiscard]] bool is_full(const base::Error& error);

// A transaction that holds the writer's lock from its beginning (BEGIN IMMEDIATE). It rolls back
// unless committed. begin() fails with kUnavailable if the file at the path is another one, because
// the ledger was replaced.
class Transaction {
 public:
  static base::Result<Transaction> begin(Database& database);
  Transaction(Transaction&& other) noexcept : database_(std::exchange(other.database_, nullptr)) {}
  Transaction& operator=(Transaction&&) = delete;
  ~Transaction();
  base::Status commit();

 private:
  explicit Transaction(Database* database) : database_(database) {}
  Database* database_;
};

}  // namespace hook::ledger::sqlite
