// SPDX-License-Identifier: Apache-2.0
#include "cmd/ipu-vipu-client/session/values.h"

#include <algorithm>

#include "base/text.h"

namespace client {
namespace {

constexpr int kMaxErrors = 64;
constexpr size_t kMaxErrorText = 1024;
constexpr size_t kMaxAttribute = 1024;

// Our enumerations have the protocol's numbers, up to LAST. Numbers that a later protocol adds are
// undefined.
template <typename Value, typename Number>
Value same_value(Number number, Value last) {
  const bool known = number >= 0 && static_cast<int>(number) <= static_cast<int>(last);
  return known ? static_cast<Value>(number) : Value::kUndefined;
}

vipu::ReadyState to_value(virmgrpc::PartitionReadyState state) {
  static_assert(static_cast<int>(vipu::ReadyState::kError) == virmgrpc::PS_ERROR);
  return same_value(state, vipu::ReadyState::kError);
}

vipu::OperationState to_value(virmgrpc::PartitionOperationState state) {
  static_assert(static_cast<int>(vipu::OperationState::kFailed) == virmgrpc::POS_FAILED);
  return same_value(state, vipu::OperationState::kFailed);
}

vipu::LinkRouting to_value(virmgrpc::IpuLinkRoutingType type) {
  static_assert(static_cast<int>(vipu::LinkRouting::kRingSwnc) == virmgrpc::IRT_RINGSWNC);
  return same_value(type, vipu::LinkRouting::kRingSwnc);
}

vipu::SyncType to_value(virmgrpc::SyncType type) {
  static_assert(static_cast<int>(vipu::SyncType::kPodNativeReplicatedPipeline) ==
                virmgrpc::ST_POD_NATIVE_REPLICATED_PIPELINE);
  return same_value(type, vipu::SyncType::kPodNativeReplicatedPipeline);
}

// The protocol has no gateway routing 1.
vipu::GatewayRouting to_value(virmgrpc::GatewayRoutingType type) {
  if (type == virmgrpc::GRT_RING) return vipu::GatewayRouting::kRing;
  if (type == virmgrpc::GRT_SWRING) return vipu::GatewayRouting::kSwRing;
  return vipu::GatewayRouting::kUndefined;
}

virmgrpc::GatewayRoutingType to_message(vipu::GatewayRouting routing) {
  if (routing == vipu::GatewayRouting::kRing) return virmgrpc::GRT_RING;
  if (routing == vipu::GatewayRouting::kSwRing) return virmgrpc::GRT_SWRING;
  return virmgrpc::GRT_UNDEFINED;
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

virmgrpc::CreatePartitionRequest to_message(const vipu::PartitionRequest& request) {
  virmgrpc::CreatePartitionRequest message;
  message.set_disable_auto_reset(request.disable_auto_reset);
  message.set_relocatable(request.relocatable);
  virmgrpc::PartitionRequirements* wanted = message.mutable_requirements();
  wanted->set_id(request.id);
  wanted->set_size(request.size);
  wanted->set_cluster_id(request.cluster);
  wanted->set_ipulink_routing_type(static_cast<virmgrpc::IpuLinkRoutingType>(request.link_routing));
  wanted->set_num_ipulink_segments(request.segments);
  wanted->set_gw_routing_type(to_message(request.gateway_routing));
  wanted->set_sync_type(static_cast<virmgrpc::SyncType>(request.sync));
  wanted->set_num_gcds(request.gcds);
  wanted->set_reconfigurable(request.reconfigurable);
  wanted->set_num_replicas(request.replicas);
  wanted->set_allocation_id(request.allocation);
  for (const vipu::ChosenIpu& chosen : request.ipus) {
    virmgrpc::PartitionIpu* ipu = wanted->add_ipus();
    ipu->set_ipulink_domain_topology_id(chosen.place.domain);
    ipu->set_ipulink_domain_routing_id(chosen.domain_routing_id);
    ipu->set_topology_id(chosen.place.ipu);
    ipu->set_routing_id(chosen.routing_id);
  }
  return message;
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
  value.link_routing = to_value(spec.ipulink_routing_type());
  value.gateway_routing = to_value(spec.gw_routing_type());
  value.sync = to_value(spec.sync_type());
  return value;
}

vipu::PartitionStatus to_value(const virmgrpc::PartitionStatus& status) {
  vipu::PartitionStatus value;
  value.ready = to_value(status.ready_state());
  value.operation = to_value(status.operation_state());
  for (int i = 0; i < std::min(status.errors_size(), kMaxErrors); ++i) {
    value.errors.push_back(base::one_line(status.errors(i), kMaxErrorText));
  }
  value.auto_resets = status.auto_reset_retry_count();
  value.max_auto_resets = status.max_auto_reset_retries();
  value.last_auto_reset = std::max<int64_t>(0, status.last_auto_reset_time().seconds());
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

std::vector<vipu::IpuAttributes> to_values(const virmgrpc::ListIPUAttributesReply& reply) {
  std::vector<vipu::IpuAttributes> ipus;
  for (const auto& entry : reply.entries()) {
    for (const auto& [number, of_ipu] : entry.ipu_attributes()) {
      vipu::IpuAttributes ipu{entry.agent(), number, {}};
      for (const auto& [name, text] : of_ipu.attributes()) {
        ipu.attributes.emplace(base::one_line(name, kMaxAttribute),
                               base::one_line(text, kMaxAttribute));
      }
      ipus.push_back(std::move(ipu));
    }
  }
  // The protocol's maps have no order.
  std::sort(ipus.begin(), ipus.end(), [](const auto& a, const auto& b) {
    return a.agent != b.agent ? a.agent < b.agent : a.ipu < b.ipu;
  });
  return ipus;
}

}  // namespace client
