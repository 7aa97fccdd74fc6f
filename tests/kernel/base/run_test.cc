// SPDX-License-Identifier: Apache-2.0
// base::run with another user, which takes root, and the end of a program with its caller.
#include <grp.h>
#include <gtest/gtest.h>
#include <linux/securebits.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <memory>
#include <type_traits>

#include "base/fs.h"
#include "base/process.h"
#include "base/scope.h"
#include "base/text.h"
#include "tests/support/outcome.h"
#include "tests/support/requires.h"
#include "tests/support/temp_dir.h"

namespace base {
namespace {

using std::chrono::milliseconds;

constexpr Credentials kNobody{65534, 65534};

Deadline soon() { return Deadline::after(milliseconds(30'000)); }

// The value of a field of /proc/self/status, as the program run as nobody sees it.
std::string status_field(const std::string& field) {
  const Command command{
      "/bin/sed", {"sed", "-n", str("s/^", field, ":[[:space:]]*//p"), "/proc/self/status"},
      {},         "",
      1000,       kNobody};
  const Result<Output> output = run(command, soon());
  return output.ok() ? std::string(trim(output.value().out)) : output.error().message();
}

class RunAsNobodyTest : public testing::Test {
 protected:
  void SetUp() override { REQUIRES_ROOT(); }
};

TEST_F(RunAsNobodyTest, HasAllIdsOfThatUser) {
  EXPECT_EQ(status_field("Uid"), "65534\t65534\t65534\t65534");
  EXPECT_EQ(status_field("Gid"), "65534\t65534\t65534\t65534");
}

TEST_F(RunAsNobodyTest, HasNoneOfTheCallersGroups) {
  gid_t before[64];
  const int count = ::getgroups(64, before);
  ASSERT_GE(count, 0);
  const gid_t groups[] = {4, 24};
  ASSERT_EQ(::setgroups(2, groups), 0);
  const ScopeExit restore([&] { (void)::setgroups(static_cast<size_t>(count), before); });
  EXPECT_EQ(status_field("Groups"), "");
}

TEST_F(RunAsNobodyTest, HasNoCapabilities) {
  for (const char* set : {"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"}) {
    EXPECT_EQ(status_field(set), "0000000000000000") << set;
  }
}

TEST_F(RunAsNobodyTest, HasNoCapabilitiesOfACallerThatPassesItsOwnOn) {
  const pid_t caller = ::fork();
  ASSERT_GE(caller, 0);
  if (caller == 0) {
    const std::unique_ptr<std::remove_pointer_t<cap_t>, decltype(&cap_free)> passed(cap_get_proc(),
                                                                                    &cap_free);
    constexpr cap_value_t kKill = CAP_KILL;
    const bool ready = cap_set_flag(passed.get(), CAP_INHERITABLE, 1, &kKill, CAP_SET) == 0 &&
                       cap_set_proc(passed.get()) == 0 && cap_set_ambient(kKill, CAP_SET) == 0 &&
                       ::prctl(PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP) == 0;
    if (!ready) ::_exit(1);
    for (const char* set : {"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"}) {
      if (status_field(set) != "0000000000000000") ::_exit(2);
    }
    ::_exit(0);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(caller, &status, 0), caller);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST_F(RunAsNobodyTest, CannotReadWhatOnlyRootMay) {
  const test::TempDir dir;
  ASSERT_TRUE(write_atomic(dir / "secret", "x", {0600, {}, {}}).ok());
  const Command command{"/bin/cat", {"cat", dir / "secret"}, {}, "", 100, kNobody};
  EXPECT_NE(run(command, soon()).value().exit_status, 0);
}

TEST_F(RunAsNobodyTest, IsKilledAtTheDeadline) {
  const Command command{"/bin/sleep", {"sleep", "600"}, {}, "", 100, kNobody};
  EXPECT_TRUE(test::fails(run(command, Deadline::after(milliseconds(50))), Code::kTimeout));
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
}

class ParentDeathTest : public testing::TestWithParam<std::optional<Credentials>> {
 protected:
  void SetUp() override {
    if (GetParam()) REQUIRES_ROOT();
    ASSERT_EQ(::chmod(dir_.path().c_str(), 0755), 0);
    const mode_t mask = ::umask(0);
    ASSERT_EQ(::mkfifo(fifo_.c_str(), 0666), 0);
    ::umask(mask);
    // The program becomes our child when its parent ends.
    ASSERT_EQ(::prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
  }
  void TearDown() override { (void)::prctl(PR_SET_CHILD_SUBREAPER, 0); }

  test::TempDir dir_;
  const std::string fifo_ = dir_ / "pid";
};

TEST_P(ParentDeathTest, KillsTheProgram) {
  const pid_t caller = ::fork();
  ASSERT_GE(caller, 0);
  if (caller == 0) {
    const std::string script = str("echo $$ >", fifo_, "; exec sleep 600");
    (void)run({"/bin/sh", {"sh", "-c", script}, {"PATH=/bin"}, "", 10, GetParam()}, soon());
    ::_exit(0);
  }
  const std::string text = read_file(fifo_, 100).take();
  const Result<pid_t> program = parse_int<pid_t>(trim(text), 2, 1 << 22);
  ASSERT_TRUE(test::succeeds(program));
  ASSERT_EQ(::kill(caller, SIGKILL), 0);
  ASSERT_EQ(::waitpid(caller, nullptr, 0), caller);
  int status = 0;
  ASSERT_EQ(::waitpid(program.value(), &status, 0), program.value());
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

INSTANTIATE_TEST_SUITE_P(AsTheCaller, ParentDeathTest, testing::Values(std::nullopt));
INSTANTIATE_TEST_SUITE_P(AsAnotherUser, ParentDeathTest, testing::Values(kNobody));

}  // namespace
}  // namespace base
