// SPDX-License-Identifier: Apache-2.0
#include "base/child.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "base/fd.h"
#include "base/scope.h"
#include "tests/support/outcome.h"

namespace base {
namespace {

using std::chrono::milliseconds;

const Deadline kLong = Deadline::after(milliseconds(20'000));

Status end_with(int err) {
  return in_child(
      "work", Child::kEnds, [&](const Report&) { return err; }, kLong);
}

TEST(InChild, ReturnsWhatTheChildReturns) {
  EXPECT_TRUE(test::succeeds(end_with(0)));
  const Status failed = end_with(ENOSPC);
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().sys_errno(), ENOSPC);
  EXPECT_TRUE(failed.error().message().starts_with("work: ")) << failed.error().message();
}

TEST(InChild, RunsInAnotherProcess) {
  int changed = 0;
  const Status done = in_child(
      "work", Child::kEnds,
      [&](const Report&) {
        changed = 1;
        return 0;
      },
      kLong);
  EXPECT_TRUE(test::succeeds(done));
  EXPECT_EQ(changed, 0);
}

TEST(InChild, LeavesNoZombie) {
  ASSERT_TRUE(test::succeeds(end_with(0)));
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

TEST(InChild, DoesNotMindAnIgnoredSigchld) {
  const auto before = ::signal(SIGCHLD, SIG_IGN);
  const ScopeExit restore([&] { (void)::signal(SIGCHLD, before); });
  EXPECT_TRUE(test::succeeds(end_with(0)));
  EXPECT_EQ(end_with(EPERM).error().sys_errno(), EPERM);
}

TEST(InChild, KillsAChildThatIsStuckAtTheDeadline) {
  const Status late = in_child(
      "work", Child::kEnds,
      [](const Report&) {
        for (;;) ::pause();
        return 0;
      },
      Deadline::after(milliseconds(50)));
  EXPECT_EQ(late.error().code(), Code::kTimeout);
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "it is gone, and reaped";
}

TEST(InChild, TellsOfAChildThatEndsWithoutAReport) {
  const auto die = [](const Report&) -> int {
    (void)::raise(SIGKILL);
    return 0;
  };
  EXPECT_EQ(in_child("work", Child::kEnds, die, kLong).error().code(), Code::kInternal);
  EXPECT_EQ(end_with(kNoReport).error().code(), Code::kInternal);
}

TEST(InChild, MayGoOnAfterItsReport) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const Fd read_end(ends[0]);
  Fd write_end(ends[1]);
  const pid_t parent = ::getpid();
  const Status done = in_child(
      "work", Child::kGoesOn,
      [&](const Report& report) {
        report.send(0);
        // What comes after the first report is not heard.
        report.send(EIO);
        const pid_t seen = ::getppid();
        return ::write(write_end.get(), &seen, sizeof seen) == sizeof seen ? 0 : EIO;
      },
      kLong);
  EXPECT_TRUE(test::succeeds(done));
  write_end.reset();
  pid_t seen = 0;
  EXPECT_EQ(::read(read_end.get(), &seen, sizeof seen), static_cast<ssize_t>(sizeof seen));
  EXPECT_EQ(seen, parent);
  EXPECT_GT(::waitpid(-1, nullptr, 0), 0) << "it is the caller's to reap";
}

TEST(ForkToExec, BecomesAnotherProgram) {
  const pid_t child = fork_to_exec([] { (void)::execl("/bin/true", "true", nullptr); });
  ASSERT_GT(child, 0);
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(ForkToExec, EndsIfThereIsNoProgram) {
  const pid_t child = fork_to_exec([] { (void)::execl("/nonexistent", "x", nullptr); });
  ASSERT_GT(child, 0);
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 127);
}

// A signal that waits for the child must not run a handler in the memory of both.
TEST(ForkToExec, HoldsSignalsBackAndLeavesThoseOfTheCallerAsTheyWere) {
  sigset_t before;
  sigset_t after;
  ASSERT_EQ(::sigprocmask(SIG_BLOCK, nullptr, &before), 0);
  const pid_t child = fork_to_exec([] {
    sigset_t inside;
    (void)::sigprocmask(SIG_BLOCK, nullptr, &inside);
    const bool is_blocked = sigismember(&inside, SIGTERM) == 1;
    take_signals();
    (void)::sigprocmask(SIG_BLOCK, nullptr, &inside);
    ::_exit(is_blocked && sigismember(&inside, SIGTERM) == 0 ? 0 : 1);
  });
  reap_child(child);
  ASSERT_EQ(::sigprocmask(SIG_BLOCK, nullptr, &after), 0);
  for (const int signal : {SIGTERM, SIGINT, SIGCHLD}) {
    EXPECT_EQ(sigismember(&before, signal), sigismember(&after, signal));
  }
}

}  // namespace
}  // namespace base
