// SPDX-License-Identifier: Apache-2.0
#include "hook/ledger/audit_log.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/fs.h"
#include "base/json.h"
#include "base/text.h"
#include "hook/ledger/audit_verify.h"
#include "hook/ledger/internal/reserve.h"
#include "tests/unit/hook/ledger/ledger_fixture.h"

namespace hook::ledger {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class AuditLogTest : public LedgerFixture {
 protected:
  std::string text() { return base::read_file(log_, 1 << 24).take(); }
  std::vector<std::string> lines() {
    std::vector<std::string> found;
    const std::string all = text();
    for (const std::string_view line : base::split(all, '\n')) found.emplace_back(line);
    EXPECT_EQ(found.back(), "") << "the last line has its newline";
    found.pop_back();
    return found;
  }
  void write(const std::vector<std::string>& lines, const std::string& end = "") {
    std::ofstream out(log_, std::ios::binary);
    for (const std::string& line : lines) out << line << '\n';
    out << end;
  }
  void add_leases(int count) {
    for (int i = 0; i < count; ++i) release(acquire(base::str("container", i)));
  }
  AuditReport report() {
    const AuditMark mark = ledger_.events().audit_mark().take();
    return verify_audit(audit_files(log_), mark).take();
  }
  testing::AssertionResult is_good(int64_t lines) {
    const AuditReport found = report();
    if (found.fault) return testing::AssertionFailure() << found.fault->reason;
    return found.lines == lines ? testing::AssertionSuccess()
                                : testing::AssertionFailure() << found.lines << " lines";
  }
  // "LINE: REASON" of the first line that does not fit.
  std::string fault() {
    const AuditReport found = report();
    return found.fault ? base::str(found.fault->line, ": ", found.fault->reason) : "none";
  }
  // As logrotate does.
  void rotate() { std::filesystem::rename(log_, log_ + ".1"); }

