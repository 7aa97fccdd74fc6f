// SPDX-License-Identifier: Apache-2.0
// Which links count, with one to a device that every host has.
#include "cmd/ipuctl/doctor/device_links.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/fs.h"
#include "tests/support/outcome.h"
#include "tests/support/temp_dir.h"

namespace ipuctl::doctor {
namespace {

const hook::oci::DeviceNode kNull{"/dev/null", 1, 3};

class DeviceLinksTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(test::succeeds(base::ensure_dir(dir_ / "char", 0755))); }

  void link(const char* target) {
    const std::string path = dir_ / "char/1:3";
    ASSERT_TRUE(test::succeeds(base::remove_file(path)));
    ASSERT_EQ(::symlink(target, path.c_str()), 0);
  }
  bool is_there() { return look_at_device_links(dir_.path(), {kNull}).at(0).is_there; }

  test::TempDir dir_;
};

TEST_F(DeviceLinksTest, CountOnlyWhereTheyLeadToThatDevice) {
  EXPECT_FALSE(is_there());
  link("/dev/null");
  EXPECT_TRUE(is_there());
  link("/dev/zero");
  EXPECT_FALSE(is_there());
  link("/dev/no-such-device");
  EXPECT_FALSE(is_there());
  link("/etc/passwd");
  EXPECT_FALSE(is_there());
}

TEST_F(DeviceLinksTest, AreLookedAtOnceForADeviceOfSeveralRails) {
  const hook::oci::DeviceNode zero{"/dev/zero", 1, 5};
  link("/dev/null");
  const std::vector<DeviceLink> links = look_at_device_links(dir_.path(), {kNull, zero, kNull});
  ASSERT_EQ(links.size(), 2U);
  EXPECT_EQ(links[0].device, kNull);
  EXPECT_TRUE(links[0].is_there);
  EXPECT_EQ(links[1].device, zero);
  EXPECT_FALSE(links[1].is_there);
}

}  // namespace
}  // namespace ipuctl::doctor
