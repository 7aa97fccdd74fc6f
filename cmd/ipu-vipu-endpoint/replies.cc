// SPDX-License-Identifier: Apache-2.0
#include "cmd/ipu-vipu-endpoint/replies.h"

#include "base/text.h"
#include "vipu/proto/device.h"

namespace endpoint {
namespace {

using base::quote;
using base::str;

// vipu's values have the order of the API's, which has no gateway routing with the number 1.
template <typename Number, typename Value>
Number to_number(Value value) {
  return static_cast<Number>(static_cast<int>(value));
}
static_assert(static_cast<int>(vipu::LinkRouting::kRingSwnc) == virmgrpc::IRT_RINGSWNC);
static_assert(static_cast<int>(vipu::SyncType::kPodNativeReplicatedPipeline) ==
              virmgrpc::ST_POD_NATIVE_REPLICATED_PIPELINE);

virmgrpc::GatewayRoutingType gateway_number(vipu::GatewayRouting routing) {
  switch (routing) {
    case vipu::GatewayRouting::kRing:
      return virmgrpc::GRT_RING;
    case vipu::GatewayRouting::kSwRing:
      return virmgrpc::GRT_SWRING;
    case vipu::GatewayRouting::kUndefined:
      break;
  }
  return virmgrpc::GRT_UNDEFINED;
}

grpc::Status check_partition(const std::string& asked, const vipu::Answers& answers) {
  if (asked == answers.partition.id) return grpc::Status::OK;
  return {grpc::StatusCode::NOT_FOUND,
          str("this endpoint answers for partition ", quote(answers.partition.id), " alone")};
}

void fill(virmgrpc::PartitionSpec& message, const vipu::Partition& partition) {
  message.set_cluster_id(partition.cluster);
  message.set_allocation_id(partition.allocation);
  for (const vipu::IpuPlace& place : partition.ipus) {
    virmgrpc::PartitionIpu& ipu = *message.add_ipus();
    ipu.set_ipulink_domain_topology_id(place.domain);
    ipu.set_topology_id(place.ipu);
  }
  message.set_ipulink_routing_type(to_number<virmgrpc::IpuLinkRoutingType>(partition.link_routing));
  message.set_gw_routing_type(gateway_number(partition.gateway_routing));
  message.set_sync_type(to_number<virmgrpc::SyncType>(partition.sync));
  message.set_num_gcds(partition.gcds);
  message.set_num_replicas(partition.replicas);
  message.set_num_ipulink_segments(partition.segments);
  message.set_reconfigurable(partition.reconfigurable);
}

void fill(virmgrpc::PartitionConfig& message, const vipu::Partition& partition) {
  message.set_ipulink_routing_type(to_number<virmgrpc::IpuLinkRoutingType>(partition.link_routing));
  message.set_gw_routing_type(gateway_number(partition.gateway_routing));
  message.set_sync_type(to_number<virmgrpc::SyncType>(partition.sync));
  message.set_reconfigurable(partition.reconfigurable);
  message.set_num_ipulink_segments(partition.segments);
}

void add(virmgrpc::PartitionConfig& message, const vipu::IpuofConfig& config) {
  virmgrpc::PartitionConfig::Gcd& gcd = *message.add_gcd_configs();
  for (const vipu::IpuofDevice& device : config.devices)
    vipu::proto::fill_device(*gcd.add_devices(), device);
  gcd.mutable_attributes()->insert(config.attributes.begin(), config.attributes.end());
}

}  // namespace

grpc::Status reply_to(const virmgrpc::ListPartitionsRequest& request, const vipu::Answers& answers,
                      virmgrpc::ListPartitionsReply& reply) {
  const std::string& allocation = request.allocation_id();
  if (!allocation.empty() && allocation != answers.partition.allocation) return grpc::Status::OK;
  virmgrpc::Partition& partition = *reply.add_partitions();
  partition.set_id(answers.partition.id);
  partition.set_ready_state(virmgrpc::PS_ACTIVE);
  fill(*partition.mutable_spec(), answers.partition);
  return grpc::Status::OK;
}

grpc::Status reply_to(const virmgrpc::GetPartitionStatusRequest& request,
                      const vipu::Answers& answers, virmgrpc::GetPartitionStatusReply& reply) {
  grpc::Status known = check_partition(request.partition_id(), answers);
  if (!known.ok()) return known;
  virmgrpc::PartitionStatus& status = *reply.mutable_status();
  status.set_partition_id(answers.partition.id);
  status.set_ready_state(virmgrpc::PS_ACTIVE);
  status.set_operation_state(virmgrpc::POS_IDLE);
  return grpc::Status::OK;
}

grpc::Status reply_to(const virmgrpc::GetPartitionIpuofConfigRequest& request,
                      const vipu::Answers& answers, virmgrpc::GetPartitionIpuofConfigReply& reply) {
  grpc::Status known = check_partition(request.partition_id(), answers);
  if (!known.ok()) return known;
  const uint32_t gcd = request.gcd_id().id();
  if (request.has_gcd_id() && gcd >= answers.gcds.size()) {
    return {grpc::StatusCode::NOT_FOUND, str("partition ", quote(answers.partition.id), " has ",
                                             answers.gcds.size(), " GCDs, and no GCD ", gcd)};
  }
  virmgrpc::PartitionConfig& config = *reply.mutable_ipuof_config();
  fill(config, answers.partition);
  for (size_t i = 0; i < answers.gcds.size(); ++i) {
    if (!request.has_gcd_id() || i == gcd) add(config, answers.gcds[i]);
  }
  return grpc::Status::OK;
}

grpc::Status refusal(const char* call) {
  return {grpc::StatusCode::PERMISSION_DENIED,
          str("a container cannot ", call,
              ": the V-IPU endpoint of ipu-container-toolkit only"
              " reads; give poprun --reset-partition=no --remove-partition=no")};
}

}  // namespace endpoint