  const std::string log_ = dir_ / "state/audit.log";
};

TEST_F(AuditLogTest, HashIsSha256) {
  EXPECT_EQ(audit_hash("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST_F(AuditLogTest, HasALineForEachChangeWithTheHashOfTheOneBefore) {
  const Lease lease = allocate("web");
  const std::vector<std::string> found = lines();
  ASSERT_EQ(found.size(), 2U);
  const base::Json first = base::parse_json(found[0], "line").take();
  const base::Json second = base::parse_json(found[1], "line").take();
  EXPECT_EQ(first["previous"], std::string(64, '0'));
  EXPECT_EQ(second["previous"], audit_hash(found[0]));
  EXPECT_EQ(second["number"], 2);
  EXPECT_EQ(second["time"], "2001-09-09T01:46:40.000Z");
  EXPECT_EQ(second["event"], "ALLOCATED");
  EXPECT_EQ(second["lease"], lease.id);
  EXPECT_EQ(second["container"], "web");
  EXPECT_EQ(second["tenant"], "team-a");
  EXPECT_EQ(second["addresses"], base::Json::array({"10.5.200.10"}));
  EXPECT_EQ(second["uid"], ::getuid());
  EXPECT_TRUE(second.contains("loginuid"));
  EXPECT_TRUE(is_good(2));
}

TEST_F(AuditLogTest, IsForRootAlone) {
  add_leases(1);
  struct stat status {};
  ASSERT_EQ(::stat(log_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777U, 0600U);
}

TEST_F(AuditLogTest, LeavesOutWhatIsNoChange) {
  Lease lease = acquire();
  ledger_.note(lease.id, EventKind::kKernel, "roce0: there");
  ledger_.note(lease.id, EventKind::kError, "what the user saw");
  ASSERT_TRUE(test::succeeds(ledger_.begin_release(lease, releaser_, "")));
  EXPECT_THAT(text(), Not(HasSubstr("KERNEL")));
  EXPECT_THAT(text(), HasSubstr("what the user saw"));
  ASSERT_TRUE(test::succeeds(ledger_.events().record("gc released 1 leases")));
  EXPECT_THAT(lines().back(), HasSubstr("\"kind\":\"NOTE\",\"event\":\"gc released 1 leases\""));
  EXPECT_TRUE(is_good(4));
}

TEST_F(AuditLogTest, TellsAChangedByte) {
  add_leases(3);
  std::vector<std::string> changed = lines();
  const size_t at = changed[4].find("container1");
  changed[4][at + 9] = '7';
  write(changed);
  EXPECT_THAT(fault(), HasSubstr("6: its \"previous\" is"));
}

TEST_F(AuditLogTest, TellsARemovedLine) {
  add_leases(3);
  std::vector<std::string> changed = lines();
  changed.erase(changed.begin() + 3);
  write(changed);
  EXPECT_THAT(fault(), HasSubstr("4: its \"previous\" is"));
}

TEST_F(AuditLogTest, TellsSwappedLines) {
  add_leases(3);
  std::vector<std::string> changed = lines();
  std::swap(changed[2], changed[3]);
  write(changed);
  EXPECT_THAT(fault(), HasSubstr("3: its \"previous\" is"));
}

TEST_F(AuditLogTest, TellsALineThatIsNone) {
  add_leases(2);
  std::vector<std::string> changed = lines();
  changed[1] = "nothing";
  write(changed);
  EXPECT_THAT(fault(), HasSubstr("2: the line"));
}

TEST_F(AuditLogTest, TellsACutEndByWhatTheLedgerRemembers) {
  add_leases(3);
  std::vector<std::string> cut = lines();
  cut.resize(4);
  write(cut);
  EXPECT_THAT(fault(), HasSubstr("0: the log ends with number 4, but the ledger has number 8"));
}

TEST_F(AuditLogTest, TellsARemovedFile) {
  add_leases(2);
  std::filesystem::remove(log_);
  EXPECT_THAT(fault(), HasSubstr("0: the log ends with number 0, but the ledger has number 5"));
}

TEST_F(AuditLogTest, TellsAChangedEndAlsoWhenItHasGoneOn) {
  add_leases(2);
  acquire("last");  // so that the ledger knows of the sixth line
  std::vector<std::string> changed = lines();
  changed.resize(6);
  changed[5].replace(changed[5].find("FREE"), 4, "free");
  write(changed);
  EXPECT_THAT(fault(), HasSubstr("0: number 6 does not have the hash"));
  add_leases(1);
  EXPECT_THAT(fault(), HasSubstr("7: its \"previous\" is"));
}

TEST_F(AuditLogTest, TakesATornLineForNone) {
  add_leases(2);
  const std::vector<std::string> whole = lines();
  write(whole, whole[0].substr(0, 20));
  EXPECT_EQ(report().notes.size(), 1U);
  EXPECT_TRUE(is_good(6));
  add_leases(1);
  EXPECT_TRUE(is_good(9));
  EXPECT_EQ(report().notes.size(), 0U);
}

TEST_F(AuditLogTest, WritesAgainWhatAPowerCutTook) {
  add_leases(3);
  const std::vector<std::string> whole = lines();
  write({whole.begin(), whole.begin() + 4}, whole[4].substr(0, 30));
  ASSERT_TRUE(test::succeeds(ledger_.events().write_audit_log()));
  EXPECT_EQ(lines(), whole);
  EXPECT_TRUE(is_good(9));
}

TEST_F(AuditLogTest, DoesNotHealACutThatTheHistoryCannotFill) {
  add_leases(3);
  now_ += int64_t{30} * 24 * 3600 * 1000;
  const std::vector<std::string> whole = lines();
  acquire("a");
  acquire("b");
  write({whole.begin(), whole.begin() + 2});
  acquire("c");
  EXPECT_THAT(fault(), HasSubstr("3: its \"previous\" is"));
}

TEST_F(AuditLogTest, GoesOnInANewFileAfterARotation) {
  add_leases(2);
  rotate();
  add_leases(2);
  EXPECT_TRUE(is_good(12)) << fault();
  EXPECT_TRUE(report().from_the_start);
  EXPECT_THAT(audit_files(log_), ElementsAre(log_ + ".1", log_));
  std::filesystem::remove(log_ + ".1");
  EXPECT_EQ(fault(), "none");
  EXPECT_FALSE(report().from_the_start);
}

TEST_F(AuditLogTest, IsWholeWithoutTheFilesThatWereRotatedAway) {
  add_leases(2);
  std::filesystem::remove(log_);
  ASSERT_TRUE(test::succeeds(ledger_.events().write_audit_log()));
  EXPECT_TRUE(is_good(1)) << fault();
  EXPECT_FALSE(report().from_the_start);
}

TEST_F(AuditLogTest, TellsAFileThatIsMissingInBetween) {
  add_leases(2);
  rotate();
  std::filesystem::rename(log_ + ".1", log_ + ".2");
  add_leases(2);
  rotate();
  add_leases(2);
  EXPECT_EQ(fault(), "none");
  std::filesystem::rename(log_ + ".2", log_ + ".1");
  EXPECT_THAT(fault(), HasSubstr("1: its \"previous\" is"));
}

TEST_F(AuditLogTest, FailsNoChangeThatItCannotWrite) {
  add_leases(1);
  std::filesystem::remove(log_);
  std::filesystem::create_directory(log_);
  EXPECT_TRUE(test::succeeds(ledger_.acquire(intent("web"))));
  EXPECT_TRUE(test::fails(ledger_.events().write_audit_log(), base::Code::kInternal, "audit log"));
  std::filesystem::remove(log_);
  EXPECT_TRUE(test::succeeds(ledger_.events().write_audit_log()));
  EXPECT_THAT(text(), HasSubstr("web"));
}

TEST_F(AuditLogTest, DoesNotFollowALink) {
  std::filesystem::create_symlink(dir_ / "elsewhere", log_);
  acquire();
  EXPECT_FALSE(std::filesystem::exists(dir_ / "elsewhere"));
}

TEST_F(AuditLogTest, GoesOnWhenTheLedgerWasMadeAnew) {
  add_leases(3);
  ledger_ = Ledger::open(dir_ / "elsewhere/ledger.db").take();
  for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(path_ + suffix);
  std::filesystem::remove(reserve_file(path_));
  ledger_ = open();
  add_leases(2);
  EXPECT_TRUE(is_good(9 + 6)) << fault();
  EXPECT_EQ(ledger_.events().last().value(), 15);
}

TEST_F(AuditLogTest, IsWholeWhenProcessesWriteAtTheSameTime) {
  constexpr int kProcesses = 3;
  constexpr int kLeases = 40;
  std::vector<pid_t> children;
  for (int process = 0; process < kProcesses; ++process) {
    const pid_t child = ::fork();
    if (child == 0) {
      Ledger own = open();
      bool done = true;
      for (int i = 0; i < kLeases; ++i) done = own.acquire(intent("web")).ok() && done;
      ::_exit(done ? 0 : 1);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  EXPECT_TRUE(is_good(kProcesses * kLeases)) << fault();
}

}  // namespace
}  // namespace hook::ledger
