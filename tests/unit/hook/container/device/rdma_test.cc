// SPDX-License-Identifier: Apache-2.0
// RDMA devices in a tree of files in the shape of sysfs.
#include "hook/container/device/rdma.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/fs.h"
#include "base/names.h"
#include "base/text.h"
#include "tests/support/outcome.h"
#include "tests/support/temp_dir.h"

namespace hook::device {
namespace {

using namespace base::names;
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

  // Entry INDEX of port 1 of mlx5_0.
  void add_gid(int index, const std::string& value, const std::string& type,
               const std::string& interface) {
    const std::string port = "class/infiniband/mlx5_0/ports/1";
    write(str(port, "/gids/", index), value);
    write(str(port, "/gid_attrs/types/", index), type);
    write(str(port, "/gid_attrs/ndevs/", index), interface);
  }
  void add_unused_gid(int index) {
    write(str("class/infiniband/mlx5_0/ports/1/gids/", index),
          "0000:0000:0000:0000:0000:0000:0000:0000");
  }
  std::vector<Gid> gids() {
    base::Result<GidTable> table = read_gids(sysfs_.path(), "mlx5_0", 1);
    EXPECT_TRUE(test::succeeds(table));
    return table.ok() ? table.value().used : std::vector<Gid>();
  }

  test::TempDir sysfs_;
};

netns::Address ip(const char* text) { return netns::parse_address(text).take(); }

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

TEST_F(RdmaDeviceTest, IsNotMistakenByTheNameOfAContainersInterface) {
  add_device("mlx5_0", 1, "eth0");
  write("class/infiniband/mlx5_0/ports/1/gid_attrs/ndevs/5", "roce0");  // of a container
  add_device("mlx5_1", 1, "roce0");                                     // of the host
  add_uverbs("uverbs0", "mlx5_0", "231:192");
  add_uverbs("uverbs1", "mlx5_1", "231:193");
  add_connection_manager();
  EXPECT_EQ(find("roce0").value()->name, "mlx5_1");
}

TEST_F(RdmaDeviceTest, IsTheOneBelowABond) {
  add_device("mlx5_0", 1, "eth0");
  write("class/infiniband/mlx5_0/ports/1/gid_attrs/ndevs/5", "bond0");
  add_uverbs("uverbs0", "mlx5_0", "231:192");
  add_connection_manager();
  EXPECT_EQ(find("bond0").value()->name, "mlx5_0");
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
  EXPECT_THAT(device.value()->nodes,
              ElementsAre(oci::DeviceNode{"/dev/infiniband/uverbs0", 231, 192},
                          oci::DeviceNode{"/dev/infiniband/rdma_cm", 10, 58}));
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

constexpr const char* kV1 = "IB/RoCE v1";
constexpr const char* kV2 = "RoCE v2";

TEST_F(RdmaDeviceTest, HasATableOfGidsInTheOrderOfTheirIndexes) {
  add_gid(0, "fe80:0000:0000:0000:0202:c9ff:fe12:3456", kV1, "eth0");
  add_unused_gid(1);
  add_gid(10, "0000:0000:0000:0000:0000:ffff:0a05:c80a", kV2, "roce0");
  add_gid(2, "fd00:0005:0000:0000:0000:0000:0000:0007", kV2, "roce0");
  write("class/infiniband/mlx5_0/ports/1/gids/3", "");
  const base::Result<GidTable> table = read_gids(sysfs_.path(), "mlx5_0", 1);
  ASSERT_TRUE(test::succeeds(table));
  EXPECT_EQ(table.value().size, 5U);
  ASSERT_EQ(table.value().used.size(), 3U);
  EXPECT_EQ(table.value().used[0].index, 0U);
  EXPECT_EQ(table.value().used[1], (Gid{2, ip("fd00:5::7").bytes, "RoCE v2", "roce0"}));
  EXPECT_EQ(table.value().used[2].index, 10U);
}

TEST_F(RdmaDeviceTest, HasNoTableOfGidsForAPortThatIsNotThere) {
  add_gid(0, "fe80::1", kV2, "eth0");
  EXPECT_TRUE(test::fails(read_gids(sysfs_.path(), "mlx5_0", 2), Code::kNotFound, "port 2"));
  EXPECT_TRUE(test::fails(read_gids(sysfs_.path(), "mlx5_1", 1), Code::kNotFound, "'mlx5_1'"));
}

TEST_F(RdmaDeviceTest, KnowsTheGidOfAnAddressByItsVersionOfRoce) {
  add_gid(4, "0000:0000:0000:0000:0000:ffff:0a05:c80a", kV1, "roce0");
  EXPECT_FALSE(find_roce_v2_gid(gids(), ip("10.5.200.10")).has_value());
  add_gid(5, "0000:0000:0000:0000:0000:ffff:0a05:c80a", kV2, "roce0");
  add_gid(6, "fd00:0005:0000:0000:0000:0000:0000:0007", kV2, "roce0");
  EXPECT_EQ(find_roce_v2_gid(gids(), ip("10.5.200.10")).value().index, 5U);
  EXPECT_EQ(find_roce_v2_gid(gids(), ip("fd00:5::7")).value().index, 6U);
  EXPECT_FALSE(find_roce_v2_gid(gids(), ip("10.5.200.11")).has_value());
}

TEST_F(RdmaDeviceTest, TakesTwoGidsForAnAddressWhereItSpeaksBothVersionsOfRoce) {
  add_gid(0, "fe80::1", kV2, "eth0");
  EXPECT_EQ(gid_entries_per_address(gids()), 1U);
  add_gid(1, "fe80::1", kV1, "eth0");
  EXPECT_EQ(gid_entries_per_address(gids()), 2U);
}

}  // namespace
}  // namespace hook::device
