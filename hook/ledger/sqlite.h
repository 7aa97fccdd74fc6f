// SPDX-License-Identifier: Apache-2.0
// The few things that the ledger needs of SQLite, with owners and Result. Only hook/ledger includes
// it.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace hook::sqlite {

struct CloseDatabase {
  void operator()(sqlite3* database) const { (void)sqlite3_close_v2(database); }
};
struct FinalizeStatement {
  void operator()(sqlite3_stmt* statement) const { (void)sqlite3_finalize(statement); }
};

enum class Step { kRow, kDone };

// One prepared statement, with its parameters bound from left to right.
class Statement {
 public:
  Statement& bind(int64_t value);
  Statement& bind(std::string_view value);
  Statement& bind(std::span<const uint8_t> value);  // as BLOB

  base::Result<Step> step();
  base::Status run();  // step to the end, ignoring rows

  [[nodiscard]] int64_t integer(int column) const;
  [[nodiscard]] std::string text(int column) const;
  [[nodiscard]] std::vector<uint8_t> blob(int column) const;

 private:
  friend class Database;
  explicit Statement(sqlite3_stmt* statement) : statement_(statement) {}
  std::unique_ptr<sqlite3_stmt, FinalizeStatement> statement_;
  int next_parameter_ = 1;
};

class Database {
 public:
  // The database at PATH, made with mode 0600 if absent. Waits up to BUSY_MS for other writers.
  static base::Result<Database> open(const std::string& path, int busy_ms);

  base::Result<Statement> prepare(std::string_view sql);
  base::Status execute(const char* sql);  // one or more statements without parameters
  [[nodiscard]] int64_t changes() const { return sqlite3_changes64(database_.get()); }
  [[nodiscard]] sqlite3* handle() const { return database_.get(); }

 private:
  explicit Database(sqlite3* database) : database_(database) {}
  std::unique_ptr<sqlite3, CloseDatabase> database_;
};

// BEGIN IMMEDIATE: the writer's lock is held from here. Rolled back unless committed.
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

}  // namespace hook::sqlite
