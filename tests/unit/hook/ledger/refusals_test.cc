// SPDX-License-Identifier: Apache-2.0
// Refused starts in numbers: what they leave in the ledger and in the audit log.
#include "hook/ledger/internal/refusals.h"

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/fs.h"
#include "base/names.h"
#include "base/text.h"
#include "hook/ledger/audit_verify.h"
#include "hook/ledger/internal/history.h"
#include "tests/support/sql.h"
#include "tests/unit/hook/ledger/ledger_fixture.h"

namespace hook::ledger {
namespace {

using namespace base::names;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr int64_t kHour = 3'600'000;
const std::string kFull =
    "pool \"pod64\" has no free block of 4 IPUs (largest free: 0, held by 2 containers)";

class RefusalsTest : public LedgerFixture {
 protected:
  Lease refuse(const std::string& container, const std::string& error = kFull,
               Ledger::Late late = Ledger::Late::kNever, const std::string& tenant = "team-a") {
    Intent what = intent(container);
    what.tenant = tenant;
    Lease lease = ledger_.acquire(what).take();
    ledger_.note(lease.id, EventKind::kController, "create: " + error);
    ledger_.note(lease.id, EventKind::kError, error);
    EXPECT_TRUE(test::succeeds(ledger_.begin_release(lease, releaser_, error)));
    EXPECT_TRUE(test::succeeds(ledger_.finish_release(lease, late)));
    return lease;
  }
  void refuse_many(int count) {
    for (int i = 0; i < count; ++i, now_ += 100) refuse(str("container", i));
  }
  int64_t number(const std::string& sql) {
    return base::parse_int<int64_t>(test::query_sql(path_, sql).at(0), 0, INT64_MAX).take();
  }
  std::string audit() { return base::read_file(log_, 1 << 24).take(); }
  std::string fault() {
    const AuditMark mark = ledger_.events().audit_mark().take();
    const AuditReport found = verify_audit(audit_files(log_), mark).take();
    return found.fault ? found.fault->reason : "none";
  }
  std::vector<std::string> story(const Lease& lease) {
    std::vector<std::string> story;
    for (const Event& event : ledger_.events().of_lease(lease.id).take())
      story.push_back(event.text);
    return story;
  }

