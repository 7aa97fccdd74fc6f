// SPDX-License-Identifier: Apache-2.0
// Owners of files, which takes root.
#include "base/fs.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/support/outcome.h"
#include "tests/support/requires.h"
#include "tests/support/temp_dir.h"

namespace base {
namespace {

TEST(WriteAtomicAsRoot, SetsTheOwnerAndLeavesAnUnsetOneAsTheCaller) {
  REQUIRES_ROOT();
  const test::TempDir dir;
  EXPECT_TRUE(test::succeeds(write_atomic(dir / "f", "x", {0640, 65534, 4})));
  EXPECT_TRUE(test::succeeds(write_atomic(dir / "g", "x", {0640, {}, 4})));
  struct stat status {};
  ASSERT_EQ(::stat((dir / "f").c_str(), &status), 0);
  EXPECT_EQ(status.st_uid, 65534U);
  EXPECT_EQ(status.st_gid, 4U);
  EXPECT_EQ(status.st_mode & 07777, 0640U);
  ASSERT_EQ(::stat((dir / "g").c_str(), &status), 0);
  EXPECT_EQ(status.st_uid, 0U);
  EXPECT_EQ(status.st_gid, 4U);
}

}  // namespace
}  // namespace base
