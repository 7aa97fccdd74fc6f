// SPDX-License-Identifier: Apache-2.0
#include "base/rlimit.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fs.h"
#include "tests/support/outcome.h"
#include "tests/support/temp_dir.h"

namespace base {
namespace {

// Whether a child of this process can have LIMIT bytes of locked memory.
bool can_be_given(rlim_t limit) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    const rlimit wanted{limit, limit};
    ::_exit(::setrlimit(RLIMIT_MEMLOCK, &wanted) == 0 ? 0 : 1);
  }
  int status = -1;
  return ::waitpid(pid, &status, 0) == pid && status == 0;
}

TEST(HighestMemlock, IsWhatAChildCanBeGivenAndNothingMoreIs) {
  const Result<uint64_t> highest = highest_memlock();
  ASSERT_TRUE(test::succeeds(highest));
  EXPECT_TRUE(can_be_given(highest.value()));
  EXPECT_TRUE(highest.value() == RLIM_INFINITY || !can_be_given(highest.value() + 1));
}

TEST(HighestMemlock, OfAnotherProcessIsReadFromProc) {
  EXPECT_EQ(highest_memlock_of("/proc", ::getpid()).take(), highest_memlock().take());
  const test::TempDir dir;
  const auto memlock_of = [&](const std::string& capabilities, const std::string& hard) {
    EXPECT_TRUE(
        write_atomic(dir / "7/status", "Name:\tx\nCapEff:\t" + capabilities + "\n", {}).ok());
    EXPECT_TRUE(
        write_atomic(dir / "7/limits",
                     "Limit  Soft Limit  Hard Limit  Units\nMax locked memory         65536 "
                     "               " +
                         hard + "                bytes\n",
                     {})
            .ok());
    return highest_memlock_of(dir / "", 7);
  };
  ASSERT_EQ(::mkdir((dir / "7").c_str(), 0700), 0);
  EXPECT_EQ(memlock_of("0000000000000000", "131072").take(), 131072U);
  EXPECT_EQ(memlock_of("0000000000000000", "unlimited").take(), RLIM_INFINITY);
  EXPECT_EQ(memlock_of("000001ffffffffff", "131072").take(), RLIM_INFINITY);
  EXPECT_FALSE(memlock_of("", "131072").ok());
  EXPECT_FALSE(memlock_of("0000000000000000", "x").ok());
}

}  // namespace
}  // namespace base
