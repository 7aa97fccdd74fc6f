// SPDX-License-Identifier: Apache-2.0
#include "hook/lifecycle/network/network_lock.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <optional>
#include <string>

#include "base/names.h"
#include "base/text.h"
#include "tests/support/outcome.h"
#include "tests/support/temp_dir.h"

namespace hook::lifecycle::network {
namespace {

using namespace base::names;
using std::chrono::milliseconds;

class NetworkLockTest : public testing::Test {
 protected:
  base::Result<NetworkLock> take(uint64_t cookie) {
    return NetworkLock::take(dir_ / "run", cookie, Deadline::after(milliseconds(10)));
  }
  test::TempDir dir_;
};

TEST_F(NetworkLockTest, IsForOneAtATime) {
  std::optional<NetworkLock> held = take(7).take();
  EXPECT_TRUE(test::fails(take(7), Code::kTimeout, "start the container again"));
  EXPECT_TRUE(test::fails(take(7), Code::kTimeout, str(": process ", ::getpid(), " (")));
  held.reset();
  EXPECT_TRUE(test::succeeds(take(7)));
}

// As an operator, or a debugger, may stop `ipuctl gc`.
TEST_F(NetworkLockTest, NamesAHolderThatIsStopped) {
  const pid_t child = ::fork();
  if (child == 0) {
    const auto held = take(~uint64_t{0});
    (void)::raise(held.ok() ? SIGSTOP : SIGKILL);
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, WUNTRACED), child);
  ASSERT_TRUE(WIFSTOPPED(status));
  const std::string pid = std::to_string(child);
  EXPECT_TRUE(test::fails(take(~uint64_t{0}), Code::kTimeout, ", and is stopped: process " + pid));
  EXPECT_TRUE(test::fails(take(~uint64_t{0}), Code::kTimeout, "by 'kill -CONT " + pid + "'"));
  EXPECT_TRUE(test::succeeds(take(7)));
  ASSERT_EQ(::kill(child, SIGCONT), 0);
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(test::succeeds(take(~uint64_t{0})));
}

TEST_F(NetworkLockTest, LeavesOtherNamespacesAlone) {
  const NetworkLock held = take(7).take();
  EXPECT_TRUE(test::succeeds(take(8)));
  EXPECT_TRUE(test::succeeds(take(~uint64_t{0})));
}

}  // namespace
}  // namespace hook::lifecycle::network