  const std::string log_ = dir_ / "state/audit.log";
};

TEST_F(RefusalsTest, OfAKindOnceAreHistoryAsAnyOther) {
  const Lease lease = refuse("web");
  EXPECT_THAT(story(lease),
              ElementsAre("INTENT", "create: " + kFull, kFull, "RELEASING", "FAILED"));
  EXPECT_THAT(audit(), AllOf(HasSubstr("INTENT"), HasSubstr("FAILED")));
  EXPECT_EQ(stored(lease).state, LeaseState::kFailed);
}

TEST_F(RefusalsTest, BeforeALeaseAreHistoryToo) {
  const Error wrong(Code::kInvalid, "IPU_COUNT='3' is not accepted: give a power of two");
  ASSERT_TRUE(test::succeeds(ledger_.record_refusal(intent("web"), wrong)));
  const Lease lease = ledger_.get("web").take();
  EXPECT_EQ(lease.state, LeaseState::kFailed);
  EXPECT_EQ(lease.error, wrong.message());
  EXPECT_THAT(story(lease), ElementsAre("INTENT", wrong.message(), "FAILED"));
  EXPECT_THAT(audit(), HasSubstr("IPU_COUNT='3'"));
  EXPECT_TRUE(ledger_.live().take().empty());
  for (int i = 0; i < 100; ++i, now_ += 100)
    ASSERT_TRUE(test::succeeds(ledger_.record_refusal(intent(str("web", i)), wrong)));
  EXPECT_EQ(number("SELECT COUNT(*) FROM lease"), 2) << "the first and the last";
  EXPECT_EQ(number("SELECT count FROM refusal"), 101);
  EXPECT_EQ(fault(), "none");
}

TEST_F(RefusalsTest, InThousandsLeaveOneRecordWithTheirNumber) {
  refuse("first");
  const size_t one = audit().size();
  const int64_t start = now_;
  refuse_many(2000);
  EXPECT_EQ(audit().size(), one);
  EXPECT_EQ(number("SELECT COUNT(*) FROM lease"), 2) << "the first and the last";
  EXPECT_LE(number("SELECT COUNT(*) FROM event"), 10);
  EXPECT_LT(std::filesystem::file_size(path_), 512U << 10);
  EXPECT_LT(std::filesystem::file_size(path_ + "-wal"), 4U << 20);
  EXPECT_THAT(test::query_sql(path_,
                              "SELECT count||' '||first_ms||' '||last_ms||' '||container"
                              " FROM refusal"),
              ElementsAre(str("2001 ", start, " ", now_ - 100, " container1999")));
  EXPECT_EQ(fault(), "none");
}

TEST_F(RefusalsTest, AreExplainedByTheLastOne) {
  refuse("first");
  refuse("second");
  const Lease third = refuse("third");
  EXPECT_THAT(story(third),
              ElementsAre("INTENT", "create: " + kFull, kFull, "RELEASING",
                          "FAILED, number 3 of its kind since 2001-09-09T01:46:40.000Z"));
  EXPECT_TRUE(ledger_.get("first").ok());
  EXPECT_FALSE(ledger_.get("second").ok());
}

TEST_F(RefusalsTest, AreReportedWhenTheirHourIsOver) {
  refuse("first");
  refuse_many(100);
  now_ += kHour;
  ASSERT_TRUE(test::succeeds(ledger_.events().forget(0)));
  EXPECT_THAT(audit(), HasSubstr("refused 101 times from 2001-09-09T01:46:40.000Z to"
                                 " 2001-09-09T01:46:49.900Z for tenant 'team-a', the last: pool"));
  EXPECT_EQ(number("SELECT COUNT(*) FROM refusal"), 0);
  const size_t reported = audit().size();
  refuse("later");
  EXPECT_GT(audit().size(), reported + 1000) << "the first of an hour has all its lines";
  EXPECT_EQ(fault(), "none");
}

TEST_F(RefusalsTest, AreReportedByTheNextOneToo) {
  refuse_many(3);
  now_ += kHour;
  refuse("later");
  EXPECT_THAT(audit(), HasSubstr("refused 3 times from"));
  EXPECT_EQ(number("SELECT count FROM refusal"), 1);
}

TEST_F(RefusalsTest, OfAnotherKindAreALineOfTheirOwn) {
  refuse("first");
  refuse("second", "pool \"pod64\" has no free block of 8 IPUs (largest free: 4)");
  EXPECT_EQ(number("SELECT COUNT(*) FROM refusal"), 1) << "numbers make no kind";
  refuse("third", "V-IPU controller 10.1.3.101:8090 does not answer");
  EXPECT_EQ(number("SELECT COUNT(*) FROM refusal"), 2);
  EXPECT_THAT(audit(), HasSubstr("\"event\":\"refused: V-IPU controller 10.1.3.101:8090"));
  refuse("fourth", kFull, Ledger::Late::kNever, "team-b");
  EXPECT_EQ(number("SELECT COUNT(*) FROM refusal"), 3);
  EXPECT_THAT(audit(), HasSubstr("\"container\":\"fourth\""));
}

TEST_F(RefusalsTest, AreCountedTogetherBeyondSomeKinds) {
  for (int i = 0; i < 300; ++i) {
    refuse("web", kFull, Ledger::Late::kNever, str("tenant", i));
  }
  EXPECT_EQ(number("SELECT COUNT(*) FROM refusal"), 65);
  EXPECT_EQ(number("SELECT count FROM refusal WHERE tenant = ''"), 300 - 64);
  EXPECT_EQ(number("SELECT COUNT(*) FROM lease"), 65);
  EXPECT_LT(audit().size(), 300U << 10);
  EXPECT_EQ(fault(), "none");
}

TEST_F(RefusalsTest, OfOneUserHideNoneOfAnother) {
  for (char name = 'a'; name <= 'z'; ++name) {
    for (const char* const end : {"x", "y", "z"})
      refuse("web", str("no partition '", name, end, "'"), Ledger::Late::kNever, "evil");
  }
  for (int i = 0; i < 10; ++i) refuse("web", kFull, Ledger::Late::kNever, "victim");
  EXPECT_EQ(number("SELECT COUNT(*) FROM refusal WHERE tenant = 'evil'"), 17);
  EXPECT_EQ(number("SELECT count FROM refusal WHERE tenant = 'evil' AND kind = ''"), 78 - 16);
  EXPECT_EQ(number("SELECT count FROM refusal WHERE tenant = 'victim' AND kind != ''"), 10);
  EXPECT_EQ(number("SELECT COUNT(*) FROM refused WHERE tenant = 'evil' AND pool = 'pod64'"), 17);
  EXPECT_EQ(number("SELECT count FROM refused WHERE tenant = 'evil' AND cause = ''"), 78 - 16);
  EXPECT_EQ(number("SELECT count FROM refused WHERE tenant = 'victim' AND cause != ''"), 10);
}

TEST_F(RefusalsTest, HideNothingOfAStartThatGetsItsIpus) {
  refuse("first");
  const Lease lease = allocate("lucky");
  EXPECT_THAT(audit(), HasSubstr("\"event\":\"ALLOCATED\",\"lease\":\"" + lease.id));
  release(lease);
  EXPECT_THAT(audit(), HasSubstr("\"event\":\"QUARANTINE\",\"lease\":\"" + lease.id));
  EXPECT_EQ(fault(), "none");
}

TEST_F(RefusalsTest, KeepALeaseWhosePartitionMayStillComeIntoBeing) {
  const std::string first = refuse("first").partition;
  const Lease late = refuse("late", "timed out", Ledger::Late::kMayCome);
  const std::string last = refuse("last", "timed out", Ledger::Late::kMayCome).partition;
  EXPECT_EQ(stored(late).state, LeaseState::kFailed);
  for (const std::string& name : {first, late.partition, last}) {
    EXPECT_TRUE(ledger_.partitions().is_late({late.pool, late.controller}, name).value()) << name;
  }
}

TEST_F(RefusalsTest, LeaveALogThatAPowerCutCanTakeTheEndOf) {
  refuse("first");
  refuse_many(20);
  const std::string whole = audit();
  std::filesystem::resize_file(log_, 700);
  ASSERT_TRUE(test::succeeds(ledger_.events().write_audit_log()));
  EXPECT_EQ(audit(), whole);
  EXPECT_EQ(fault(), "none");
}

TEST_F(RefusalsTest, GiveNoNumberTwice) {
  refuse("first");
  int64_t last = 0;
  for (int i = 0; i < 20; ++i) {
    // Two that overlap, so that the one that ends first is the one to forget.
    Lease one = acquire("one");
    ASSERT_TRUE(test::succeeds(ledger_.begin_release(one, releaser_, kFull)));
    refuse("two");
    ASSERT_TRUE(test::succeeds(ledger_.finish_release(one, Ledger::Late::kNever)));
    const int64_t now = ledger_.events().last().value();
    EXPECT_GT(now, last);
    last = now;
  }
  EXPECT_EQ(number("SELECT COUNT(*) FROM event WHERE lease != ''"
                   " AND lease NOT IN (SELECT id FROM lease)"),
            0);
  EXPECT_LE(number("SELECT COUNT(*) FROM lease"), 4);
}

TEST_F(RefusalsTest, OfProcessesAtTheSameTimeAreAllCounted) {
  refuse("first");
  std::vector<pid_t> children;
  for (int process = 0; process < 4; ++process) {
    const pid_t child = ::fork();
    if (child == 0) {
      ledger_ = open();
      for (int i = 0; i < 25; ++i) refuse(str("web", process, "-", i));
      ::_exit(HasFailure() ? 1 : 0);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(number("SELECT count FROM refusal"), 101);
  EXPECT_LE(number("SELECT COUNT(*) FROM lease"), 10);
  EXPECT_EQ(fault(), "none");
}

TEST_F(RefusalsTest, OfAClockThatWasAheadAreForgotten) {
  now_ += 24 * kHour;
  refuse_many(3);
  now_ -= 24 * kHour;
  const size_t before = audit().size();
  refuse("later");
  EXPECT_THAT(audit().substr(before), AllOf(HasSubstr("refused 3 times"), HasSubstr("INTENT")));
  EXPECT_EQ(number("SELECT count FROM refusal"), 1);
}

TEST_F(RefusalsTest, OfEveryOtherSortAreForgottenFromASizeOn) {
  for (int i = 0; i < 40; ++i, now_ += 60'000) release(acquire(str("container", i)));
  Store store{sqlite::Database::open(path_, 1000).take(), [this] { return now_; }};
  sqlite::Transaction transaction = sqlite::Transaction::begin(store.database).take();
  ASSERT_TRUE(test::succeeds(forget_history(store, 0, 64 << 20)));
  EXPECT_EQ(number("SELECT COUNT(*) FROM lease"), 40);
  ASSERT_TRUE(test::succeeds(forget_history(store, 0, 1)));
  ASSERT_TRUE(test::succeeds(transaction.commit()));
  EXPECT_EQ(number("SELECT COUNT(*) FROM lease"), 24) << "sixteen each time";
}

}  // namespace
}  // namespace hook::ledger
