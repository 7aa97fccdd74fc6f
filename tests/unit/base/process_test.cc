// SPDX-License-Identifier: Apache-2.0
#include "base/process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <thread>

#include "base/fd.h"
#include "base/fs.h"
#include "base/text.h"
#include "tests/support/outcome.h"

namespace base {
namespace {

using std::chrono::milliseconds;

// A process of the test: it runs BODY after go(), and is reaped at the latest with the object.
class Child {
 public:
  template <typename Body>
  explicit Child(Body body) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) std::abort();
    Fd start(ends[0]);
    start_ = Fd(ends[1]);
    pid_ = ::fork();
    if (pid_ != 0) return;
    start_.reset();
    char unused = 0;
    (void)!::read(start.get(), &unused, 1);
    body();
    ::_exit(0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    (void)::kill(pid_, SIGKILL);
    (void)::waitpid(pid_, nullptr, 0);
  }
  void go() { start_.reset(); }
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
  Fd start_;
};

void wait_without_reaping(pid_t pid) {
  siginfo_t info{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT), 0);
}

TEST(ProcessId, OfThisProcessRuns) {
  const ProcessId self = current_process().value();
  EXPECT_EQ(self.pid, ::getpid());
  EXPECT_GT(self.start_time, 0U);
  EXPECT_TRUE(is_running(self));
}

TEST(ProcessId, OfAZombieDoesNotRun) {
  Child child([] {});
  const ProcessId id = identify_process(child.pid()).value();
  EXPECT_TRUE(is_running(id));
  child.go();
  wait_without_reaping(child.pid());
  EXPECT_FALSE(is_running(id));
  EXPECT_TRUE(test::fails(identify_process(child.pid()), Code::kNotFound, "has ended"));
}

TEST(ProcessId, OfAReapedProcessDoesNotRun) {
  ProcessId id;
  {
    const Child child([] {});
    id = identify_process(child.pid()).value();
  }
  EXPECT_FALSE(is_running(id));
  EXPECT_TRUE(test::fails(identify_process(id.pid), Code::kNotFound));
}

TEST(ProcessId, WithAnotherStartTimeIsOfAnotherProcess) {
  ProcessId earlier = current_process().value();
  earlier.start_time -= 1;
  EXPECT_FALSE(is_running(earlier));
}

TEST(ProcessId, OfNoProcessDoesNotRun) {
  ProcessId nobody = current_process().value();
  for (const pid_t pid : {0, -1}) {
    nobody.pid = pid;
    EXPECT_FALSE(is_running(nobody));
  }
}

TEST(ProcessId, OfAnotherPidNamespaceCountsAsRunning) {
  ProcessId foreign = current_process().value();
  foreign.pid_namespace += 1;
  EXPECT_TRUE(is_running(foreign));
  foreign.start_time -= 1;
  EXPECT_TRUE(is_running(foreign));
}

TEST(ProcessId, IsReadBehindANameThatLooksLikeTheRest) {
  const ProcessId before = current_process().value();
  char name[16] = {};
  ASSERT_EQ(::prctl(PR_GET_NAME, name), 0);
  ASSERT_EQ(::prctl(PR_SET_NAME, ") Z 1 (x y"), 0);
  const Result<ProcessId> renamed = current_process();
  ASSERT_EQ(::prctl(PR_SET_NAME, name), 0);
  ASSERT_TRUE(test::succeeds(renamed));
  EXPECT_EQ(renamed.value(), before);
}

// Its first thread is shown as a zombie then, but what it holds must not be taken away.
TEST(ProcessId, RunsWhileAnyOfItsThreadsDoes) {
  Child child([] {
    std::thread([] {
      for (;;) ::pause();
    }).detach();
    (void)::syscall(SYS_exit, 0);
  });
  const ProcessId id = identify_process(child.pid()).value();
  child.go();
  const std::string stat = str("/proc/", child.pid(), "/stat");
  const auto limit = Deadline::after(milliseconds(10'000));
  while (read_file(stat, 4096).value().find(") Z ") == std::string::npos) {
    ASSERT_FALSE(limit.passed());
    ::sched_yield();
  }
  EXPECT_TRUE(is_running(id));
}

TEST(ProcessId, CountsAsRunningWhenItCannotBeLookedAt) {
  const ProcessId self = current_process().value();
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{0, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const bool running = is_running(self);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_TRUE(running);
}

}  // namespace
}  // namespace base
