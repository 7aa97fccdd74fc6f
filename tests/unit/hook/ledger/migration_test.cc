// SPDX-License-Identifier: Apache-2.0
// Databases of earlier versions of the product, and programs of two versions at once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <iterator>
#include <map>

#include "base/fs.h"
#include "base/names.h"
#include "base/text.h"
#include "hook/ledger/check.h"
#include "hook/ledger/internal/schema.h"
#include "tests/support/sql.h"
#include "tests/unit/hook/ledger/ledger_fixture.h"

namespace hook::ledger {
namespace {

using namespace base::names;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;

constexpr auto kNewest = static_cast<int>(kNewestVersion);
// Schemas up to this one were, or are about to be, in a release.
constexpr int kReleased = 4;
// Schema 2 as its first programs had it, which lacks what came before schema 3.
constexpr const char* kFirstOf2 = "2-first";

std::vector<Flaw> flaws_of(const std::string& path) { return check_ledger(path).take(); }

class MigrationTest : public testing::TestWithParam<std::string> {
 protected:
  static std::string data(const char* suffix) {
    return str(TEST_DATA_DIR "/ledger-", GetParam(), suffix);
  }
  // A copy of the database.
  std::string copy() {
    const std::string content = base::read_file(data(".db"), 1 << 26).take();
    const std::string path = dir_ / "state/ledger.db";
    EXPECT_TRUE(test::succeeds(base::ensure_dir(dir_ / "state", 0700)));
    EXPECT_TRUE(test::succeeds(base::write_atomic(path, content, {0600, {}, {}})));
    return path;
  }
  // Each row of each table, as text, in the columns that the schema of PATH has.
  static std::map<std::string, std::string> rows_of(const std::string& path) {
    std::map<std::string, std::string> rows;
    for (const char* table :
         {"lease", "address", "ipu", "partition", "waiter", "event", "usage", "refused", "room"}) {
      rows[table] = base::join(
          test::query_sql(path, str("SELECT name FROM pragma_table_info('", table, "')")), ",");
    }
    std::erase_if(rows,
                  [](const auto& row) { return row.second.empty(); });  // it has no such table
    return rows;
  }
  static std::string content(const std::string& path,
                             const std::map<std::string, std::string>& columns) {
    std::string text;
    for (const auto& [table, names] : columns) {
      std::string quoted;
      for (const std::string_view name : base::split(names, ',')) {
        quoted += str(quoted.empty() ? "" : "||'|'||", "quote(", name, ")");
      }
      for (const std::string& row :
           test::query_sql(path, str("SELECT ", quoted, " FROM ", table, " ORDER BY 1"))) {
        text += str(table, ' ', row, '\n');
      }
    }
    return text;
  }
  test::TempDir dir_;
};

TEST_P(MigrationTest, KeepsEachRow) {
  const std::string path = copy();
  const auto columns = rows_of(path);
  const std::string before = content(path, columns);
  EXPECT_THAT(before, Not(IsEmpty()));
  ASSERT_TRUE(test::succeeds(Ledger::open(path)));
  EXPECT_EQ(content(path, columns), before);
  for (const Flaw& flaw : flaws_of(path)) ADD_FAILURE() << flaw.says;
}

// What was before there were monitors was not measured.
TEST_P(MigrationTest, HasMeasuredNothing) {
  const std::string path = copy();
  ASSERT_TRUE(test::succeeds(Ledger::open(path)));
  EXPECT_THAT(test::query_sql(path, "SELECT day FROM usage WHERE measured <> 0 OR busy <> 0"),
              IsEmpty());
  if (GetParam() < "4") return;
  EXPECT_THAT(test::query_sql(path, "SELECT day FROM usage WHERE held > 0"), Not(IsEmpty()));
  EXPECT_THAT(test::query_sql(path, "SELECT day FROM room"), Not(IsEmpty()));
}

// All addresses were from ranges, and keep their quarantine.
TEST_P(MigrationTest, KeepsTheQuarantineOfAddresses) {
  const std::string path = copy();
  int64_t now = 1'000'000'000'000;
  Ledger ledger = Ledger::open(path, [&] { return now; }).take();
  EXPECT_THAT(test::query_sql(path, "SELECT DISTINCT by_ipu FROM address"), ElementsAre("0"));
  for (Lease lease : ledger.live().take()) {
    if (lease.rails.empty() || lease.attachment != lease.id) continue;
    ASSERT_TRUE(test::succeeds(ledger.begin_release(lease, {1, 1}, "")));
    ASSERT_TRUE(test::succeeds(ledger.finish_release(lease)));
    if (lease.quarantine_until_ms != 0) {
      EXPECT_EQ(lease.quarantine_until_ms, now + 2000);
    }
  }
}

TEST_P(MigrationTest, LeavesLeasesThatCanBeReleased) {
  const std::string path = copy();
  Ledger ledger = Ledger::open(path).take();
  std::vector<Lease> live = ledger.live().take();
  EXPECT_GE(live.size(), 5U);
  for (const Lease& lease : live) {
    Lease now = ledger.find(lease.id).take().value();
    ASSERT_TRUE(test::succeeds(ledger.begin_release(now, {1, 1}, "")));
    ASSERT_TRUE(test::succeeds(ledger.finish_release(now)));
  }
  EXPECT_THAT(ledger.live().take(), IsEmpty());
  for (const Flaw& flaw : flaws_of(path)) ADD_FAILURE() << flaw.says;
}

TEST_P(MigrationTest, IsDoneOnceByProcessesThatBeginTogether) {
  const std::string path = copy();
  std::vector<pid_t> children;
  for (int i = 0; i < 4; ++i) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(Ledger::open(path).ok() ? 0 : 1);
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  EXPECT_THAT(flaws_of(path), IsEmpty());
}

// What programs of that version, which had the database open when it was migrated, go on to do: the
// statements of theirs, as they ran once.
TEST_P(MigrationTest, LetsProgramsOfThatVersionGoOn) {
  const std::string path = copy();
  Ledger ledger = Ledger::open(path).take();
  for (const char* table :
       {"lease", "address", "ipu", "partition", "waiter", "event", "endpoint"}) {
    ASSERT_TRUE(test::succeeds(test::run_sql(path, str("DELETE FROM ", table))));
  }
  const std::string script = base::read_file(data(".sql"), 1 << 24).take();
  ASSERT_TRUE(test::succeeds(test::run_sql(path, script)));
  const std::vector<std::string_view> lines = base::split(script, '\n');
  const auto statements = std::count_if(lines.begin(), lines.end(), [](std::string_view line) {
    return !line.empty() && !line.starts_with("--");
  });
  EXPECT_GT(statements, 100);
  for (const Flaw& flaw : flaws_of(path)) ADD_FAILURE() << flaw.says;
  EXPECT_TRUE(test::succeeds(ledger.live()));
}

std::vector<std::string> databases() {
  std::vector<std::string> names = {kFirstOf2};
  for (int version = 1; version <= kReleased; ++version) names.push_back(std::to_string(version));
  return names;
}

// gtest takes no hyphen in a name.
std::string name_of_database(const testing::TestParamInfo<std::string>& database) {
  return database.param == kFirstOf2 ? "2First" : database.param;
}

INSTANTIATE_TEST_SUITE_P(FromVersion, MigrationTest, testing::ValuesIn(databases()),
                         name_of_database);

// See "Releases" in CONTRIBUTING.md.
TEST(Migrations, HaveADatabaseOfEachReleasedVersion) {
  EXPECT_GE(kReleased, kNewest - 1) << "a schema between two released ones is kept too";
  for (int version = 1; version <= kReleased; ++version) {
    for (const char* suffix : {".db", ".sql"}) {
      EXPECT_TRUE(std::filesystem::exists(str(TEST_DATA_DIR "/ledger-", version, suffix)));
    }
  }
}

class NewerLedger : public LedgerFixture {
 protected:
  void raise(const char* compatible_from) {
    const std::string sql =
        str("ALTER TABLE lease ADD COLUMN later TEXT NOT NULL DEFAULT '';"
            " PRAGMA user_version = ",
            kNewest + 1, "; ", compatible_from);
    ASSERT_TRUE(test::succeeds(test::run_sql(path_, sql)));
  }
};

TEST_F(NewerLedger, IsUsedWhereItIsCompatible) {
  const Lease before = acquire("before");
  raise("");  // compatible from this version on, as this one wrote it
  Ledger ledger = open();
  EXPECT_EQ(ledger.get("before").take().id, before.id);
  EXPECT_TRUE(test::succeeds(ledger.acquire(intent("after"))));
}

TEST_F(NewerLedger, IsRefusedWhereItIsNot) {
  raise("UPDATE meta SET value = '99' WHERE name = 'compatible_from'");
  EXPECT_TRUE(test::fails(Ledger::open(path_), Code::kUnsupported,
                          "written by a newer version of ipu-container-toolkit"));
}

TEST_F(NewerLedger, IsRefusedWhereItDoesNotSay) {
  raise("DELETE FROM meta");
  EXPECT_FALSE(Ledger::open(path_).ok());
}

}  // namespace
}  // namespace hook::ledger
