// SPDX-License-Identifier: Apache-2.0
#include "tests/support/sql.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>

#include "base/fd.h"
#include "base/fs.h"
#include "base/text.h"
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

base::Status zero_root(const std::string& path, const std::string& table) {
  TRY(run_sql(path, "PRAGMA wal_checkpoint(TRUNCATE)"));  // so that all is in this one file
  const auto number = [&](const std::string& sql) {
    const std::vector<std::string> values = query_sql(path, sql);
    return base::parse_int<off_t>(values.empty() ? "" : values.front(), 1, 1 << 20);
  };
  const off_t size = TRY(number("PRAGMA page_size"));
  const off_t page =
      TRY(number(base::str("SELECT rootpage FROM sqlite_schema WHERE name = '", table, "'")));
  const base::Fd file = TRY(base::open_at(AT_FDCWD, path, O_WRONLY));
  const std::string zeros(static_cast<size_t>(size), '\0');
  if (::pwrite(file.get(), zeros.data(), zeros.size(), (page - 1) * size) == size) return {};
  return base::Error::from_errno(errno, base::str("write ", path));
}

}  // namespace test
