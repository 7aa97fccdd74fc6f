// SPDX-License-Identifier: Apache-2.0
#include "base/detached.h"

#include <fcntl.h>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "base/clock.h"
#include "base/fs.h"
#include "base/text.h"
#include "tests/support/outcome.h"
#include "tests/support/temp_dir.h"

namespace base {
namespace {

using std::chrono::milliseconds;

// What the program wrote to PATH by renaming a file there.
std::string wait_for_file(const std::string& path) {
  const Deadline patience = Deadline::after(milliseconds(10'000));
  while (!patience.passed()) {
    const auto text = read_file_if_exists(path, 65536);
    if (text.ok() && text.value()) return *text.value();
    sleep_for(milliseconds(5), patience);
  }
  ADD_FAILURE() << path << " was not written";
  return "";
}

TEST(StartDetached, RunsAloneWithNothingOfItsCaller) {
  const test::TempDir dir;
  const Fd kept = open_at(AT_FDCWD, "/dev/zero", O_RDONLY).take();
  ASSERT_EQ(::fcntl(kept.get(), F_SETFD, 0), 0);  // inheritable
  const std::string script =
      str("{ pwd; env | grep -v '^PWD=\\|^SHLVL=\\|^_=' | wc -l; echo $(readlink /proc/$$/fd/*);"
          " cut -d' ' -f6 /proc/$$/stat; } >",
          dir / "new", " 2>&1; mv ", dir / "new", " ", dir / "out");
  ASSERT_TRUE(test::succeeds(start_detached("/bin/sh", {"sh", "-c", script})));
  const std::string out = wait_for_file(dir / "out");
  const std::vector<std::string_view> lines = split(out, '\n');
  ASSERT_GE(lines.size(), 4U) << out;
  EXPECT_EQ(lines[0], "/");
  EXPECT_EQ(lines[1], "0") << "variables of the environment";
  EXPECT_EQ(lines[2].find("zero"), std::string_view::npos) << out;
  EXPECT_NE(lines[2].find("/dev/null"), std::string_view::npos) << out;
  EXPECT_NE(lines[3], std::to_string(::getsid(0))) << "its session";
}

TEST(StartDetached, GivesItAnEnvironment) {
  const test::TempDir dir;
  const std::string script =
      str("echo $IPU_DEBUG >", dir / "new", "; mv ", dir / "new", " ", dir / "out");
  ASSERT_TRUE(test::succeeds(start_detached("/bin/sh", {"sh", "-c", script}, {"IPU_DEBUG=1"})));
  EXPECT_EQ(wait_for_file(dir / "out"), "1\n");
}

TEST(StartDetached, LeavesNoChildBehind) {
  ASSERT_TRUE(test::succeeds(start_detached("/bin/true", {"true"})));
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

TEST(StartDetached, RefusesWhatCannotBeExecuted) {
  const test::TempDir dir;
  EXPECT_TRUE(test::fails(start_detached(dir / "absent", {"absent"}), Code::kNotFound, "absent"));
  ASSERT_TRUE(test::succeeds(write_atomic(dir / "text", "no program", {0755, {}, {}})));
  EXPECT_FALSE(start_detached(dir / "text", {"text"}).ok());
}

TEST(LeaveTo, StartsAChildThatHasNothingOfItsCallerButItsParent) {
  const test::TempDir dir;
  const Fd kept = open_at(AT_FDCWD, "/dev/zero", O_RDONLY).take();
  ASSERT_EQ(::fcntl(kept.get(), F_SETFD, 0), 0);  // inheritable
  const std::string script =
      str("{ pwd; echo $IPU_DEBUG; echo $PPID; echo $(readlink /proc/$$/fd/*);"
          " cut -d' ' -f6 /proc/$$/stat; } >",
          dir / "new", " 2>&1; mv ", dir / "new", " ", dir / "out");
  ASSERT_TRUE(test::succeeds(leave_to("/bin/sh", {"sh", "-c", script}, {"IPU_DEBUG=1"})));
  const std::string out = wait_for_file(dir / "out");
  const std::vector<std::string_view> lines = split(out, '\n');
  ASSERT_GE(lines.size(), 5U) << out;
  EXPECT_EQ(lines[0], "/");
  EXPECT_EQ(lines[1], "1");
  EXPECT_EQ(lines[2], std::to_string(::getpid()));
  EXPECT_EQ(lines[3].find("zero"), std::string_view::npos) << out;
  EXPECT_NE(lines[3].find("/dev/null"), std::string_view::npos) << out;
  EXPECT_NE(lines[4], std::to_string(::getsid(0))) << "its session";
  EXPECT_GT(::waitpid(-1, nullptr, 0), 0);
}

TEST(LeaveTo, RefusesWhatCannotBeExecutedAndLeavesNoChild) {
  const test::TempDir dir;
  EXPECT_TRUE(test::fails(leave_to(dir / "absent", {"absent"}), Code::kNotFound, "absent"));
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
}

// Reaps the child that go_on_detached() leaves to others.
void reap() { (void)::waitpid(-1, nullptr, 0); }

Deadline soon() { return Deadline::after(milliseconds(10'000)); }

TEST(GoOnDetached, ReturnsWhenTheWorkHasBegunAndNotWhenItIsDone) {
  const test::TempDir dir;
  const std::string file = dir / "done";
  const Status begun = go_on_detached(
      [&](const std::function<void()>& started) {
        started();
        // Ends when the caller, which it must not hold up, has seen that it began.
        const std::string text = wait_for_file(dir / "go");
        const std::string streams = str(::getsid(0) == ::getpid() ? "own session " : "", text);
        (void)write_atomic(file, streams, {});
        return Work::kDone;
      },
      soon());
  EXPECT_TRUE(test::succeeds(begun));
  EXPECT_NE(::access(file.c_str(), F_OK), 0);
  ASSERT_TRUE(test::succeeds(write_atomic(dir / "go", "went", {})));
  EXPECT_EQ(wait_for_file(file), "own session went");
  reap();
}

TEST(GoOnDetached, HoldsNoneOfItsCallersDescriptors) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const Fd reader(ends[0]);
  Fd writer(ends[1]);
  const test::TempDir dir;
  ASSERT_TRUE(test::succeeds(go_on_detached(
      [&](const std::function<void()>& started) {
        started();
        (void)wait_for_file(dir / "go");
        return Work::kDone;
      },
      soon())));
  writer.reset();
  char byte = 0;
  EXPECT_EQ(::read(reader.get(), &byte, 1), 0) << "the child holds the pipe open";
  ASSERT_TRUE(test::succeeds(write_atomic(dir / "go", "", {})));
  reap();
}

TEST(GoOnDetached, FailsWhenTheWorkFailsBeforeItBegan) {
  EXPECT_TRUE(test::fails(
      go_on_detached([](const std::function<void()>&) { return Work::kFailed; }, soon()),
      Code::kInternal, "ended without a report"));
  reap();
}

TEST(GoOnDetached, IsDoneWhenTheWorkIsAlthoughItNeverSaidSo) {
  EXPECT_TRUE(test::succeeds(
      go_on_detached([](const std::function<void()>&) { return Work::kDone; }, soon())));
  reap();
}

TEST(GoOnDetached, GoesOnWhenItsCallerHasEndedBeforeItBegan) {
  const test::TempDir dir;
  const std::string file = dir / "done";
  const pid_t caller = ::fork();
  if (caller == 0) {
    (void)go_on_detached(
        [&](const std::function<void()>& started) {
          (void)write_atomic(dir / "there", "", {});
          (void)wait_for_file(dir / "go");
          started();
          (void)write_atomic(file, "went on", {});
          return Work::kDone;
        },
        soon());
    ::_exit(0);
  }
  (void)wait_for_file(dir / "there");
  ASSERT_EQ(::kill(caller, SIGKILL), 0);
  ASSERT_EQ(::waitpid(caller, nullptr, 0), caller);
  ASSERT_TRUE(test::succeeds(write_atomic(dir / "go", "", {})));
  EXPECT_EQ(wait_for_file(file), "went on");
}

TEST(GoOnDetached, DoesNotWaitLongerThanItsDeadline) {
  const test::TempDir dir;
  EXPECT_TRUE(test::fails(go_on_detached(
                              [&](const std::function<void()>&) {
                                (void)wait_for_file(dir / "go");
                                return Work::kFailed;
                              },
                              Deadline::after(milliseconds(20))),
                          Code::kTimeout));
  ASSERT_TRUE(test::succeeds(write_atomic(dir / "go", "", {})));
  reap();
}

}  // namespace
}  // namespace base
