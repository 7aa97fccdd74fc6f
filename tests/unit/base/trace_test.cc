// SPDX-License-Identifier: Apache-2.0
#include "base/trace.h"

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "base/fs.h"
#include "base/log.h"
#include "base/text.h"
#include "tests/support/outcome.h"
#include "tests/support/temp_dir.h"

namespace base {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class TraceTest : public testing::Test {
 protected:
  // Keeps STEPS in a process of PROGRAM, which writes its trace and ends.
  void run(const char* program, const std::vector<std::string>& steps) const {
    const pid_t pid = ::fork();
    if (pid == 0) {
      trace_to("/dev/null");
      write_trace();  // what other tests left
      trace_as(program);
      for (const std::string& step : steps) log_step(LogLevel::kDebug, step);
      trace_to(file_);
      write_trace();
      ::_exit(0);
    }
    ASSERT_EQ(::waitpid(pid, nullptr, 0), pid);
  }
  std::vector<TraceStep> steps() const { return read_trace(file_).take(); }
  std::vector<std::string> texts() const {
    std::vector<std::string> texts;
    for (const TraceStep& step : steps()) texts.push_back(step.program + ": " + step.what);
    return texts;
  }

  test::TempDir dir_;
  const std::string file_ = dir_ / "trace";
};

TEST_F(TraceTest, HasTheStepsOfAllProgramsInOrder) {
  run("first", {"begins", "has  blanks"});
  run("second", {"ends"});
  EXPECT_THAT(texts(), ElementsAre("first: begins", "first: has  blanks", "second: ends"));
  EXPECT_LE(steps()[0].nanos, steps()[1].nanos);
  EXPECT_NE(steps()[0].pid, steps()[2].pid);
  EXPECT_EQ(std::filesystem::status(file_).permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
}

TEST_F(TraceTest, KeepsTheBeginningAndTheEnd) {
  std::vector<std::string> many(1000, std::string(1000, 'x'));
  many.front() = "begins";
  many.back() = "ends";
  run("many", many);
  ASSERT_THAT(steps(), SizeIs(64));
  EXPECT_EQ(steps()[0].what, "begins");
  EXPECT_THAT(steps()[1].what, SizeIs(200));
  EXPECT_THAT(steps()[32].what, testing::StartsWith("(after 936 steps that are left out) x"));
  EXPECT_EQ(steps()[63].what, "ends");
}

TEST_F(TraceTest, TakesTheStepsOfSeveralThreads) {
  const auto many = [] {
    for (int i = 0; i < 20'000; ++i) keep_step("of a thread");
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(many);
  for (std::thread& thread : threads) thread.join();
  trace_to(file_);
  write_trace();
  trace_to("/dev/null");
  EXPECT_THAT(steps(), SizeIs(64));
}

TEST_F(TraceTest, LeavesOutWhatIsNoStep) {
  run("good", {"two\nlines"});
  ASSERT_TRUE(test::succeeds(
      write_atomic(file_, read_file(file_, 4096).take() + "-1 2 x y\nx\n\n7 x y z\n", {})));
  EXPECT_THAT(steps(), SizeIs(1));
}

TEST_F(TraceTest, IsNotWrittenWhereThereIsNoFileForIt) {
  std::filesystem::create_symlink(dir_ / "elsewhere", file_);
  run("any", {"step"});
  EXPECT_FALSE(std::filesystem::exists(dir_ / "elsewhere"));
  EXPECT_TRUE(test::fails(read_trace(dir_ / "none"), Code::kNotFound));
}

}  // namespace
}  // namespace base
