// SPDX-License-Identifier: Apache-2.0
#include "cmd/vipu-simulator/service.h"

#include <algorithm>
#include <chrono>

#include "base/text.h"
#include "cmd/vipu-simulator/messages.h"

namespace simulator {
namespace {

using base::Code;
using base::str;
using vipu::simulator::Model;
using vipu::simulator::Time;

Time now() {
  return std::chrono::duration_cast<Time>(std::chrono::steady_clock::now().time_since_epoch());
}

grpc::StatusCode to_grpc(Code code) {
  switch (code) {
    case Code::kInvalid:
      return grpc::StatusCode::INVALID_ARGUMENT;
    case Code::kNotFound:
      return grpc::StatusCode::NOT_FOUND;
    case Code::kExists:
      return grpc::StatusCode::ALREADY_EXISTS;
    case Code::kBusy:
      return grpc::StatusCode::RESOURCE_EXHAUSTED;
    default:
      return grpc::StatusCode::INTERNAL;
  }
}

grpc::Status to_grpc(const base::Error& error) { return {to_grpc(error.code()), error.message()}; }

grpc::Status to_grpc(const base::Status& status) {
  return status.ok() ? grpc::Status::OK : to_grpc(status.error());
}

// kBusy of what is about one partition, and not about room for one.
grpc::Status wrong_state(const base::Error& error) {
  return {grpc::StatusCode::FAILED_PRECONDITION, error.message()};
}

grpc::Status unimplemented(std::string_view what) {
  return {grpc::StatusCode::UNIMPLEMENTED, str("the simulator does not do ", what)};
}

}  // namespace

grpc::Status UserService::ListPartitions(grpc::ServerContext*,
                                         const virmgrpc::ListPartitionsRequest* request,
                                         virmgrpc::ListPartitionsReply* reply) {
  const std::string& allocation = request->allocation_id();
  const auto partitions = store_.read([](const Model& model) { return model.list(now()); });
  for (const vipu::Partition& partition : partitions) {
    if (!allocation.empty() && partition.allocation != allocation) continue;
    fill(*reply->add_partitions(), partition);
  }
  return grpc::Status::OK;
}

grpc::Status UserService::ListIPUAttributes(grpc::ServerContext*,
                                            const virmgrpc::ListIPUAttributesRequest* request,
                                            virmgrpc::ListIPUAttributesReply* reply) {
  const auto& agents = request->agents();
  const uint32_t machines = store_.read([](const Model& model) { return model.pod().machines; });
  for (uint32_t machine = 1; machine <= machines; ++machine) {
    virmgrpc::ListIPUAttributesReply::Entry entry;
    fill(entry, machine);
    const bool wanted =
        agents.empty() || std::find(agents.begin(), agents.end(), entry.agent()) != agents.end();
    if (wanted) *reply->add_entries() = std::move(entry);
  }
  return grpc::Status::OK;
}

grpc::Status UserService::CreatePartition(grpc::ServerContext*,
                                          const virmgrpc::CreatePartitionRequest* request,
                                          virmgrpc::CreatePartitionReply* reply) {
  const virmgrpc::PartitionRequirements& wanted = request->requirements();
  if (wanted.num_ipulink_segments() > 1) return unimplemented("several IPU-Link segments");
  if (wanted.ipus_size() > 0) return unimplemented("an explicit choice of IPUs");
  const base::Status done =
      store_.change([&](Model& model) { return model.create(to_value(wanted), now()); });
  if (done.ok()) reply->set_partition_id(wanted.id());
  return to_grpc(done);
}

grpc::Status UserService::RemovePartition(grpc::ServerContext*,
                                          const virmgrpc::RemovePartitionRequest* request,
                                          virmgrpc::RemovePartitionReply*) {
  const auto force = request->force() ? vipu::simulator::Force::kYes : vipu::simulator::Force::kNo;
  const base::Status done = store_.change(
      [&](Model& model) { return model.remove(request->partition_id(), force, now()); });
  if (!done.ok() && done.error().code() == Code::kBusy) return wrong_state(done.error());
  return to_grpc(done);
}

grpc::Status UserService::ResetPartition(grpc::ServerContext*,
                                         const virmgrpc::ResetPartitionRequest* request,
                                         virmgrpc::ResetPartitionReply*) {
  return to_grpc(
      store_.change([&](Model& model) { return model.reset(request->partition_id(), now()); }));
}

grpc::Status UserService::GetPartitionIpuofConfig(
    grpc::ServerContext*, const virmgrpc::GetPartitionIpuofConfigRequest* request,
    virmgrpc::GetPartitionIpuofConfigReply* reply) {
  const std::string& id = request->partition_id();
  const auto configs = store_.read([&](const Model& model) { return model.config(id, now()); });
  if (!configs.ok() && configs.error().code() == Code::kBusy) return wrong_state(configs.error());
  if (!configs.ok()) return to_grpc(configs.error());
  const size_t gcds = configs.value().size();
  if (request->has_gcd_id() && request->gcd_id().id() >= gcds) {
    return {grpc::StatusCode::NOT_FOUND, str("partition ", base::quote(id), " has no GCD ",
                                             request->gcd_id().id(), ": it has ", gcds)};
  }
  virmgrpc::PartitionConfig* message = reply->mutable_ipuof_config();
  message->set_ipulink_routing_type(virmgrpc::IRT_DNC);
  message->set_num_ipulink_segments(1);
  message->set_ipuof_server_version("simulated");
  for (size_t gcd = 0; gcd < gcds; ++gcd) {
    const bool wanted = !request->has_gcd_id() || request->gcd_id().id() == gcd;
    if (wanted) fill(*message->add_gcd_configs(), configs.value()[gcd]);
  }
  return grpc::Status::OK;
}

grpc::Status UserService::GetPartitionStatus(grpc::ServerContext*,
                                             const virmgrpc::GetPartitionStatusRequest* request,
                                             virmgrpc::GetPartitionStatusReply* reply) {
  const std::string& id = request->partition_id();
  const auto status = store_.read([&](const Model& model) { return model.status(id, now()); });
  if (!status.ok()) return to_grpc(status.error());
  reply->mutable_status()->set_partition_id(id);
  fill(*reply->mutable_status(), status.value());
  return grpc::Status::OK;
}

grpc::Status VersionService::GetVersion(grpc::ServerContext*, const virmgrpc::VersionRequest*,
                                        virmgrpc::VersionReply* reply) {
  // The API is that of V-IPU 1.18.
  reply->set_version("1.18.0-simulator");
  return grpc::Status::OK;
}

}  // namespace simulator
