// SPDX-License-Identifier: Apache-2.0
#include "base/resident.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/fs.h"
#include "base/text.h"
#include "tests/support/outcome.h"
#include "tests/support/requires.h"

namespace base {
namespace {

using std::chrono::milliseconds;

Deadline in_time() { return Deadline::after(milliseconds(30'000)); }

class ResidentTest : public testing::Test {
 protected:
  void SetUp() override {
    REQUIRES_ROOT();
    ASSERT_EQ(::pipe2(ends_, O_CLOEXEC), 0);
    said_ = Fd(ends_[0]);
    says_ = Fd(ends_[1]);
  }
  void TearDown() override {
    EXPECT_TRUE(test::succeeds(end_resident(process_, in_time())));
    // Nobody else reaps it here.
    while (::waitpid(-1, nullptr, WNOHANG) > 0) continue;
  }

  // SCRIPT has the writing end of a pipe as descriptor 3.
  Resident shell(const std::string& script) const {
    return {"/bin/sh", {"sh", "-c", script}, STDIN_FILENO, {says_.get()}, {65534, 65534}};
  }
  Status start(const Resident& program) {
    const auto record = [this](const ProcessId& process) {
      process_ = process;
      return Status();
    };
    return start_resident(program, record, in_time());
  }
  // What programs wrote to descriptor 3, once no process has it any more.
  std::string said() {
    says_.reset();
    Result<std::string> text = read_all(said_.get(), 1000, "pipe");
    return text.ok() ? text.value() : text.error().message();
  }

  int ends_[2] = {-1, -1};
  Fd said_;
  Fd says_;
  ProcessId process_;
};

TEST_F(ResidentTest, StaysAfterItIsReady) {
  ASSERT_TRUE(test::succeeds(start(shell("printf ready; exec sleep 600"))));
  EXPECT_TRUE(is_running(process_));
  ASSERT_TRUE(test::succeeds(end_resident(process_, in_time())));
  EXPECT_FALSE(is_running(process_));
  EXPECT_TRUE(test::succeeds(end_resident(process_, in_time()))) << "it has ended already";
}

TEST_F(ResidentTest, IsTheUserWithoutRights) {
  ASSERT_TRUE(test::succeeds(start(
      shell("{ id -u; id -G; grep -c '^Cap.*0000000000000000' /proc/self/status;"
            " sed -n 's/^NoNewPrivs:.//p' /proc/self/status; pwd; nice; } >&3; printf ready"))));
  EXPECT_EQ(said(), "65534\n65534\n5\n1\n/\n19\n");
}

TEST_F(ResidentTest, HasItsDescriptorsAlone) {
  Resident lister = shell("");
  lister.path = "/bin/ls";
  lister.args = {"ls", "-m", "/proc/self/fd"};
  // The last one is of the directory. What it lists is taken for the reason why it does not start.
  EXPECT_TRUE(test::fails(start(lister), Code::kInternal, "start '/bin/ls': 0, 1, 2, 3, 4"));
}

TEST_F(ResidentTest, SaysWhyItCannotStart) {
  EXPECT_TRUE(test::fails(start(shell("printf 'no such thing'; exec sleep 600")), Code::kInternal,
                          "start '/bin/sh': no such thing"));
  EXPECT_FALSE(is_running(process_));
  EXPECT_TRUE(test::fails(start(shell("exit 1")), Code::kInternal, "ended before it was ready"));
  Resident absent = shell("");
  absent.path = "/nonexistent";
  EXPECT_TRUE(test::fails(start(absent), Code::kInternal, "execute it: No such file"));
}

TEST_F(ResidentTest, IsEndedIfItIsNotReadyInTime) {
  const auto record = [this](const ProcessId& process) {
    process_ = process;
    return Status();
  };
  EXPECT_TRUE(test::fails(
      start_resident(shell("exec sleep 600"), record, Deadline::after(milliseconds(50))),
      Code::kTimeout, "ready in time"));
  EXPECT_FALSE(is_running(process_));
}

TEST_F(ResidentTest, NeverRunsIfItIsNotRecorded) {
  const auto refuse = [](const ProcessId&) -> Status { return Error(Code::kBusy, "not now"); };
  EXPECT_TRUE(test::fails(start_resident(shell("echo ran >&3; printf ready"), refuse, in_time()),
                          Code::kBusy, "not now"));
  EXPECT_EQ(said(), "");
}

TEST_F(ResidentTest, NeverRunsIfItsStarterEndsBeforeItIsRecorded) {
  const pid_t starter = ::fork();
  if (starter == 0) {
    const auto die = [](const ProcessId&) -> Status { ::_exit(0); };
    (void)start_resident(shell("echo ran >&3; printf ready"), die, in_time());
    ::_exit(1);
  }
  int status = 1;
  ASSERT_EQ(::waitpid(starter, &status, 0), starter);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(said(), "");
}

TEST_F(ResidentTest, OfAnotherPidNamespaceIsNotEnded) {
  ProcessId other = current_process().value();
  other.pid_namespace += 1;
  EXPECT_TRUE(
      test::fails(end_resident(other, in_time()), Code::kUnsupported, "another pid namespace"));
}

}  // namespace
}  // namespace base
