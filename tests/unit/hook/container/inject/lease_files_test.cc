// SPDX-License-Identifier: Apache-2.0
#include "hook/container/inject/lease_files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>

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

TEST(LeaseFiles, MayBeInFoldersThatAContainerCanList) {
  const test::TempDir dir;
  ASSERT_TRUE(test::succeeds(write_lease_files(dir.path(), kId, {{"d/a", "1"}, {"d/b", "2"}})));
  EXPECT_EQ(mode_of(lease_dir(dir.path(), kId) + "/d"), 0755U);
  EXPECT_EQ(mode_of(lease_dir(dir.path(), kId) + "/d/a"), 0444U);
  EXPECT_EQ(read_lease_file(dir.path(), kId, "d/b").value(), "2");
}

TEST(LeaseFiles, OfABuildBeforeTheFoldersAreFoundToo) {
  const test::TempDir dir;
  ASSERT_TRUE(test::succeeds(write_lease_files(dir.path(), kId, {{"b", "old"}})));
  EXPECT_EQ(read_lease_file(dir.path(), kId, "d/b").value(), "old");
  ASSERT_TRUE(test::succeeds(put_lease_file(dir.path(), kId, "d/b", "new")));
  EXPECT_EQ(base::read_file(lease_dir(dir.path(), kId) + "/b", 10).value(), "new");
  ASSERT_TRUE(test::succeeds(write_lease_files(dir.path(), kId, {{"d/b", "2"}})));
  EXPECT_EQ(read_lease_file(dir.path(), kId, "d/b").value(), "2");
  EXPECT_TRUE(test::fails(read_lease_file(dir.path(), kId, "d/c"), base::Code::kNotFound, "d/c"));
}

TEST(LeaseFiles, AreRemovedWithTheirDirectory) {
  const test::TempDir dir;
  ASSERT_TRUE(test::succeeds(write_lease_files(dir.path(), kId, {{"a", "1"}, {"d/b", "2"}})));
  ASSERT_TRUE(test::succeeds(write_lease_files(dir.path(), "another", {{"a", "1"}})));
  EXPECT_EQ(remove_lease_files(dir.path(), kId).value(), Removed::kNow);
  EXPECT_EQ(remove_lease_files(dir.path(), kId).value(), Removed::kWasAbsent);
  EXPECT_EQ(base::read_file(lease_dir(dir.path(), "another") + "/a", 10).value(), "1");
}

// A process of the container that is root, and so owns the files, can take a lease on one. To open
// the file, for reading or for writing, could then take until the kernel breaks the lease, after
// 45 s.
class HeldLeaseFile : public testing::TestWithParam<int> {};

TEST_P(HeldLeaseFile, IsReplacedAtOnce) {
  const test::TempDir dir;
  ASSERT_TRUE(test::succeeds(write_lease_files(dir.path(), kId, {{"a", "1"}})));
  const std::string path = lease_dir(dir.path(), kId) + "/a";
  const base::Fd held = base::open_at(AT_FDCWD, path, O_RDONLY).take();
  (void)::signal(SIGIO, SIG_IGN);
  ASSERT_EQ(::fcntl(held.get(), F_SETLEASE, GetParam()), 0);
  ASSERT_TRUE(test::succeeds(put_lease_file(dir.path(), kId, "a", "22")));
  EXPECT_EQ(::fcntl(held.get(), F_GETLEASE), GetParam()) << "it was not broken";
  EXPECT_EQ(read_lease_file(dir.path(), kId, "a").value(), "22");
}

INSTANTIATE_TEST_SUITE_P(Leases, HeldLeaseFile, testing::Values(F_RDLCK, F_WRLCK));

TEST(LeaseFiles, AreNotWaitedFor) {
  const test::TempDir dir;
  ASSERT_TRUE(test::succeeds(write_lease_files(dir.path(), kId, {{"a", "1"}})));
  const base::Fd held = base::open_at(AT_FDCWD, lease_dir(dir.path(), kId) + "/a", O_RDONLY).take();
  (void)::signal(SIGIO, SIG_IGN);
  ASSERT_EQ(::fcntl(held.get(), F_SETLEASE, F_WRLCK), 0);
  const base::Result<std::string> text = read_lease_file(dir.path(), kId, "a");
  ASSERT_FALSE(text.ok());
  EXPECT_EQ(text.error().sys_errno(), EWOULDBLOCK);
}

TEST(LeaseFiles, OneMoreIsNotAddedToALeaseThatWasReleased) {
  const test::TempDir dir;
  ASSERT_TRUE(test::succeeds(write_lease_files(dir.path(), kId, {{"a", "1"}})));
  ASSERT_TRUE(test::succeeds(put_lease_file(dir.path(), kId, "b", "2")));
  EXPECT_EQ(read_lease_file(dir.path(), kId, "b").value(), "2");
  ASSERT_TRUE(test::succeeds(remove_lease_files(dir.path(), kId)));
  EXPECT_TRUE(test::fails(put_lease_file(dir.path(), kId, "b", "2"), base::Code::kNotFound));
  EXPECT_NE(::access(lease_dir(dir.path(), kId).c_str(), F_OK), 0);
}

}  // namespace
}  // namespace hook::inject
