// SPDX-License-Identifier: Apache-2.0
#include "hook/container/inject/lease_files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "tests/support/outcome.h"
#include "tests/support/temp_dir.h"

namespace hook::inject {
namespace {

using base::Removed;

constexpr const char* kId = "0123456789abcdef0123456789abcdef";

mode_t mode_of(const std::string& path) {
  struct stat status {};
  EXPECT_EQ(::stat(path.c_str(), &status), 0) << path;
  return status.st_mode & 07777;
}

TEST(LeaseFiles, AreReadableByAllInADirectoryThatNobodyCanList) {
  const test::TempDir dir;
  const std::string run_dir = dir / "run";
  ASSERT_TRUE(test::succeeds(write_lease_files(run_dir, kId, {{"a", "1"}, {"b", "2"}})));
  const std::string directory = lease_dir(run_dir, kId);
  EXPECT_EQ(directory, run_dir + "/leases/" + kId);
  EXPECT_EQ(mode_of(run_dir), 0711U);
  EXPECT_EQ(mode_of(run_dir + "/leases"), 0711U);
  EXPECT_EQ(mode_of(directory), 0711U);
  EXPECT_EQ(mode_of(directory + "/a"), 0444U);
  EXPECT_EQ(base::read_file(directory + "/b", 10).value(), "2");
}

TEST(LeaseFiles, AreRemovedWithTheirDirectory) {
  const test::TempDir dir;
  ASSERT_TRUE(test::succeeds(write_lease_files(dir.path(), kId, {{"a", "1"}})));
  ASSERT_TRUE(test::succeeds(write_lease_files(dir.path(), "another", {{"a", "1"}})));
  EXPECT_EQ(remove_lease_files(dir.path(), kId).value(), Removed::kNow);
  EXPECT_EQ(remove_lease_files(dir.path(), kId).value(), Removed::kWasAbsent);
  EXPECT_EQ(base::read_file(lease_dir(dir.path(), "another") + "/a", 10).value(), "1");
}

TEST(LeaseFiles, OneMoreIsNotAddedToALeaseThatWasReleased) {
  const test::TempDir dir;
  ASSERT_TRUE(test::succeeds(write_lease_files(dir.path(), kId, {{"a", "1"}})));
  ASSERT_TRUE(test::succeeds(add_lease_file(dir.path(), kId, "b", "2")));
  EXPECT_EQ(read_lease_file(dir.path(), kId, "b").value(), "2");
  ASSERT_TRUE(test::succeeds(remove_lease_files(dir.path(), kId)));
  EXPECT_TRUE(test::fails(add_lease_file(dir.path(), kId, "b", "2"), base::Code::kNotFound));
  EXPECT_NE(::access(lease_dir(dir.path(), kId).c_str(), F_OK), 0);
}

}  // namespace
}  // namespace hook::inject
