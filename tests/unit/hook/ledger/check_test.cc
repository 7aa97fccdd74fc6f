// SPDX-License-Identifier: Apache-2.0
#include "hook/ledger/check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/fs.h"
#include "base/text.h"
#include "tests/support/sql.h"
#include "tests/unit/hook/ledger/ledger_fixture.h"

namespace hook::ledger {
namespace {

using base::Code;
using testing::HasSubstr;

class CheckTest : public LedgerFixture {
 protected:
  void SetUp() override {
    Lease lease = allocate("web");
    ASSERT_TRUE(test::succeeds(ledger_.begin_attach(lease, releaser_, {{4, 11, 12}, 3, 13})));
    ASSERT_TRUE(test::succeeds(ledger_.mark_running(lease, {4213, 101})));
  }
  std::vector<Flaw> flaws() { return check_ledger(path_).take(); }
  void damage(const char* sql) { ASSERT_TRUE(test::succeeds(test::run_sql(path_, sql))); }
  // The whole ledger is in the database file, and nobody has it open.
  void close() {
    damage("PRAGMA wal_checkpoint(TRUNCATE)");
    { const Ledger closed = std::move(ledger_); }
    for (const char* suffix : {"-wal", "-shm"}) {
      ASSERT_TRUE(test::succeeds(base::remove_file(path_ + suffix)));
    }
  }
  void rewrite(const std::function<void(std::string&)>& edit) {
    std::string content = base::read_file(path_, 1 << 26).take();
    edit(content);
    ASSERT_TRUE(test::succeeds(base::write_atomic(path_, content, {0600, {}, {}})));
  }
};

TEST_F(CheckTest, FindsNothingInALedgerThatIsWhole) { EXPECT_TRUE(flaws().empty()); }

TEST_F(CheckTest, FindsNothingAfterARelease) {
  release(ledger_.get("web").take());
  EXPECT_TRUE(flaws().empty());
}

TEST_F(CheckTest, NeitherMakesNorChangesWhatItLooksAt) {
  EXPECT_TRUE(test::fails(check_ledger(dir_ / "state/other.db"), Code::kNotFound));
  close();
  EXPECT_TRUE(check_ledger(path_).take().empty());
  EXPECT_FALSE(std::filesystem::exists(dir_ / "state/other.db"));
  EXPECT_FALSE(std::filesystem::exists(path_ + "-wal"));
  EXPECT_FALSE(std::filesystem::exists(path_ + "-shm"));
}

TEST_F(CheckTest, TellsTheSchemaAlsoOfAnotherRelease) {
  damage("PRAGMA user_version = 77");
  EXPECT_EQ(schema_of(path_).take(), 77);
  EXPECT_TRUE(test::fails(schema_of(dir_ / "state/other.db"), Code::kNotFound));
  EXPECT_FALSE(std::filesystem::exists(dir_ / "state/other.db"));
}

// Each damage and what is said of it.
TEST_F(CheckTest, SaysWhatCannotBe) {
  const struct {
    const char* sql;
    const char* says;
  } kCases[] = {
      {"UPDATE lease SET state = 'SLEEPING'", "unknown lease state 'SLEEPING'"},
      {"UPDATE lease SET origin = 'THEIRS'", "unknown origin 'THEIRS'"},
      {"UPDATE lease SET generation = 0", "its generation is not possible"},
      {"UPDATE lease SET id = 'x'", "the id is not valid"},
      {"UPDATE lease SET netns_cookie = 0", "has no network namespace"},
      {"UPDATE lease SET owner_pid = 0", "has no owner process"},
      {"UPDATE lease SET origin = 'JOINED'", "it joined a partition that no live lease holds"},
      {"UPDATE lease SET gcds = 0", "its number of GCDs is not possible"},
      {"UPDATE lease SET ipus = 3", "it does not hold the IPUs that it was granted"},
      {"UPDATE lease SET prohibited = 'x'", "lease "},
      {"DELETE FROM address", "holds no address for them"},
      {"UPDATE address SET lease = 'x'", "it is held, but not by a live lease"},
      {"UPDATE address SET mac = 'x'", "lease "},
      {"DELETE FROM meta", "the oldest schema whose programs may write"},
      {"INSERT INTO ipu VALUES('pod64', x'0a050101', 0, 1, 2, 'x', 0)",
       "IPU 0A050101 0: it is held, but not by a live lease"},
      {"INSERT INTO partition VALUES('pod64', 'p', '', 'NAMED', 'READY', 4, 3, 0, 0, 0, '', 0, 0,"
       " 0, '', 0, 0, 0, '', 0, '', -1, '', '')",
       "its number of GCDs or IPUs is not possible"},
      {"INSERT INTO partition VALUES('pod64', 'p', '', 'LENT', 'READY', 4, 1, 0, 0, 0, '', 0, 0,"
       " 0, '', 0, 0, 0, '', 0, '', -1, '', '')",
       "unknown kind of partition 'LENT'"},
      {"INSERT INTO partition VALUES('pod64', 'p', '', 'NAMED', 'READY', 4, 1, 0, 0, 0, 'x', 0, 0,"
       " 0, '', 0, 0, 0, '', 0, '', -1, '', '')",
       "the lease that resets it is not live"},
      {"DROP INDEX lease_live; DROP TRIGGER lease_gcds_inserted; INSERT INTO lease SELECT "
       "'ffffffffffffffffffffffffffffffff',"
       " container, bundle, tenant, pool, controller, partition, gcd, origin, 0, 'INTENT', 0, 1, 1,"
       " 1, boot_id, 0, 0, 0, -1, 0, '', '', '', '', 0, 0, '', '', 0, 0, 0, 1, 0, 0, 0, -1, '', '' "
       "FROM "
       "lease",
       "another live lease holds its partition too"},
      {"DROP TRIGGER lease_gcds_inserted; UPDATE lease SET gcd = 1; INSERT INTO lease SELECT"
       " 'ffffffffffffffffffffffffffffffff',"
       " container, bundle, tenant, pool, controller, partition, 0, origin, 0, 'INTENT', 0, 1, 1,"
       " 1, boot_id, 0, 0, 0, -1, 0, '', '', '', '', 0, 0, '', '', 0, 0, 0, 2, 0, 0, 0, -1, '', '' "
       "FROM "
       "lease",
       "another live lease holds its partition too"},
  };
  const std::string whole = base::read_file(path_, 1 << 26).take();
  for (const auto& damage_case : kCases) {
    close();
    const std::string before = base::read_file(path_, 1 << 26).take();
    damage(damage_case.sql);
    bool found = false;
    for (const Flaw& flaw : flaws()) {
      found = found || flaw.says.find(damage_case.says) != std::string::npos;
      EXPECT_EQ(flaw.gravity, Gravity::kError);
    }
    EXPECT_TRUE(found) << damage_case.sql;
    rewrite([&](std::string& content) { content = before; });
    for (const char* suffix : {"-wal", "-shm"}) (void)base::remove_file(path_ + suffix);
    ledger_ = open();
  }
}

TEST_F(CheckTest, LeavesAnOlderSchemaToWhoOpensIt) {
  damage("PRAGMA user_version = 1");
  ASSERT_EQ(flaws().size(), 1U);
  EXPECT_EQ(flaws()[0].gravity, Gravity::kNote);
  EXPECT_THAT(flaws()[0].says, HasSubstr("schema 1"));
}

using DamageTest = CheckTest;

// Opening it, and the first thing that is asked of it.
void expect_damage(const std::string& path, const char* why) {
  base::Status used;
  base::Result<Ledger> ledger = Ledger::open(path);
  if (!ledger.ok()) {
    used = ledger.error();
  } else {
    const auto live = ledger.value().live();
    if (!live.ok()) used = live.error();
  }
  EXPECT_TRUE(test::fails(used, Code::kInternal, "is damaged"));
  EXPECT_TRUE(test::fails(used, Code::kInternal, "run 'ipuctl ledger rebuild'"));
  EXPECT_TRUE(test::fails(used, Code::kInternal, why));
}

TEST_F(DamageTest, IsSeenWhereTheFileIsNone) {
  close();
  rewrite([](std::string& content) { content.replace(0, 100, 100, 'x'); });
  expect_damage(path_, "file is not a database");
  EXPECT_THAT(flaws().at(0).says, HasSubstr("is damaged"));
}

TEST_F(DamageTest, IsSeenWhereTheFileIsShort) {
  close();
  rewrite([](std::string& content) { content.resize(3 * 4096); });
  expect_damage(path_, "malformed");
  EXPECT_FALSE(flaws().empty());
}

TEST_F(DamageTest, IsSeenWhereTheFileIsEmpty) {
  close();
  rewrite([](std::string& content) { content.clear(); });
  expect_damage(path_, "it has become empty");
  EXPECT_TRUE(test::fails(Ledger::open_copy(path_), Code::kInternal, "it has become empty"));
}

TEST_F(DamageTest, IsSeenWhereTheFileHasGone) {
  close();
  ASSERT_TRUE(test::succeeds(base::remove_file(path_)));
  expect_damage(path_, "it is gone");
  EXPECT_TRUE(test::fails(Ledger::open_copy(path_), Code::kInternal, "it is gone"));
}

// The whole state directory may be lost, while containers of this boot hold IPUs.
TEST_F(DamageTest, IsSeenByTheFilesOfLeasesWhereNothingIsLeft) {
  const std::string fresh = dir_ / "fresh/ledger.db";
  const std::string run_dir = dir_ / "run";
  ASSERT_TRUE(test::succeeds(Ledger::open_of_host(fresh, run_dir)));
  std::filesystem::remove_all(dir_ / "fresh");
  ASSERT_TRUE(test::succeeds(base::ensure_dir(run_dir, 0711)));
  ASSERT_TRUE(test::succeeds(base::ensure_dir(run_dir + "/leases", 0711)));
  ASSERT_TRUE(test::succeeds(Ledger::open_of_host(fresh, run_dir)));
  std::filesystem::remove_all(dir_ / "fresh");
  ASSERT_TRUE(test::succeeds(base::ensure_dir(run_dir + "/leases/of-a-lease", 0711)));
  EXPECT_TRUE(test::fails(Ledger::open_of_host(fresh, run_dir), Code::kInternal,
                          "(it is gone); run 'ipuctl ledger rebuild'"));
  EXPECT_FALSE(std::filesystem::exists(fresh));
  EXPECT_TRUE(test::succeeds(Ledger::open(fresh)));
  EXPECT_TRUE(test::succeeds(Ledger::open_of_host(fresh, run_dir)));
}

TEST_F(DamageTest, IsSeenWhereADirectoryIsInItsPlace) {
  close();
  ASSERT_TRUE(test::succeeds(base::remove_file(path_)));
  ASSERT_TRUE(test::succeeds(base::ensure_dir(path_, 0700)));
  expect_damage(path_, "unable to open");
}

TEST_F(DamageTest, IsSeenInTheSchema) {
  close();
  rewrite([](std::string& content) {
    for (size_t at = content.find("CREATE TABLE lease"); at != std::string::npos;
         at = content.find("CREATE TABLE lease", at + 1)) {
      content.replace(at, 6, "CRXATE");
    }
  });
  expect_damage(path_, "malformed");
}

// A page that nobody reads by opening the ledger.
TEST_F(DamageTest, IsFoundByTheCheckInEachPage) {
  close();
  const std::string whole = base::read_file(path_, 1 << 26).take();
  size_t found = 0;
  for (size_t page = 0; page < whole.size() / 4096; ++page) {
    rewrite([&](std::string& content) {
      content = whole;
      content.replace(page * 4096, 16, 16, '\xa5');
    });
    if (!flaws().empty()) ++found;
  }
  EXPECT_EQ(found, whole.size() / 4096);
}

TEST_F(DamageTest, IsNoneWhereOnlyTheSharedFileHasGone) {
  { const Ledger closed = std::move(ledger_); }
  ASSERT_TRUE(test::succeeds(base::remove_file(path_ + "-shm")));
  ledger_ = open();
  EXPECT_EQ(ledger_.live().take().size(), 1U);
  EXPECT_TRUE(flaws().empty());
}

TEST_F(DamageTest, OfTheLogLosesChangesAndNothingElse) {
  { const Ledger closed = std::move(ledger_); }
  std::string log = base::read_file(path_ + "-wal", 1 << 26).take();
  log.replace(log.size() - 4000, 8, 8, '\xa5');  // in the last commit
  ASSERT_TRUE(test::succeeds(base::write_atomic(path_ + "-wal", log, {0600, {}, {}})));
  ASSERT_TRUE(test::succeeds(base::remove_file(path_ + "-shm")));
  ledger_ = open();
  EXPECT_EQ(ledger_.get("web").take().state, LeaseState::kAllocated);
  EXPECT_TRUE(flaws().empty());
}

}  // namespace
}  // namespace hook::ledger
