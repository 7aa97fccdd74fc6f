// SPDX-License-Identifier: Apache-2.0
#include "base/rlimit.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/outcome.h"

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

}  // namespace
}  // namespace base
