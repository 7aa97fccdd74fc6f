// SPDX-License-Identifier: Apache-2.0
#include "hook/container/inject/mount_points.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "base/fs.h"
#include "tests/support/outcome.h"
#include "tests/support/requires.h"
#include "tests/support/temp_dir.h"

namespace hook::inject {
namespace {

using base::Code;
using test::fails;
using test::succeeds;

class MountPointTest : public testing::Test {
 protected:
  void SetUp() override {
    spec_.root = "rootfs";
    folder("rootfs");
  }
  void folder(const std::string& name) const { std::filesystem::create_directories(dir_ / name); }
  void file(const std::string& name) const {
    ASSERT_TRUE(succeeds(base::write_atomic(dir_ / name, "", {})));
  }
  void link(const std::string& target, const std::string& name) const {
    ASSERT_EQ(::symlink(target.c_str(), (dir_ / name).c_str()), 0);
  }
  [[nodiscard]] base::Status check() const {
    return check_mount_point(spec_, dir_.path(), "/run/ipu");
  }
  test::TempDir dir_;
  oci::SpecView spec_;
};

TEST_F(MountPointTest, IsThereOrCanBeMade) {
  EXPECT_TRUE(succeeds(check()));
  folder("rootfs/run/ipu");
  EXPECT_TRUE(succeeds(check()));
  spec_.root = "absent";
  EXPECT_TRUE(succeeds(check()));
}

TEST_F(MountPointTest, IsNotInAFile) {
  file("rootfs/run");
  EXPECT_TRUE(fails(check(), Code::kUnsupported, "'/run/ipu' of the container: its '/run' is not"));
  std::filesystem::remove(dir_ / "rootfs/run");
  folder("rootfs/run");
  file("rootfs/run/ipu");
  EXPECT_TRUE(fails(check(), Code::kUnsupported, "its '/run/ipu' is not a directory"));
}

TEST_F(MountPointTest, MayBeBehindALinkWithinTheRoot) {
  link("/var/run", "rootfs/run");
  EXPECT_TRUE(succeeds(check()));
  folder("rootfs/var");
  file("rootfs/var/run");
  EXPECT_TRUE(fails(check(), Code::kUnsupported, "its '/var/run' is not a directory"));
  std::filesystem::remove(dir_ / "rootfs/run");
  link("../../x/../var/run/y", "rootfs/run");
  EXPECT_TRUE(fails(check(), Code::kUnsupported, "its '/var/run' is not a directory"));
  std::filesystem::remove(dir_ / "rootfs/run");
  link("run", "rootfs/run");
  EXPECT_TRUE(succeeds(check())) << "the runtime's to refuse";
  std::filesystem::remove(dir_ / "rootfs/run");
  link("/", "rootfs/run");
  EXPECT_TRUE(succeeds(check()));
}

TEST_F(MountPointTest, IsNotMadeInAReadOnlyMount) {
  folder("theirs");
  spec_.mounts = {{"/run", dir_ / "theirs", true, true}};
  EXPECT_TRUE(fails(check(), Code::kUnsupported, "its '/run' is read-only and has no 'ipu'"));
  folder("theirs/ipu");
  EXPECT_TRUE(succeeds(check()));
  spec_.mounts.push_back({"/run/ipu", dir_ / "absent", true, true});
  EXPECT_TRUE(succeeds(check())) << "it gives way";
}

TEST_F(MountPointTest, MayBeInAMountThatIsWritableOrNew) {
  folder("theirs");
  spec_.mounts = {{"/run", dir_ / "absent", true, true}, {"/run", "theirs", true, false}};
  EXPECT_TRUE(succeeds(check())) << "the last one counts";
  spec_.mounts = {{"/run", "tmpfs", false, true}};
  EXPECT_TRUE(succeeds(check()));
  file("conf");
  spec_.mounts = {{"/run", "conf", true, false}};
  EXPECT_TRUE(fails(check(), Code::kUnsupported, "'/run' is a mount of a file"));
}

TEST_F(MountPointTest, IsNotMadeByAUserNamespaceThatDoesNotHaveTheOwner) {
  REQUIRES_ROOT();
  spec_.uids = spec_.gids = {{100000, 65536}};
  EXPECT_TRUE(fails(check(), Code::kUnsupported, "its '/' belongs to user 0, who is not in the"));
  folder("rootfs/run/ipu");
  EXPECT_TRUE(succeeds(check()));
  std::filesystem::remove(dir_ / "rootfs/run/ipu");
  ASSERT_EQ(::chown((dir_ / "rootfs/run").c_str(), 100000, 165535), 0);
  EXPECT_TRUE(succeeds(check()));
  ASSERT_EQ(::chown((dir_ / "rootfs/run").c_str(), 100000, 165536), 0);
  EXPECT_FALSE(check().ok());
  ASSERT_EQ(::chmod((dir_ / "rootfs/run").c_str(), 0777), 0);
  EXPECT_TRUE(succeeds(check()));
}

}  // namespace
}  // namespace hook::inject
