// SPDX-License-Identifier: Apache-2.0
// The gRPC API of vipu-simulator, call by call.
#include "tests/unit/cmd/vipu-simulator/fixture.h"

namespace test {
namespace {

using grpc::StatusCode;
using Users = SimulatorClient::Users;

class SimulatorApiTest : public SimulatorFixture {};

virmgrpc::CreatePartitionRequest wanted(const std::string& id, uint32_t size) {
  virmgrpc::CreatePartitionRequest request;
  request.mutable_requirements()->set_id(id);
  request.mutable_requirements()->set_size(size);
  return request;
}

TEST_F(SimulatorApiTest, EveryRequirementIsKeptAndReportedBack) {
  start({"--pod", "pod128"});
  virmgrpc::CreatePartitionRequest request = wanted("p0", 8);
  virmgrpc::PartitionRequirements& requirements = *request.mutable_requirements();
  requirements.set_cluster_id("c-pod128");
  requirements.set_allocation_id("alloc-1");
  requirements.set_ipulink_routing_type(virmgrpc::IRT_SWNC);
  requirements.set_num_ipulink_segments(2);
  requirements.set_gw_routing_type(virmgrpc::GRT_SWRING);
  requirements.set_sync_type(virmgrpc::ST_POD_NATIVE_DEFAULT);
  requirements.set_num_gcds(2);
  requirements.set_num_replicas(4);
  const auto created = client().create(request);
  ASSERT_TRUE(created.status.ok()) << created.status.error_message();
  EXPECT_EQ(created.reply.partition_id(), "p0");
  const auto listed = client().list();
  ASSERT_EQ(listed.reply.partitions_size(), 1);
  EXPECT_EQ(listed.reply.partitions(0).ipuof_server_version(), "simulated");
  const virmgrpc::PartitionSpec& spec = listed.reply.partitions(0).spec();
  EXPECT_EQ(spec.cluster_id(), "c-pod128");
  EXPECT_EQ(spec.allocation_id(), "alloc-1");
  EXPECT_EQ(spec.ipulink_routing_type(), virmgrpc::IRT_SWNC);
  EXPECT_EQ(spec.num_ipulink_segments(), 2U);
  EXPECT_EQ(spec.gw_routing_type(), virmgrpc::GRT_SWRING);
  EXPECT_EQ(spec.sync_type(), virmgrpc::ST_POD_NATIVE_DEFAULT);
  EXPECT_EQ(spec.num_gcds(), 2U);
  EXPECT_EQ(spec.num_replicas(), 4U);
  ASSERT_EQ(spec.ipus_size(), 8);
  EXPECT_EQ(spec.ipus(4).ipulink_domain_topology_id(), 1U);
  EXPECT_EQ(spec.ipus(4).ipulink_domain_routing_id(), 1U);
  EXPECT_EQ(spec.ipus(4).routing_id(), 4U);
}

TEST_F(SimulatorApiTest, RefusesARoutingTypeWithoutAName) {
  start({});
  virmgrpc::CreatePartitionRequest request = wanted("p0", 4);
  request.mutable_requirements()->set_gw_routing_type(static_cast<virmgrpc::GatewayRoutingType>(1));
  const auto created = client().create(request);
  EXPECT_EQ(created.code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_NE(created.status.error_message().find("gw_routing_type"), std::string::npos);
}

TEST_F(SimulatorApiTest, StatusCodesTellWhatIsWrong) {
  start({"--pod", "pod4"});
  EXPECT_EQ(client().create("p0", 3).code(), StatusCode::INVALID_ARGUMENT);
  ASSERT_TRUE(client().create("p0", 4).status.ok());
  EXPECT_EQ(client().create("p0", 4).code(), StatusCode::ALREADY_EXISTS);
  EXPECT_EQ(client().create("p1", 4).code(), StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(client().status("p1").code(), StatusCode::NOT_FOUND);
  EXPECT_EQ(client().config("p1").code(), StatusCode::NOT_FOUND);
  EXPECT_EQ(client().reset("p1").code(), StatusCode::NOT_FOUND);
  EXPECT_EQ(client().remove("p1").code(), StatusCode::NOT_FOUND);
}

TEST_F(SimulatorApiTest, TheConfigurationOfOneGcdOrOfAll) {
  start({});
  virmgrpc::CreatePartitionRequest request = wanted("p0", 8);
  request.mutable_requirements()->set_num_gcds(2);
  request.mutable_requirements()->set_reconfigurable(true);
  ASSERT_TRUE(client().create(request).status.ok());
  ASSERT_TRUE(client().reaches("p0", virmgrpc::PS_ACTIVE));
  const auto all = client().config("p0");
  EXPECT_EQ(all.reply.ipuof_config().gcd_configs_size(), 2);
  EXPECT_EQ(all.reply.ipuof_config().ipuof_server_version(), "simulated");
  EXPECT_EQ(all.reply.ipuof_config().ipulink_routing_type(), virmgrpc::IRT_DNC);
  EXPECT_TRUE(all.reply.ipuof_config().reconfigurable());
  virmgrpc::GetPartitionIpuofConfigRequest one;
  one.set_partition_id("p0");
  one.mutable_gcd_id()->set_id(1);
  const auto second = client().call(&Users::GetPartitionIpuofConfig, one);
  ASSERT_EQ(second.reply.ipuof_config().gcd_configs_size(), 1);
  EXPECT_EQ(second.reply.ipuof_config().gcd_configs(0).attributes().at("GCD Id"), "1");
  EXPECT_EQ(second.reply.ipuof_config().gcd_configs(0).devices(0).routing_id(), 4U);
  one.mutable_gcd_id()->set_id(2);
  EXPECT_EQ(client().call(&Users::GetPartitionIpuofConfig, one).code(), StatusCode::NOT_FOUND);
}

TEST_F(SimulatorApiTest, ThereIsNoConfigurationBeforeItIsActive) {
  start({"--create-delay", "1h"});
  ASSERT_TRUE(client().create("p0", 4).status.ok());
  EXPECT_EQ(client().config("p0").code(), StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(client().status("p0").reply.status().operation_state(), virmgrpc::POS_CREATING);
}

TEST_F(SimulatorApiTest, ListsByAllocation) {
  start({"--pod", "pod16", "--allocation", "a=ag1-ag2", "--allocation", "b=ag3-ag4"});
  virmgrpc::CreatePartitionRequest request = wanted("p0", 4);
  request.mutable_requirements()->set_allocation_id("b");
  ASSERT_TRUE(client().create(request).status.ok());
  EXPECT_EQ(client().list().reply.partitions_size(), 1);
  EXPECT_EQ(client().list("b").reply.partitions_size(), 1);
  EXPECT_EQ(client().list("a").reply.partitions_size(), 0);
}

TEST_F(SimulatorApiTest, AttributesOfAllAgentsOrOfSome) {
  start({"--pod", "pod16"});
  virmgrpc::ListIPUAttributesRequest request;
  EXPECT_EQ(client().call(&Users::ListIPUAttributes, request).reply.entries_size(), 4);
  request.add_agents("ag3");
  const auto some = client().call(&Users::ListIPUAttributes, request);
  ASSERT_EQ(some.reply.entries_size(), 1);
  EXPECT_EQ(some.reply.entries(0).agent(), "ag3");
  EXPECT_EQ(some.reply.entries(0).ipu_attributes().at(3).attributes().at("board type"), "M2000");
  request.add_agents("ag5");
  EXPECT_EQ(client().call(&Users::ListIPUAttributes, request).code(), StatusCode::INVALID_ARGUMENT);
}

TEST_F(SimulatorApiTest, UnknownMethodsAndMalformedRequestsAreRefused) {
  start({});
  EXPECT_EQ(client().raw("/virmgrpc.UserService/MakeCoffee", "").error_code(),
            StatusCode::UNIMPLEMENTED);
  EXPECT_EQ(client().raw("/nobody/ListPartitions", "").error_code(), StatusCode::UNIMPLEMENTED);
  EXPECT_EQ(client().raw("/virmgrpc.UserService/CreatePartition", "\x07 no message").error_code(),
            StatusCode::INTERNAL);
  EXPECT_TRUE(client().raw("/virmgrpc.UserService/ListPartitions", "").ok());
}

TEST_F(SimulatorApiTest, AutoResetsAreCountedInTheStatus) {
  start({"--fail-create", "link 3 is down", "--auto-reset-delay", "1ms", "--max-auto-resets", "2"});
  ASSERT_TRUE(client().create("p0", 4).status.ok());
  const base::Deadline deadline = base::Deadline::after(std::chrono::milliseconds(10'000));
  virmgrpc::PartitionStatus status;
  do {
    status = client().status("p0").reply.status();
  } while (!deadline.passed() &&
           (status.auto_reset_retry_count() < 2 || status.ready_state() != virmgrpc::PS_ERROR));
  EXPECT_EQ(status.auto_reset_retry_count(), 2U);
  EXPECT_EQ(status.max_auto_reset_retries(), 2U);
  EXPECT_GT(status.last_auto_reset_time().seconds(), 1'600'000'000);
  ASSERT_EQ(status.errors_size(), 1);
  EXPECT_EQ(status.errors(0), "link 3 is down");
  EXPECT_EQ(client().remove("p0").code(), StatusCode::FAILED_PRECONDITION);
  EXPECT_TRUE(client().remove("p0", true).status.ok());
}

TEST_F(SimulatorApiTest, TheVersionSaysThatItIsASimulator) {
  start({});
  EXPECT_EQ(client().version().reply.version(), "1.18.0-simulator");
}

}  // namespace
}  // namespace test
