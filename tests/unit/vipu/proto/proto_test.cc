// SPDX-License-Identifier: Apache-2.0
// Messages against bytes that were written by hand from the field numbers of the V-IPU API: a
// number that is wrong in our .proto would still work between our own client and simulator.
#include <gtest/gtest.h>

#include <initializer_list>
#include <string>

#include "vipu/proto/virm.pb.h"

namespace {

// Field NUMBER as a varint, and as length-delimited bytes. Small numbers and lengths only.
std::string varint(int number, int value) {
  return {static_cast<char>(number << 3), static_cast<char>(value)};
}
std::string bytes(int number, const std::string& value) {
  return std::string{static_cast<char>(number << 3 | 2), static_cast<char>(value.size())} + value;
}

TEST(ProtoTest, CreatePartitionRequestStartsWithTag0x12) {
  virmgrpc::CreatePartitionRequest message;
  message.mutable_requirements()->set_id("p0");
  message.mutable_requirements()->set_size(4);
  message.set_disable_auto_reset(true);
  message.set_relocatable(true);
  EXPECT_EQ(message.SerializeAsString(), std::string("\x12\x06\x0a\x02p0\x10\x04\x18\x01\x28\x01"));
}

TEST(ProtoTest, PartitionRequirements) {
  virmgrpc::PartitionRequirements message;
  message.set_id("p0");
  message.set_size(8);
  message.set_cluster_id("c");
  message.set_ipulink_routing_type(virmgrpc::IRT_RINGSWNC);
  message.set_num_ipulink_segments(2);
  message.set_gw_routing_type(virmgrpc::GRT_SWRING);
  message.set_sync_type(virmgrpc::ST_POD_NATIVE_REPLICATED_PIPELINE);
  message.set_num_gcds(5);
  message.set_reconfigurable(true);
  message.set_num_replicas(6);
  message.set_allocation_id("a");
  virmgrpc::PartitionIpu* ipu = message.add_ipus();
  ipu->set_ipulink_domain_topology_id(1);
  ipu->set_ipulink_domain_routing_id(2);
  ipu->set_topology_id(3);
  ipu->set_routing_id(4);
  EXPECT_EQ(message.SerializeAsString(),
            bytes(1, "p0") + varint(2, 8) + bytes(3, "c") + varint(4, 4) + varint(5, 2) +
                varint(6, 3) + varint(7, 4) + varint(8, 5) + varint(9, 1) + varint(10, 6) +
                bytes(11, "a") +
                bytes(12, varint(1, 1) + varint(2, 2) + varint(3, 3) + varint(4, 4)));
}

TEST(ProtoTest, PartitionInAList) {
  const std::string spec = bytes(1, "c") + bytes(2, varint(3, 7)) + varint(3, 1) + varint(4, 3) +
                           varint(5, 2) + varint(6, 1) + varint(7, 1) + varint(8, 2) +
                           varint(9, 4) + bytes(10, "a");
  virmgrpc::ListPartitionsReply message;
  ASSERT_TRUE(message.ParseFromString(
      bytes(1, bytes(1, "p0") + bytes(2, spec) + varint(3, 2) + bytes(4, "v"))));
  ASSERT_EQ(message.partitions_size(), 1);
  const virmgrpc::Partition& partition = message.partitions(0);
  EXPECT_EQ(partition.id(), "p0");
  EXPECT_EQ(partition.ready_state(), virmgrpc::PS_ACTIVE);
  EXPECT_EQ(partition.ipuof_server_version(), "v");
  EXPECT_EQ(partition.spec().cluster_id(), "c");
  EXPECT_EQ(partition.spec().ipus(0).topology_id(), 7U);
  EXPECT_EQ(partition.spec().ipulink_routing_type(), virmgrpc::IRT_DNC);
  EXPECT_EQ(partition.spec().sync_type(), virmgrpc::ST_POD_NATIVE_DEFAULT);
  EXPECT_EQ(partition.spec().num_gcds(), 2U);
  EXPECT_EQ(partition.spec().num_ipulink_segments(), 1U);
  EXPECT_TRUE(partition.spec().reconfigurable());
  EXPECT_EQ(partition.spec().gw_routing_type(), virmgrpc::GRT_RING);
  EXPECT_EQ(partition.spec().num_replicas(), 4U);
  EXPECT_EQ(partition.spec().allocation_id(), "a");
}

TEST(ProtoTest, PartitionStatus) {
  virmgrpc::GetPartitionStatusReply message;
  ASSERT_TRUE(message.ParseFromString(
      bytes(1, bytes(1, "p0") + varint(2, 4) + varint(3, 5) + bytes(4, "e1") + bytes(4, "e2") +
                   varint(5, 3) + varint(6, 1) + bytes(7, varint(1, 9) + varint(2, 8)))));
  const virmgrpc::PartitionStatus& status = message.status();
  EXPECT_EQ(status.partition_id(), "p0");
  EXPECT_EQ(status.ready_state(), virmgrpc::PS_ERROR);
  EXPECT_EQ(status.operation_state(), virmgrpc::POS_FAILED);
  ASSERT_EQ(status.errors_size(), 2);
  EXPECT_EQ(status.errors(1), "e2");
  EXPECT_EQ(status.max_auto_reset_retries(), 3U);
  EXPECT_EQ(status.auto_reset_retry_count(), 1U);
  EXPECT_EQ(status.last_auto_reset_time().seconds(), 9);
  EXPECT_EQ(status.last_auto_reset_time().nanos(), 8);
}

TEST(ProtoTest, IpuofConfigAskedForOneGcdDiffersFromAll) {
  virmgrpc::GetPartitionIpuofConfigRequest message;
  message.set_partition_id("p0");
  EXPECT_EQ(message.SerializeAsString(), bytes(1, "p0"));
  message.mutable_gcd_id()->set_id(0);
  EXPECT_EQ(message.SerializeAsString(), bytes(1, "p0") + bytes(2, ""));
  message.mutable_gcd_id()->set_id(3);
  EXPECT_EQ(message.SerializeAsString(), bytes(1, "p0") + bytes(2, varint(1, 3)));
}

TEST(ProtoTest, IpuofConfig) {
  const std::string device = bytes(1, "10.5.1.3") + varint(2, 21) + varint(3, 22) + varint(4, 23) +
                             varint(5, 24) + varint(6, 25) + varint(7, 26) + varint(8, 27) +
                             bytes(9, "chip") + bytes(10, "gw") + bytes(11, "ipum");
  const std::string gcd = bytes(2, device) + bytes(3, bytes(1, "GCD Id") + bytes(2, "0"));
  virmgrpc::GetPartitionIpuofConfigReply message;
  ASSERT_TRUE(
      message.ParseFromString(bytes(1, varint(2, 1) + varint(3, 1) + varint(5, 1) + varint(6, 2) +
                                           varint(7, 1) + bytes(8, gcd) + bytes(9, "v"))));
  const virmgrpc::PartitionConfig& config = message.ipuof_config();
  EXPECT_EQ(config.ipulink_routing_type(), virmgrpc::IRT_DNC);
  EXPECT_EQ(config.sync_type(), virmgrpc::ST_GS2_DEFAULT);
  EXPECT_TRUE(config.reconfigurable());
  EXPECT_EQ(config.gw_routing_type(), virmgrpc::GRT_RING);
  EXPECT_EQ(config.num_ipulink_segments(), 1U);
  EXPECT_EQ(config.ipuof_server_version(), "v");
  ASSERT_EQ(config.gcd_configs_size(), 1);
  EXPECT_EQ(config.gcd_configs(0).attributes().at("GCD Id"), "0");
  EXPECT_EQ(config.gcd_configs(0).devices(0).SerializeAsString(), device);
  EXPECT_EQ(config.gcd_configs(0).devices(0).ip(), "10.5.1.3");
  EXPECT_EQ(config.gcd_configs(0).devices(0).server_port(), 21U);
  EXPECT_EQ(config.gcd_configs(0).devices(0).rdma_port(), 22U);
  EXPECT_EQ(config.gcd_configs(0).devices(0).device_id(), 23U);
  EXPECT_EQ(config.gcd_configs(0).devices(0).ipulink_segment_id(), 24U);
  EXPECT_EQ(config.gcd_configs(0).devices(0).routing_id(), 25U);
  EXPECT_EQ(config.gcd_configs(0).devices(0).ipu_arch_id(), 26U);
  EXPECT_EQ(config.gcd_configs(0).devices(0).ipu_id(), 27U);
  EXPECT_EQ(config.gcd_configs(0).devices(0).chip_id(), "chip");
  EXPECT_EQ(config.gcd_configs(0).devices(0).gwsw_version(), "gw");
  EXPECT_EQ(config.gcd_configs(0).devices(0).ipum_sw_version(), "ipum");
}

TEST(ProtoTest, IpuAttributes) {
  const std::string attributes = bytes(1, bytes(1, "clock") + bytes(2, "1330MHz"));
  virmgrpc::ListIPUAttributesReply message;
  ASSERT_TRUE(message.ParseFromString(
      bytes(1, bytes(1, "ag0") + bytes(2, varint(1, 3) + bytes(2, attributes)))));
  EXPECT_EQ(message.entries(0).agent(), "ag0");
  EXPECT_EQ(message.entries(0).ipu_attributes().at(3).attributes().at("clock"), "1330MHz");
}

TEST(ProtoTest, SmallMessages) {
  virmgrpc::RemovePartitionRequest remove;
  remove.set_partition_id("p0");
  remove.set_force(true);
  EXPECT_EQ(remove.SerializeAsString(), bytes(1, "p0") + varint(2, 1));
  virmgrpc::ResetPartitionRequest reset;
  reset.set_partition_id("p0");
  reset.set_relocatable(true);
  EXPECT_EQ(reset.SerializeAsString(), bytes(1, "p0") + varint(2, 1));
  virmgrpc::VersionReply version;
  version.set_version("1.18.0");
  EXPECT_EQ(version.SerializeAsString(), bytes(1, "1.18.0"));
  virmgrpc::CreatePartitionReply created;
  created.set_partition_id("p0");
  EXPECT_EQ(created.SerializeAsString(), bytes(1, "p0"));
}

TEST(ProtoTest, ServicesHaveTheNamesOfTheApi) {
  const auto* file = virmgrpc::VersionReply::descriptor()->file();
  const auto* users = file->FindServiceByName("UserService");
  ASSERT_NE(users, nullptr);
  EXPECT_EQ(users->full_name(), "virmgrpc.UserService");
  for (const char* method :
       {"ListPartitions", "ListIPUAttributes", "CreatePartition", "RemovePartition",
        "ResetPartition", "GetPartitionIpuofConfig", "GetPartitionStatus"}) {
    EXPECT_NE(users->FindMethodByName(method), nullptr) << method;
  }
  const auto* versions = file->FindServiceByName("VersionService");
  ASSERT_NE(versions, nullptr);
  EXPECT_NE(versions->FindMethodByName("GetVersion"), nullptr);
}

}  // namespace
