// SPDX-License-Identifier: Apache-2.0
#include "cmd/vipu-simulator/messages.h"

#include "base/text.h"

namespace simulator {
namespace {

virmgrpc::PartitionReadyState to_message(vipu::ReadyState state) {
  switch (state) {
    case vipu::ReadyState::kActive:
      return virmgrpc::PS_ACTIVE;
    case vipu::ReadyState::kPending:
      return virmgrpc::PS_PENDING;
    case vipu::ReadyState::kError:
      return virmgrpc::PS_ERROR;
    default:  // states that the model does not know
      return virmgrpc::PS_UNDEFINED;
  }
}

virmgrpc::PartitionOperationState to_message(vipu::OperationState state) {
  switch (state) {
    case vipu::OperationState::kIdle:
      return virmgrpc::POS_IDLE;
    case vipu::OperationState::kCreating:
      return virmgrpc::POS_CREATING;
    case vipu::OperationState::kResetting:
      return virmgrpc::POS_RESETTING;
    case vipu::OperationState::kFailed:
      return virmgrpc::POS_FAILED;
    default:  // states that the model does not know
      return virmgrpc::POS_UNDEFINED;
  }
}

void fill(virmgrpc::IpuofDevice& message, const vipu::IpuofDevice& device) {
  message.set_ip(device.ip);
  message.set_server_port(device.server_port);
  message.set_rdma_port(device.rdma_port);
  message.set_device_id(device.device_id);
  message.set_ipulink_segment_id(device.ipulink_segment_id);
  message.set_routing_id(device.routing_id);
  message.set_ipu_arch_id(device.ipu_arch_id);
  message.set_ipu_id(device.ipu_id);
  message.set_chip_id(device.chip_id);
  message.set_gwsw_version(device.gwsw_version);
  message.set_ipum_sw_version(device.ipum_sw_version);
}

}  // namespace

vipu::simulator::Requirements to_value(const virmgrpc::PartitionRequirements& wanted) {
  return {.id = wanted.id(),
          .size = wanted.size(),
          .gcds = wanted.num_gcds(),
          .replicas = wanted.num_replicas(),
          .reconfigurable = wanted.reconfigurable(),
          .allocation = wanted.allocation_id()};
}

void fill(virmgrpc::Partition& message, const vipu::Partition& partition) {
  message.set_id(partition.id);
  message.set_ready_state(to_message(partition.ready));
  message.set_ipuof_server_version("simulated");
  virmgrpc::PartitionSpec* spec = message.mutable_spec();
  spec->set_cluster_id(partition.cluster);
  spec->set_allocation_id(partition.allocation);
  uint32_t routing_id = 0;
  for (const vipu::IpuPlace& place : partition.ipus) {
    virmgrpc::PartitionIpu* ipu = spec->add_ipus();
    ipu->set_ipulink_domain_topology_id(place.domain);
    ipu->set_topology_id(place.ipu);
    ipu->set_routing_id(routing_id++);
  }
  spec->set_ipulink_routing_type(virmgrpc::IRT_DNC);
  spec->set_num_gcds(partition.gcds);
  spec->set_num_replicas(partition.replicas);
  spec->set_num_ipulink_segments(partition.segments);
  spec->set_reconfigurable(partition.reconfigurable);
}

void fill(virmgrpc::PartitionStatus& message, const vipu::PartitionStatus& status) {
  message.set_ready_state(to_message(status.ready));
  message.set_operation_state(to_message(status.operation));
  for (const std::string& error : status.errors) message.add_errors(error);
}

void fill(virmgrpc::PartitionConfig::Gcd& message, const vipu::IpuofConfig& config) {
  for (const vipu::IpuofDevice& device : config.devices) fill(*message.add_devices(), device);
  message.mutable_attributes()->insert(config.attributes.begin(), config.attributes.end());
}

void fill(virmgrpc::ListIPUAttributesReply::Entry& message, uint32_t machine) {
  message.set_agent(base::str("ag", machine));
  for (uint32_t ipu = 0; ipu < vipu::simulator::kIpusPerMachine; ++ipu) {
    auto& attributes = *(*message.mutable_ipu_attributes())[ipu].mutable_attributes();
    attributes["board ipu index"] = std::to_string(ipu);
    attributes["board type"] = "simulated";
    attributes["ipu architecture"] = "ipu2";
  }
}

}  // namespace simulator
