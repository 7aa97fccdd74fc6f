// SPDX-License-Identifier: Apache-2.0
#include "cmd/vipu-simulator/messages.h"

#include <array>
#include <utility>

#include "base/names.h"
#include "base/text.h"
#include "vipu/proto/device.h"

namespace simulator {
namespace {

using namespace base::names;
using vipu::GatewayRouting;
using vipu::LinkRouting;
using vipu::OperationState;
using vipu::ReadyState;
using vipu::SyncType;
using vipu::simulator::Record;

// Pairs of a value and its number in the API.
template <typename Value, typename Number, size_t n>
using Pairs = std::array<std::pair<Value, Number>, n>;

constexpr Pairs<LinkRouting, virmgrpc::IpuLinkRoutingType, 5> kLinkRoutings = {
    {{LinkRouting::kUndefined, virmgrpc::IRT_UNDEFINED},
     {LinkRouting::kDnc, virmgrpc::IRT_DNC},
     {LinkRouting::kSwnc, virmgrpc::IRT_SWNC},
     {LinkRouting::kBtnc, virmgrpc::IRT_BTNC},
     {LinkRouting::kRingSwnc, virmgrpc::IRT_RINGSWNC}}};
constexpr Pairs<GatewayRouting, virmgrpc::GatewayRoutingType, 3> kGatewayRoutings = {
    {{GatewayRouting::kUndefined, virmgrpc::GRT_UNDEFINED},
     {GatewayRouting::kRing, virmgrpc::GRT_RING},
     {GatewayRouting::kSwRing, virmgrpc::GRT_SWRING}}};
constexpr Pairs<SyncType, virmgrpc::SyncType, 5> kSyncTypes = {
    {{SyncType::kUndefined, virmgrpc::ST_UNDEFINED},
     {SyncType::kGs2Default, virmgrpc::ST_GS2_DEFAULT},
     {SyncType::kGs2IndependentRails, virmgrpc::ST_GS2_INDEPENDENT_RAILS},
     {SyncType::kPodNativeDefault, virmgrpc::ST_POD_NATIVE_DEFAULT},
     {SyncType::kPodNativeReplicatedPipeline, virmgrpc::ST_POD_NATIVE_REPLICATED_PIPELINE}}};
constexpr Pairs<ReadyState, virmgrpc::PartitionReadyState, 5> kReadyStates = {
    {{ReadyState::kUndefined, virmgrpc::PS_UNDEFINED},
     {ReadyState::kPending, virmgrpc::PS_PENDING},
     {ReadyState::kActive, virmgrpc::PS_ACTIVE},
     {ReadyState::kRemoved, virmgrpc::PS_REMOVED},
     {ReadyState::kError, virmgrpc::PS_ERROR}}};
constexpr Pairs<OperationState, virmgrpc::PartitionOperationState, 6> kOperationStates = {
    {{OperationState::kUndefined, virmgrpc::POS_UNDEFINED},
     {OperationState::kIdle, virmgrpc::POS_IDLE},
     {OperationState::kCreating, virmgrpc::POS_CREATING},
     {OperationState::kRemoving, virmgrpc::POS_REMOVING},
     {OperationState::kResetting, virmgrpc::POS_RESETTING},
     {OperationState::kFailed, virmgrpc::POS_FAILED}}};

template <typename Value, typename Number, size_t n>
Number to_number(const Pairs<Value, Number, n>& pairs, Value wanted) {
  for (const auto& [value, number] : pairs) {
    if (value == wanted) return number;
  }
  return Number{};
}

template <typename Value, typename Number, size_t n>
Result<Value> to_value(const Pairs<Value, Number, n>& pairs, Number wanted, const char* field) {
  for (const auto& [value, number] : pairs) {
    if (number == wanted) return value;
  }
  return base::Error(base::Code::kInvalid,
                     str(field, " has the unknown number ", static_cast<int>(wanted)));
}

void fill(virmgrpc::PartitionIpu& message, const vipu::ChosenIpu& ipu) {
  message.set_ipulink_domain_topology_id(ipu.place.domain);
  message.set_ipulink_domain_routing_id(ipu.domain_routing_id);
  message.set_topology_id(ipu.place.ipu);
  message.set_routing_id(ipu.routing_id);
}

}  // namespace

Result<vipu::PartitionRequest> to_value(const virmgrpc::CreatePartitionRequest& message) {
  const virmgrpc::PartitionRequirements& wanted = message.requirements();
  vipu::PartitionRequest request;
  request.id = wanted.id();
  request.size = wanted.size();
  request.reconfigurable = wanted.reconfigurable();
  request.allocation = wanted.allocation_id();
  request.cluster = wanted.cluster_id();
  request.link_routing =
      TRY(to_value(kLinkRoutings, wanted.ipulink_routing_type(), "ipulink_routing_type"));
  request.gateway_routing =
      TRY(to_value(kGatewayRoutings, wanted.gw_routing_type(), "gw_routing_type"));
  request.sync = TRY(to_value(kSyncTypes, wanted.sync_type(), "sync_type"));
  request.segments = wanted.num_ipulink_segments();
  request.gcds = wanted.num_gcds();
  request.replicas = wanted.num_replicas();
  for (const virmgrpc::PartitionIpu& ipu : wanted.ipus()) {
    request.ipus.push_back({{ipu.ipulink_domain_topology_id(), ipu.topology_id()},
                            ipu.ipulink_domain_routing_id(),
                            ipu.routing_id()});
  }
  request.disable_auto_reset = message.disable_auto_reset();
  request.relocatable = message.relocatable();
  return request;
}

void fill(virmgrpc::Partition& message, const Record& record) {
  const vipu::PartitionRequest& wanted = record.wanted;
  message.set_id(wanted.id);
  message.set_ready_state(to_number(kReadyStates, record.ready));
  message.set_ipuof_server_version(kSoftwareVersion);
  virmgrpc::PartitionSpec* spec = message.mutable_spec();
  spec->set_cluster_id(wanted.cluster);
  spec->set_allocation_id(wanted.allocation);
  for (const vipu::ChosenIpu& ipu : record.ipus) fill(*spec->add_ipus(), ipu);
  spec->set_ipulink_routing_type(to_number(kLinkRoutings, wanted.link_routing));
  spec->set_gw_routing_type(to_number(kGatewayRoutings, wanted.gateway_routing));
  spec->set_sync_type(to_number(kSyncTypes, wanted.sync));
  spec->set_num_gcds(wanted.gcds);
  spec->set_num_replicas(wanted.replicas);
  spec->set_num_ipulink_segments(wanted.segments);
  spec->set_reconfigurable(wanted.reconfigurable);
}

void fill(virmgrpc::PartitionStatus& message, const Record& record,
          const vipu::simulator::Settings& settings) {
  message.set_partition_id(record.wanted.id);
  message.set_ready_state(to_number(kReadyStates, record.ready));
  message.set_operation_state(to_number(kOperationStates, record.operation));
  for (const std::string& error : record.errors) message.add_errors(error);
  if (!record.wanted.disable_auto_reset) {
    message.set_max_auto_reset_retries(settings.max_auto_resets);
  }
  message.set_auto_reset_retry_count(record.auto_resets);
  if (record.auto_resets == 0) return;
  constexpr int64_t kMillis = 1000;
  const int64_t last = record.last_auto_reset.count();
  message.mutable_last_auto_reset_time()->set_seconds(last / kMillis);
  message.mutable_last_auto_reset_time()->set_nanos(static_cast<int32_t>(last % kMillis * 1000000));
}

void fill(virmgrpc::PartitionConfig& message, const Record& record) {
  message.set_ipulink_routing_type(to_number(kLinkRoutings, record.wanted.link_routing));
  message.set_gw_routing_type(to_number(kGatewayRoutings, record.wanted.gateway_routing));
  message.set_sync_type(to_number(kSyncTypes, record.wanted.sync));
  message.set_reconfigurable(record.wanted.reconfigurable);
  message.set_num_ipulink_segments(record.wanted.segments);
  message.set_ipuof_server_version(kSoftwareVersion);
}

void fill(virmgrpc::PartitionConfig::Gcd& message, const vipu::IpuofConfig& config) {
  for (const vipu::IpuofDevice& device : config.devices)
    vipu::proto::fill_device(*message.add_devices(), device);
  message.mutable_attributes()->insert(config.attributes.begin(), config.attributes.end());
}

void fill(virmgrpc::ListIPUAttributesReply::Entry& message, uint32_t machine,
          const vipu::simulator::Model& model) {
  message.set_agent(vipu::simulator::agent_of(machine));
  for (uint32_t i = 0; i < vipu::kIpusPerMachine; ++i) {
    const uint32_t ipu = (machine - 1) * vipu::kIpusPerMachine + i;
    const vipu::IpuAttributes values = vipu::simulator::attributes_of(ipu, model.ailment_of(ipu));
    auto& attributes = *(*message.mutable_ipu_attributes())[values.ipu].mutable_attributes();
    attributes.insert(values.attributes.begin(), values.attributes.end());
  }
}

}  // namespace simulator
