// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "base/clock.h"
#include "base/fs.h"
#include "base/text.h"
#include "tests/support/outcome.h"
#include "tests/support/temp_dir.h"

namespace base {
namespace {

using testing::HasSubstr;
using testing::Not;

class LogTest : public testing::Test {
 protected:
  // Runs STEPS in a process that has this log, and waits for it.
  template <typename Steps>
  void log(LogLevel level, const Steps& steps) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      start_log("program", level, file_);
      steps();
      ::_exit(0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(pid, &status, 0), pid);
    EXPECT_EQ(status, 0);
  }
  std::string text() const { return read_file(file_, 1 << 20).take(); }
  mode_t mode() const {
    struct stat status {};
    EXPECT_EQ(::stat(file_.c_str(), &status), 0);
    return status.st_mode & 07777U;
  }

  const test::TempDir dir_;
  const std::string file_ = dir_ / "debug.log";
};

TEST_F(LogTest, HasOneLineForEachStep) {
  log(LogLevel::kDebug, [] {
    log_for("4f1c");
    log_step(LogLevel::kDebug, "ledger opened");
    log_step(LogLevel::kError, "refused:\n\x1b[31m no room", "lease");
  });
  EXPECT_THAT(text(), testing::MatchesRegex(
                          "20..-..-..T..:..:..[.]...Z debug program [0-9]+ 4f1c [0-9]+[.][0-9] "
                          "ledger opened\n"
                          "20..-..-..T..:..:..[.]...Z error program [0-9]+ lease [0-9]+[.][0-9] "
                          "refused:  .31m no room\n"));
  EXPECT_EQ(mode(), 0600U);
}

TEST_F(LogTest, HasNoLinesBelowItsLevel) {
  log(LogLevel::kWarning, [] {
    log_step(LogLevel::kInfo, "RUNNING");
    log_step(LogLevel::kWarning, "waited");
  });
  EXPECT_THAT(text(),
              testing::AllOf(HasSubstr(" - "), HasSubstr("waited"), Not(HasSubstr("RUNNING"))));
}

TEST_F(LogTest, IsNotWrittenUnlessStarted) {
  log_step(LogLevel::kError, "lost");
  EXPECT_TRUE(dir_.entries().empty());
}

TEST_F(LogTest, NamesLevels) {
  for (const LogLevel level :
       {LogLevel::kError, LogLevel::kWarning, LogLevel::kInfo, LogLevel::kDebug})
    EXPECT_EQ(find_log_level(name_of(level)), level);
  EXPECT_EQ(find_log_level("verbose"), std::nullopt);
}

TEST_F(LogTest, NotesLongWaits) {
  log(LogLevel::kWarning, [] {
    { const LockWait brief("the door"); }
    const LockWait wait("the ledger");
    sleep_for(std::chrono::milliseconds(12), Deadline::after(std::chrono::seconds(1)));
  });
  EXPECT_THAT(text(), testing::AllOf(HasSubstr(" ms for the lock of the ledger\n"),
                                     Not(HasSubstr("the door"))));
}

TEST_F(LogTest, MovesAFullFileAway) {
  ASSERT_TRUE(test::succeeds(write_atomic(file_, "older\n", {.mode = 0600})));
  std::filesystem::resize_file(file_, kMaxLog);
  log(LogLevel::kInfo, [] { log_step(LogLevel::kInfo, "newer"); });
  EXPECT_THAT(text(), testing::EndsWith("newer\n"));
  EXPECT_EQ(std::filesystem::file_size(file_ + ".1"), kMaxLog);
  EXPECT_EQ(dir_.entries().size(), 2U);
}

TEST_F(LogTest, FollowsNoLink) {
  const std::string victim = dir_ / "victim";
  ASSERT_TRUE(test::succeeds(write_atomic(victim, "", {.mode = 0600})));
  std::filesystem::create_symlink(victim, file_);
  log(LogLevel::kInfo, [] { log_step(LogLevel::kInfo, "step"); });
  EXPECT_FALSE(check_log(file_).ok());
  std::filesystem::remove(file_);
  std::filesystem::create_hard_link(victim, file_);
  log(LogLevel::kInfo, [] { log_step(LogLevel::kInfo, "step"); });
  EXPECT_TRUE(test::fails(check_log(file_), Code::kDenied, "with one name"));
  EXPECT_EQ(std::filesystem::file_size(victim), 0U);
}

TEST_F(LogTest, DoesNotWaitForAReader) {
  ASSERT_EQ(::mkfifo(file_.c_str(), 0600), 0);
  log(LogLevel::kInfo, [] { log_step(LogLevel::kInfo, "step"); });
  EXPECT_FALSE(check_log(file_).ok());
}

TEST_F(LogTest, IsNotWrittenWhereOthersCanChangeIt) {
  ASSERT_EQ(::chmod(dir_.path().c_str(), 0777), 0);
  log(LogLevel::kInfo, [] { log_step(LogLevel::kInfo, "step"); });
  EXPECT_TRUE(dir_.entries().empty());
  EXPECT_TRUE(test::fails(check_log(file_), Code::kDenied, "can be changed by others than root"));
  ASSERT_EQ(::chmod(dir_.path().c_str(), 0700), 0);
  EXPECT_TRUE(test::succeeds(check_log(file_)));
  EXPECT_TRUE(test::fails(check_log(dir_ / "nowhere/debug.log"), Code::kNotFound));
  ASSERT_EQ(::chmod(file_.c_str(), 0666), 0);
  EXPECT_TRUE(test::fails(check_log(file_), Code::kDenied, "nobody else can write"));
}

}  // namespace
}  // namespace base
