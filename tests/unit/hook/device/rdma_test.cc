// SPDX-License-Identifier: Apache-2.0
// RDMA devices in a tree of files in the shape of sysfs.
#include "hook/device/rdma.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/fs.h"
#include "base/text.h"
#include "tests/support/outcome.h"
#include "tests/support/temp_dir.h"

namespace hook {
namespace {

using base::Code;
using base::str;
using testing::ElementsAre;

class RdmaDeviceTest : public testing::Test {
 protected:
  void write(const std::string& path, const std::string& text) {
    const std::string file = sysfs_ / path;
    ASSERT_TRUE(test::succeeds(base::ensure_dir(file.substr(0, file.rfind('/')), 0755)));
    ASSERT_TRUE(test::succeeds(base::write_atomic(file, text + "\n", {})));
  }
  // A device whose GIDs on PORT are of INTERFACE.
  void add_device(const std::string& name, int port, const std::string& interface) {
    const std::string gids = str("class/infiniband/", name, "/ports/", port, "/gid_attrs/ndevs");
    write(gids + "/0", interface);
    write(gids + "/3", interface);
  }
  void add_uverbs(const std::string& name, const std::string& device, const std::string& number) {
    write(str("class/infiniband_verbs/", name, "/ibdev"), device);
    write(str("class/infiniband_verbs/", name, "/dev"), number);
  }
  void add_connection_manager() { write("class/misc/rdma_cm/dev", "10:58"); }

  base::Result<std::optional<RdmaDevice>> find(const std::string& interface) {
    return find_rdma_device(sysfs_.path(), interface);
  }

  test::TempDir sysfs_;
};

TEST_F(RdmaDeviceTest, IsAbsentOnAHostWithoutRdma) {
  const base::Result<std::optional<RdmaDevice>> device = find("eth0");
  ASSERT_TRUE(test::succeeds(device));
  EXPECT_FALSE(device.value().has_value());
}

TEST_F(RdmaDeviceTest, IsAbsentWhereNoneIsOfTheInterface) {
  add_device("mlx5_0", 1, "eth1");
  add_uverbs("uverbs0", "mlx5_0", "231:192");
  add_connection_manager();
  EXPECT_FALSE(find("eth0").value().has_value());
  EXPECT_FALSE(find("eth").value().has_value());
}

TEST_F(RdmaDeviceTest, HasItsOwnVerbsNodeAndTheConnectionManager) {
  add_device("mlx5_0", 1, "eth0");
  add_device("mlx5_1", 1, "eth1");
  add_uverbs("uverbs0", "mlx5_1", "231:192");
  add_uverbs("uverbs1", "mlx5_0", "231:193");
  add_connection_manager();
  const base::Result<std::optional<RdmaDevice>> device = find("eth1");
  ASSERT_TRUE(test::succeeds(device));
  ASSERT_TRUE(device.value().has_value());
  EXPECT_EQ(device.value()->name, "mlx5_1");
  EXPECT_EQ(device.value()->port, 1U);
  EXPECT_THAT(device.value()->nodes, ElementsAre(DeviceNode{"/dev/infiniband/uverbs0", 231, 192},
                                                 DeviceNode{"/dev/infiniband/rdma_cm", 10, 58}));
}

TEST_F(RdmaDeviceTest, IsFoundByAnyOfItsPorts) {
  add_device("mlx4_0", 1, "eth0");
  add_device("mlx4_0", 2, "eth1");
  write("class/infiniband/mlx4_0/ports/none/gid_attrs/ndevs/0", "eth1");
  add_uverbs("uverbs0", "mlx4_0", "231:192");
  add_connection_manager();
  EXPECT_EQ(find("eth1").value()->port, 2U);
}

TEST_F(RdmaDeviceTest, IsNotUsableWithoutItsVerbsNode) {
  add_device("mlx5_0", 1, "eth0");
  add_connection_manager();
  EXPECT_TRUE(test::fails(find("eth0"), Code::kUnsupported, "ib_uverbs"));
}

TEST_F(RdmaDeviceTest, IsNotUsableWithoutTheConnectionManager) {
  add_device("mlx5_0", 1, "eth0");
  add_uverbs("uverbs0", "mlx5_0", "231:192");
  EXPECT_TRUE(test::fails(find("eth0"), Code::kUnsupported, "/dev/infiniband/rdma_cm"));
  EXPECT_TRUE(test::fails(find("eth0"), Code::kUnsupported, "rdma_ucm"));
}

TEST_F(RdmaDeviceTest, RefusesNumbersThatAreNoDevice) {
  add_device("mlx5_0", 1, "eth0");
  add_connection_manager();
  for (const char* number : {"231", "x:1", "231:", "-1:1", "231:1048576", "231:1:1"}) {
    add_uverbs("uverbs0", "mlx5_0", number);
    EXPECT_FALSE(find("eth0").ok()) << number;
  }
}

}  // namespace
}  // namespace hook
