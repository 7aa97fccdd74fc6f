// SPDX-License-Identifier: Apache-2.0
#include "cmd/ipuctl/info/kernel.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/support/temp_dir.h"

namespace ipuctl::info {
namespace {

// A file system with the files of a kernel.
class KernelTest : public ::testing::Test {
 protected:
  void write(const std::string& path, const std::string& text) {
    const std::filesystem::path file = root() + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  void make(const std::string& folder) { std::filesystem::create_directories(root() + folder); }
  [[nodiscard]] std::string root() const { return directory_.path(); }

  // "yes", "no" or "unknown", and what it says.
  [[nodiscard]] std::string shown(const std::string& name) const {
    for (const Feature& feature : look_at_kernel(root(), "6.1.0")) {
      if (feature.name != name) continue;
      const char* const word = !feature.is_there ? "unknown" : *feature.is_there ? "yes" : "no";
      return std::string(word) + ": " + feature.says;
    }
    return "not listed";
  }

 private:
  test::TempDir directory_;
};

TEST_F(KernelTest, WhatNoFileTellsIsUnknown) {
  for (const char* const name : {"macvlan", "nftables", "nftables netdev", "rdma"})
    EXPECT_EQ(shown(name), "unknown: neither /lib/modules/6.1.0 nor /boot/config-6.1.0 tells");
  EXPECT_TRUE(shown("security modules").starts_with("unknown"));
}

TEST_F(KernelTest, AModuleIsLoadedOrBuiltInOrCanBeLoaded) {
  write("/lib/modules/6.1.0/modules.dep", "kernel/drivers/net/macvlan.ko.xz:\n");
  EXPECT_EQ(shown("macvlan"), "yes: macvlan is a module, not loaded now");
  EXPECT_EQ(shown("nftables"), "no: nf_tables is not among the modules of 6.1.0");
  write("/lib/modules/6.1.0/modules.builtin", "kernel/net/netfilter/nf_tables.ko\n");
  EXPECT_EQ(shown("nftables"), "yes: built in");
  make("/sys/module/macvlan");
  EXPECT_EQ(shown("macvlan"), "yes: macvlan is loaded");
}

TEST_F(KernelTest, AModuleWithALongerNameIsAnotherOne) {
  write("/lib/modules/6.1.0/modules.dep",
        "kernel/drivers/net/ipvlan/macvlanx.ko:\nkernel/xmacvlan.ko:\nkernel/macvlan.koala:\n");
  EXPECT_EQ(shown("macvlan"), "no: macvlan is not among the modules of 6.1.0");
}

TEST_F(KernelTest, AnOptionThatIsNotSetDecides) {
  write("/boot/config-6.1.0",
        "CONFIG_MACVLAN=m\nCONFIG_NF_TABLES=y\n# CONFIG_NF_TABLES_NETDEV is not set\n"
        "CONFIG_INFINIBAND_X=y\n");
  make("/sys/module/nf_tables");
  EXPECT_EQ(shown("nftables"), "yes: nf_tables is loaded");
  EXPECT_EQ(shown("nftables netdev"), "no: CONFIG_NF_TABLES_NETDEV is not set");
  EXPECT_EQ(shown("rdma"), "no: CONFIG_INFINIBAND is not set");
}

TEST_F(KernelTest, TellsTheModeOfCgroups) {
  EXPECT_TRUE(shown("cgroup").starts_with("no"));
  make("/sys/fs/cgroup/devices");
  EXPECT_EQ(shown("cgroup"), "yes: v1");
  write("/sys/fs/cgroup/unified/cgroup.controllers", "");
  EXPECT_EQ(shown("cgroup"), "yes: v1 with v2 (hybrid)");
  write("/sys/fs/cgroup/cgroup.controllers", "cpu\n");
  EXPECT_EQ(shown("cgroup"), "yes: v2");
}

TEST_F(KernelTest, TellsWhoMayMakeUserNamespaces) {
  EXPECT_EQ(shown("user namespaces"), "no: the kernel has none");
  write("/proc/sys/user/max_user_namespaces", "0\n");
  EXPECT_EQ(shown("user namespaces"), "no: user.max_user_namespaces is 0");
  write("/proc/sys/user/max_user_namespaces", "63\n");
  EXPECT_EQ(shown("user namespaces"), "yes: at most 63");
  write("/proc/sys/kernel/unprivileged_userns_clone", "0\n");
  EXPECT_EQ(shown("user namespaces"), "yes: for root only");
}

TEST_F(KernelTest, NamesTheRdmaDevices) {
  EXPECT_EQ(shown("rdma devices"), "no: none in /sys/class/infiniband");
  make("/sys/class/infiniband/mlx5_1");
  make("/sys/class/infiniband/mlx5_0");
  EXPECT_EQ(shown("rdma devices"), "yes: mlx5_0, mlx5_1; no rdma_cm");
  make("/sys/class/misc/rdma_cm");
  EXPECT_EQ(shown("rdma devices"), "yes: mlx5_0, mlx5_1");
}

TEST_F(KernelTest, AValueIsOneLineWithoutControlCharacters) {
  write("/sys/kernel/security/lsm", "apparmor\x1b[2J\nmore\n");
  EXPECT_EQ(shown("security modules"), "yes: apparmor [2J more");
}

}  // namespace
}  // namespace ipuctl::info
