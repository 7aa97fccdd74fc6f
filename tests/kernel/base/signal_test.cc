// SPDX-License-Identifier: Apache-2.0
// Signals to exactly one process.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "base/signal.h"
#include "tests/support/outcome.h"

namespace base {
namespace {

class SignalTest : public testing::Test {
 protected:
  void SetUp() override {
    child_ = ::fork();
    ASSERT_GE(child_, 0);
    if (child_ == 0) {
      for (;;) ::pause();
    }
  }
  void TearDown() override {
    if (child_ <= 0) return;
    (void)::kill(child_, SIGKILL);
    (void)::waitpid(child_, nullptr, 0);
  }
  // Returns the signal that ended the child.
  int end() {
    int status = 0;
    EXPECT_EQ(::waitpid(child_, &status, 0), child_);
    child_ = 0;
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  }
  pid_t child_ = 0;
};

TEST_F(SignalTest, ReachesTheProcess) {
  const ProcessId child = identify_process(child_).take();
  ASSERT_TRUE(test::succeeds(signal_process(child, SIGTERM)));
  EXPECT_EQ(end(), SIGTERM);
  EXPECT_TRUE(test::fails(signal_process(child, SIGTERM), Code::kNotFound));
}

TEST_F(SignalTest, SparesALaterProcessWithThePid) {
  ProcessId earlier = identify_process(child_).take();
  --earlier.start_time;
  EXPECT_TRUE(test::fails(signal_process(earlier, SIGKILL), Code::kNotFound));
  ProcessId elsewhere = identify_process(child_).take();
  ++elsewhere.pid_namespace;
  EXPECT_TRUE(test::fails(signal_process(elsewhere, SIGKILL), Code::kUnsupported));
  EXPECT_EQ(::waitpid(child_, nullptr, WNOHANG), 0);
}

}  // namespace
}  // namespace base
