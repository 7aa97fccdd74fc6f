// SPDX-License-Identifier: Apache-2.0
#include "hook/ledger/internal/sqlite.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <chrono>

#include "base/fs.h"
#include "tests/support/outcome.h"
#include "tests/support/temp_dir.h"

namespace hook::ledger::sqlite {
namespace {

using base::Code;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr int kPatienceMs = 200;

milliseconds wait_in_vain(Database& database) {
  const auto start = steady_clock::now();
  EXPECT_TRUE(test::fails(Transaction::begin(database), Code::kBusy, "is locked"));
  return std::chrono::duration_cast<milliseconds>(steady_clock::now() - start);
}

TEST(SqliteTest, AWriterThatDoesNotEndCostsTwiceTheFirstWaitAndNoMore) {
  const test::TempDir scratch;
  const std::string path = scratch / "db";
  Database writer = Database::open(path, 0).take();
  Database waiter = Database::open(path, kPatienceMs).take();
  ASSERT_TRUE(waiter.execute("PRAGMA journal_mode = WAL").ok());
  {
    const Transaction held = Transaction::begin(writer).take();
    EXPECT_GE(wait_in_vain(waiter).count(), kPatienceMs);
    milliseconds rest{0};
    for (int i = 0; i < 40; ++i) rest += wait_in_vain(waiter);
    EXPECT_LT(rest.count(), 10 * kPatienceMs);  // 8000 ms, each as long as the first
  }
  // Who got in once waits as before.
  EXPECT_TRUE(Transaction::begin(waiter).ok());
  const Transaction held = Transaction::begin(writer).take();
  EXPECT_GE(wait_in_vain(waiter).count(), kPatienceMs);
}

// SQLite gives up after 10 s; what comes after that in the same process must not take as long
// again.
TEST(SqliteTest, AConnectionThatCouldNotReadForItsLocksIsOfNoUseAnyMore) {
  const test::TempDir scratch;
  const std::string path = scratch / "db";
  Database reader = Database::open(path, 0).take();
  ASSERT_TRUE(reader.execute("PRAGMA journal_mode = WAL; CREATE TABLE t(n)").ok());
  const auto read = [&] { return reader.prepare("SELECT n FROM t").take().run(); };
  ASSERT_TRUE(test::succeeds(read()));
  {
    const base::Fd shared = base::open_at(AT_FDCWD, path + "-shm", O_RDWR).take();
    struct flock all {};  // "WAL-Index File Locking" of SQLite's file format
    all.l_type = F_WRLCK;
    all.l_start = 120;
    all.l_len = 8;
    ASSERT_EQ(::fcntl(shared.get(), F_OFD_SETLK, &all), 0);
    EXPECT_TRUE(test::fails(read(), Code::kBusy, "locking protocol"));
  }
  EXPECT_TRUE(test::fails(read(), Code::kBusy, "other processes hold its locks"));
  EXPECT_TRUE(
      test::fails(Transaction::begin(reader), Code::kBusy, "other processes hold its locks"));
}

}  // namespace
}  // namespace hook::ledger::sqlite
