// SPDX-License-Identifier: Apache-2.0
#include "cmd/ipu-vipu-client/values.h"

#include <algorithm>

#include "base/text.h"

namespace client {
namespace {

constexpr int kMaxErrors = 64;
constexpr size_t kMaxErrorText = 1024;

vipu::OperationState to_value(virmgrpc::PartitionOperationState state) {
  switch (state) {
    case virmgrpc::POS_IDLE:
      return vipu::OperationState::kIdle;
    case virmgrpc::POS_CREATING:
      return vipu::OperationState::kCreating;
    case virmgrpc::POS_REMOVING:
      return vipu::OperationState::kRemoving;
    case virmgrpc::POS_RESETTING:
      return vipu::OperationState::kResetting;
    case virmgrpc::POS_FAILED:
      return vipu::OperationState::kFailed;
    default:
      return vipu::OperationState::kUndefined;
  }
}

vipu::IpuofDevice to_value(const virmgrpc::IpuofDevice& device) {
  return {.ip = device.ip(),
          .server_port = device.server_port(),
          .rdma_port = device.rdma_port(),
          .device_id = device.device_id(),
          .ipulink_segment_id = device.ipulink_segment_id(),
          .routing_id = device.routing_id(),
          .ipu_arch_id = device.ipu_arch_id(),
          .ipu_id = device.ipu_id(),
          .chip_id = device.chip_id(),
          .gwsw_version = device.gwsw_version(),
          .ipum_sw_version = device.ipum_sw_version()};
}

}  // namespace

vipu::ReadyState to_value(virmgrpc::PartitionReadyState state) {
  switch (state) {
    case virmgrpc::PS_PENDING:
      return vipu::ReadyState::kPending;
    case virmgrpc::PS_ACTIVE:
      return vipu::ReadyState::kActive;
    case virmgrpc::PS_REMOVED:
      return vipu::ReadyState::kRemoved;
    case virmgrpc::PS_ERROR:
      return vipu::ReadyState::kError;
    default:
      return vipu::ReadyState::kUndefined;
  }
}

vipu::Partition to_value(const virmgrpc::Partition& partition) {
  const virmgrpc::PartitionSpec& spec = partition.spec();
  vipu::Partition value;
  value.id = partition.id();
  value.cluster = spec.cluster_id();
  value.allocation = spec.allocation_id();
  for (const virmgrpc::PartitionIpu& ipu : spec.ipus()) {
    value.ipus.push_back({ipu.ipulink_domain_topology_id(), ipu.topology_id()});
  }
  value.gcds = spec.num_gcds();
  value.replicas = spec.num_replicas();
  value.segments = spec.num_ipulink_segments();
  value.reconfigurable = spec.reconfigurable();
  value.ready = to_value(partition.ready_state());
  return value;
}

vipu::PartitionStatus to_value(const virmgrpc::PartitionStatus& status) {
  vipu::PartitionStatus value;
  value.ready = to_value(status.ready_state());
  value.operation = to_value(status.operation_state());
  for (int i = 0; i < std::min(status.errors_size(), kMaxErrors); ++i) {
    value.errors.push_back(base::one_line(status.errors(i), kMaxErrorText));
  }
  return value;
}

vipu::IpuofConfig to_value(const virmgrpc::PartitionConfig::Gcd& gcd) {
  vipu::IpuofConfig value;
  for (const virmgrpc::IpuofDevice& device : gcd.devices()) {
    value.devices.push_back(to_value(device));
  }
  for (const auto& [name, text] : gcd.attributes()) value.attributes.emplace(name, text);
  return value;
}

}  // namespace client
