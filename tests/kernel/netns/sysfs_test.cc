// SPDX-License-Identifier: Apache-2.0
#include "netns/sysfs.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/text.h"
#include "tests/kernel/netns/world.h"

namespace netns {
namespace {

using SysfsTest = World;

bool shows(const Sysfs& sysfs, const std::string& interface) {
  return std::filesystem::exists(base::str(sysfs.path(), "/class/net/", interface));
}

TEST_F(SysfsTest, ShowsTheInterfacesOfItsNamespaceAlone) {
  const Namespace container = make_namespace();
  must(attach(plan(), host(), container));
  const Sysfs inside = must(Sysfs::of(container));
  const Sysfs outside = must(Sysfs::of(host()));
  EXPECT_TRUE(shows(inside, "roce0"));
  EXPECT_FALSE(shows(inside, "host0"));
  EXPECT_TRUE(shows(outside, "host0"));
  EXPECT_FALSE(shows(outside, "roce0"));
}

TEST_F(SysfsTest, LeavesTheThreadWhereItWas) {
  const Identity before = must(Namespace::current()).identity();
  const Sysfs inside = must(Sysfs::of(make_namespace()));
  EXPECT_EQ(must(Namespace::current()).identity(), before);
}

}  // namespace
}  // namespace netns
