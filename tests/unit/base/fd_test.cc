// SPDX-License-Identifier: Apache-2.0
#include "base/fd.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>

namespace base {
namespace {

int open_null() { return ::open("/dev/null", O_RDONLY | O_CLOEXEC); }

bool is_open(int fd) { return ::fcntl(fd, F_GETFD) >= 0; }

TEST(Fd, ClosesItsDescriptorWhenItEnds) {
  const int number = open_null();
  {
    const Fd fd(number);
    EXPECT_TRUE(is_open(number));
  }
  EXPECT_FALSE(is_open(number));
}

TEST(Fd, IsInvalidByDefault) { EXPECT_FALSE(Fd().valid()); }

TEST(Fd, IsValidForDescriptorZero) {
  Fd fd(0);
  EXPECT_TRUE(fd.valid());
  EXPECT_EQ(fd.release(), 0);
}

TEST(Fd, GivesTheDescriptorAwayWhenMovedFrom) {
  const int number = open_null();
  Fd first(number);
  const Fd second(std::move(first));
  EXPECT_FALSE(first.valid());  // NOLINT(bugprone-use-after-move): what is left is the promise
  EXPECT_EQ(second.get(), number);
  EXPECT_TRUE(is_open(number));
}

TEST(Fd, ClosesTheOldDescriptorWhenMoveAssigned) {
  const int old_number = open_null();
  const int new_number = open_null();
  Fd fd(old_number);
  fd = Fd(new_number);
  EXPECT_FALSE(is_open(old_number));
  EXPECT_TRUE(is_open(new_number));
}

TEST(Fd, SurvivesAMoveToItself) {
  Fd fd(open_null());
  Fd& same = fd;
  fd = std::move(same);
  EXPECT_TRUE(fd.valid());
  EXPECT_TRUE(is_open(fd.get()));
}

TEST(Fd, DoesNotCloseWhatItReleased) {
  const int number = open_null();
  {
    Fd fd(number);
    EXPECT_EQ(fd.release(), number);
    EXPECT_FALSE(fd.valid());
  }
  EXPECT_TRUE(is_open(number));
  EXPECT_EQ(::close(number), 0);
}

TEST(Fd, KeepsErrnoWhenItCloses) {
  errno = ENOSPC;
  { const Fd fd(12345); }  // not open: close(2) fails
  EXPECT_EQ(errno, ENOSPC);
}

}  // namespace
}  // namespace base
