// SPDX-License-Identifier: Apache-2.0
#include "netns/handle.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "base/fs.h"
#include "base/names.h"
#include "base/text.h"
#include "tests/kernel/netns/world.h"
#include "tests/support/requires.h"
#include "tests/support/temp_dir.h"

namespace netns {
namespace {

using namespace base::names;
using base::Removed;

// In a mount namespace of its own, so that no mount outlives a test.
class HandleTest : public testing::Test {
 protected:
  void SetUp() override {
    REQUIRES_ROOT();
    home_ = must(base::open_at(AT_FDCWD, "/proc/self/ns/mnt", O_RDONLY));
    ASSERT_EQ(unshare(CLONE_NEWNS), 0);
    // Shared, as systemd mounts it.
    ASSERT_EQ(mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr), 0);
    ASSERT_EQ(mount(nullptr, "/", nullptr, MS_SHARED, nullptr), 0);
  }
  void TearDown() override {
    if (home_.valid() && setns(home_.get(), CLONE_NEWNS) != 0) std::abort();
  }
  static size_t mounts_below(const std::string& directory) {
    const std::string table = must(base::read_file("/proc/self/mountinfo", 1 << 20));
    size_t count = 0;
    for (const std::string_view line : base::split(table, '\n')) {
      if (line.find(directory) != std::string_view::npos) ++count;
    }
    return count;
  }

  const test::TempDir temp_;
  const std::string directory_ = str(temp_.path(), "/handles");

 private:
  base::Fd home_;
};

TEST_F(HandleTest, KeepsANamespaceAliveUntilItIsDropped) {
  std::optional<Namespace> container = make_namespace();
  run_ip(*container, "link add br0 type bridge");
  const Identity identity = container->identity();
  ASSERT_TRUE(keep(directory_, "lease-1", *container).ok());
  container.reset();
  {
    const auto kept = must(find_kept(directory_, "lease-1"));
    ASSERT_TRUE(kept.has_value());
    EXPECT_EQ(kept->identity(), identity);
    EXPECT_THAT(run_ip(*kept, "-o link show"), testing::HasSubstr("br0"));
    EXPECT_EQ(must(drop(directory_, "lease-1")), Removed::kNow);
  }
  EXPECT_FALSE(must(find_kept(directory_, "lease-1")).has_value());
  EXPECT_EQ(must(drop(directory_, "lease-1")), Removed::kWasAbsent);
}

TEST_F(HandleTest, KeepsSeveralAndTheSameOneTwice) {
  const Namespace one = make_namespace();
  const Namespace two = make_namespace();
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(keep(directory_, "lease-1", one).ok());
    ASSERT_TRUE(keep(directory_, "lease-2", two).ok());
  }
  EXPECT_EQ(mounts_below(directory_), 3U);
  EXPECT_EQ(must(drop(directory_, "lease-1")), Removed::kNow);
  EXPECT_EQ(must(find_kept(directory_, "lease-2"))->identity(), two.identity());
  const auto other = keep(directory_, "lease-2", one);
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.error().code(), Code::kExists);
}

TEST_F(HandleTest, IsForRootAndInNoOtherMountNamespaceOfThisMachine) {
  ASSERT_TRUE(keep(directory_, "lease-1", make_namespace()).ok());
  struct stat status {};
  ASSERT_EQ(stat(directory_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0700U);
  const std::string table = must(base::read_file("/proc/self/mountinfo", 1 << 20));
  for (const std::string_view line : base::split(table, '\n')) {
    if (line.find(directory_) == std::string_view::npos) continue;
    EXPECT_EQ(line.find("shared:"), std::string_view::npos) << line;
  }
}

// A service that has a mount namespace of its own has a copy of every mount.
TEST_F(HandleTest, IsDroppedInMountNamespacesThatCopiedItToo) {
  ASSERT_TRUE(keep(directory_, "lease-1", make_namespace()).ok());
  int started[2];
  int ended[2];
  ASSERT_EQ(pipe(started), 0);
  ASSERT_EQ(pipe(ended), 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    close(ended[1]);
    char byte = 0;
    if (unshare(CLONE_NEWNS) != 0 || write(started[1], &byte, 1) != 1) _exit(2);
    (void)!read(ended[0], &byte, 1);
    _exit(mounts_below(str(directory_, "/lease-1")) == 0 ? 0 : 1);
  }
  close(ended[0]);
  char byte = 0;
  EXPECT_EQ(read(started[0], &byte, 1), 1);
  EXPECT_EQ(must(drop(directory_, "lease-1")), Removed::kNow);
  close(ended[1]);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  close(started[0]);
  close(started[1]);
}

TEST_F(HandleTest, TakesOverWhatAKeepThatWasCutShortLeft) {
  ASSERT_TRUE(base::ensure_dir(directory_, 0700).ok());
  ASSERT_TRUE(base::write_atomic(str(directory_, "/lease-1"), "", {}).ok());
  EXPECT_FALSE(must(find_kept(directory_, "lease-1")).has_value());
  const Namespace container = make_namespace();
  ASSERT_TRUE(keep(directory_, "lease-1", container).ok());
  EXPECT_EQ(must(find_kept(directory_, "lease-1"))->identity(), container.identity());
}

TEST_F(HandleTest, IsAbsentWhereNothingWasEverKept) {
  EXPECT_FALSE(must(find_kept(directory_, "lease-1")).has_value());
  EXPECT_EQ(must(drop(directory_, "lease-1")), Removed::kWasAbsent);
}

TEST_F(HandleTest, RefusesNamesThatLeadElsewhere) {
  const Namespace container = make_namespace();
  for (const std::string& name : {std::string(), std::string("."), std::string(".."),
                                  std::string("../x"), std::string("a/b"), std::string(300, 'x')}) {
    EXPECT_EQ(keep(directory_, name, container).error().code(), Code::kInvalid) << name;
    EXPECT_EQ(find_kept(directory_, name).error().code(), Code::kInvalid) << name;
    EXPECT_EQ(drop(directory_, name).error().code(), Code::kInvalid) << name;
  }
}

TEST_F(HandleTest, FollowsNoLink) {
  ASSERT_TRUE(base::ensure_dir(str(temp_.path(), "/elsewhere"), 0700).ok());
  ASSERT_EQ(symlink("elsewhere", directory_.c_str()), 0);
  EXPECT_FALSE(keep(directory_, "lease-1", make_namespace()).ok());
  ASSERT_EQ(unlink(directory_.c_str()), 0);
}

}  // namespace
}  // namespace netns
