// SPDX-License-Identifier: Apache-2.0
#include "tests/support/sql.h"

#include <gtest/gtest.h>

#include "hook/ledger/internal/sqlite.h"

namespace test {

using namespace hook::ledger;

base::Status run_sql(const std::string& path, const std::string& sql) {
  sqlite::Database database = TRY(sqlite::Database::open(path, 1000));
  return database.execute(sql.c_str());
}

std::vector<std::string> query_sql(const std::string& path, std::string_view sql) {
  std::vector<std::string> values;
  const auto read = [&]() -> base::Status {
    sqlite::Database database = TRY(sqlite::Database::open(path, 1000));
    sqlite::Statement row = TRY(database.prepare(sql));
    while (TRY(row.step()) == sqlite::Step::kRow) values.push_back(row.text(0));
    return {};
  };
  const base::Status done = read();
  EXPECT_TRUE(done.ok()) << (done.ok() ? "" : done.error().message());
  return values;
}

}  // namespace test
