// SPDX-License-Identifier: Apache-2.0
// The calls that change nothing.
#include "base/text.h"
#include "cmd/ipu-vipu-client/calls.h"
#include "cmd/ipu-vipu-client/values.h"
#include "vipu/placement.h"

namespace client {

using base::Code;
using base::Error;
using base::Result;
using base::str;

Result<std::vector<vipu::Partition>> list(Connection& connection) {
  const virmgrpc::ListPartitionsRequest message;
  const virmgrpc::ListPartitionsReply reply =
      TRY(connection.call(&Connection::Users::ListPartitions, message));
  std::vector<vipu::Partition> partitions;
  for (const virmgrpc::Partition& partition : reply.partitions()) {
    partitions.push_back(to_value(partition));
  }
  return partitions;
}

Result<vipu::PartitionStatus> status(Connection& connection, const std::string& id) {
  virmgrpc::GetPartitionStatusRequest message;
  message.set_partition_id(id);
  const virmgrpc::GetPartitionStatusReply reply =
      TRY(connection.call(&Connection::Users::GetPartitionStatus, message));
  return to_value(reply.status());
}

Result<std::vector<vipu::IpuofConfig>> config(Connection& connection, const std::string& id) {
  virmgrpc::GetPartitionIpuofConfigRequest message;
  message.set_partition_id(id);
  const auto reply = connection.call(&Connection::Users::GetPartitionIpuofConfig, message);
  // There is such a partition, but not yet an ACTIVE one.
  if (!reply.ok() && reply.error().code() == Code::kBusy) {
    return Error(Code::kNotFound, reply.error().message());
  }
  const virmgrpc::GetPartitionIpuofConfigReply configuration = TRY(reply);
  std::vector<vipu::IpuofConfig> gcds;
  for (const auto& gcd : configuration.ipuof_config().gcd_configs()) gcds.push_back(to_value(gcd));
  if (gcds.empty()) return Error(Code::kInternal, "the controller gave a configuration of no GCD");
  return gcds;
}

Result<vipu::Capacity> capacity(Connection& connection) {
  constexpr size_t kMaxIpus = 65536;
  const virmgrpc::ListIPUAttributesRequest message;
  const virmgrpc::ListIPUAttributesReply reply =
      TRY(connection.call(&Connection::Users::ListIPUAttributes, message));
  size_t total = 0;
  for (const auto& entry : reply.entries()) total += entry.ipu_attributes().size();
  if (total > kMaxIpus) return Error(Code::kInternal, str("it lists ", total, " IPUs"));
  const std::vector<vipu::Partition> partitions = TRY(list(connection));
  return vipu::capacity_of(static_cast<uint32_t>(total), partitions);
}

Result<std::string> version(Connection& connection) {
  const virmgrpc::VersionRequest message;
  const virmgrpc::VersionReply reply =
      TRY(connection.call(&Connection::Versions::GetVersion, message));
  return base::one_line(reply.version(), 200);
}

}  // namespace client
