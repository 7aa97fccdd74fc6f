// SPDX-License-Identifier: Apache-2.0
#include "cmd/ipu-vipu-endpoint/replies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace endpoint {
namespace {

using testing::HasSubstr;

vipu::Answers answers() {
  vipu::Answers answers;
  answers.version = "1.18.0";
  answers.partition.id = "p0";
  answers.partition.allocation = "team";
  answers.partition.ipus = {{0, 4}, {0, 5}};
  answers.partition.gcds = 2;
  answers.partition.replicas = 2;
  answers.partition.gateway_routing = vipu::GatewayRouting::kSwRing;
  answers.partition.link_routing = vipu::LinkRouting::kRingSwnc;
  answers.partition.sync = vipu::SyncType::kPodNativeDefault;
  for (const uint32_t gcd : {0U, 1U}) {
    vipu::IpuofConfig config;
    vipu::IpuofDevice device;
    device.ip = "10.5.1.1";
    device.device_id = gcd;
    device.server_port = 50052 + gcd;
    config.devices = {device};
    config.attributes = {{"GCD Id", std::to_string(gcd)}};
    answers.gcds.push_back(config);
  }
  return answers;
}

TEST(Replies, ListTheOwnPartition) {
  virmgrpc::ListPartitionsReply reply;
  ASSERT_TRUE(reply_to(virmgrpc::ListPartitionsRequest(), answers(), reply).ok());
  ASSERT_EQ(reply.partitions_size(), 1);
  const virmgrpc::Partition& partition = reply.partitions(0);
  EXPECT_EQ(partition.id(), "p0");
  EXPECT_EQ(partition.ready_state(), virmgrpc::PS_ACTIVE);
  EXPECT_EQ(partition.spec().num_gcds(), 2U);
  EXPECT_EQ(partition.spec().ipus_size(), 2);
  EXPECT_EQ(partition.spec().ipus(1).topology_id(), 5U);
  EXPECT_EQ(partition.spec().gw_routing_type(), virmgrpc::GRT_SWRING);
  EXPECT_EQ(partition.spec().ipulink_routing_type(), virmgrpc::IRT_RINGSWNC);
  EXPECT_EQ(partition.spec().sync_type(), virmgrpc::ST_POD_NATIVE_DEFAULT);
}

TEST(Replies, ListNothingOfAnotherAllocation) {
  virmgrpc::ListPartitionsRequest request;
  request.set_allocation_id("others");
  virmgrpc::ListPartitionsReply reply;
  ASSERT_TRUE(reply_to(request, answers(), reply).ok());
  EXPECT_EQ(reply.partitions_size(), 0);
}

TEST(Replies, KnowNoOtherPartition) {
  virmgrpc::GetPartitionStatusRequest status;
  virmgrpc::GetPartitionIpuofConfigRequest config;
  for (const char* other : {"", "p1", "p0 ", "P0"}) {
    status.set_partition_id(other);
    config.set_partition_id(other);
    virmgrpc::GetPartitionStatusReply status_reply;
    virmgrpc::GetPartitionIpuofConfigReply config_reply;
    EXPECT_EQ(reply_to(status, answers(), status_reply).error_code(), grpc::NOT_FOUND);
    EXPECT_EQ(reply_to(config, answers(), config_reply).error_code(), grpc::NOT_FOUND);
    EXPECT_FALSE(status_reply.has_status());
    EXPECT_FALSE(config_reply.has_ipuof_config());
  }
}

TEST(Replies, SayThatThePartitionIsActive) {
  virmgrpc::GetPartitionStatusRequest request;
  request.set_partition_id("p0");
  virmgrpc::GetPartitionStatusReply reply;
  ASSERT_TRUE(reply_to(request, answers(), reply).ok());
  EXPECT_EQ(reply.status().ready_state(), virmgrpc::PS_ACTIVE);
  EXPECT_EQ(reply.status().operation_state(), virmgrpc::POS_IDLE);
}

TEST(Replies, HaveTheConfigurationOfAGcdOrOfAll) {
  virmgrpc::GetPartitionIpuofConfigRequest request;
  request.set_partition_id("p0");
  virmgrpc::GetPartitionIpuofConfigReply all;
  ASSERT_TRUE(reply_to(request, answers(), all).ok());
  EXPECT_EQ(all.ipuof_config().gcd_configs_size(), 2);
  request.mutable_gcd_id()->set_id(1);
  virmgrpc::GetPartitionIpuofConfigReply one;
  ASSERT_TRUE(reply_to(request, answers(), one).ok());
  ASSERT_EQ(one.ipuof_config().gcd_configs_size(), 1);
  EXPECT_EQ(one.ipuof_config().gcd_configs(0).attributes().at("GCD Id"), "1");
  EXPECT_EQ(one.ipuof_config().gcd_configs(0).devices(0).server_port(), 50053U);
  request.mutable_gcd_id()->set_id(2);
  virmgrpc::GetPartitionIpuofConfigReply none;
  EXPECT_EQ(reply_to(request, answers(), none).error_code(), grpc::NOT_FOUND);
}

TEST(Replies, RefuseWhatWouldChangeAPartition) {
  const grpc::Status refused = refusal("reset a partition");
  EXPECT_EQ(refused.error_code(), grpc::PERMISSION_DENIED);
  EXPECT_THAT(refused.error_message(), HasSubstr("cannot reset a partition"));
  EXPECT_THAT(refused.error_message(), HasSubstr("--reset-partition=no"));
}

TEST(Answers, AreWhatWasWritten) {
  EXPECT_EQ(vipu::parse_answers(vipu::to_text(answers())).value(), answers());
  for (const char* text : {"", "{}", "[]", R"({"version":"1","partitions":[]})",
                           R"({"version":"1","partitions":[],"grant":{}})"}) {
    EXPECT_FALSE(vipu::parse_answers(text).ok()) << text;
  }
}

}  // namespace
}  // namespace endpoint
