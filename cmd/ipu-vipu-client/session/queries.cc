// SPDX-License-Identifier: Apache-2.0
// The calls that do not change anything.
#include <algorithm>

#include "base/names.h"
#include "base/text.h"
#include "cmd/ipu-vipu-client/session/calls.h"
#include "cmd/ipu-vipu-client/session/values.h"
#include "vipu/placement.h"

namespace client {
namespace {

using namespace base::names;

// Returns whether a partition that may not be looked at can exist: the controller has another
// answer to a name that nobody has.
bool may_be_hidden(Connection& connection) {
  virmgrpc::GetPartitionStatusRequest message;
  message.set_partition_id("ipu-no-partition-has-this-name");
  const auto reply = connection.read(rpc::kGetPartitionStatus, message);
  return reply.ok() || reply.error().code() != Code::kDenied;
}

// Returns kNotFound if the controller answered about a partition that it does not list, because no
// code is published for that. Returns other errors unchanged.
Error absent_or(Connection& connection, const std::string& id, const Error& error) {
  const bool is_answer = error.code() != Code::kUnavailable && error.code() != Code::kTimeout;
  if (!is_answer || error.code() == Code::kNotFound) return error;
  const Result<std::optional<vipu::Partition>> listed = find(connection, id);
  if (!listed.ok() || listed.value()) return error;
  if (error.code() == Code::kDenied && may_be_hidden(connection)) return error;
  return {Code::kNotFound, str("the controller lists no such partition: ", error.message())};
}

// Returns kNotFound if a configuration does not exist: there is no such partition, it is not ACTIVE
// yet, or it has no such GCD. Returns other errors unchanged.
Error absent(Connection& connection, const std::string& id, const Error& error,
             std::optional<uint32_t> gcd) {
  const bool no_such_gcd = gcd.has_value() && error.code() == Code::kInvalid;
  if (error.code() == Code::kBusy || no_such_gcd) return {Code::kNotFound, error.message()};
  return absent_or(connection, id, error);
}

}  // namespace

Result<std::vector<vipu::Partition>> list(Connection& connection) {
  const virmgrpc::ListPartitionsRequest message;
  const virmgrpc::ListPartitionsReply reply = TRY(connection.read(rpc::kListPartitions, message));
  std::vector<vipu::Partition> partitions;
  for (const virmgrpc::Partition& partition : reply.partitions()) {
    // It is gone, and holds no IPUs.
    if (partition.ready_state() != virmgrpc::PS_REMOVED) partitions.push_back(to_value(partition));
  }
  return partitions;
}

Result<std::optional<vipu::Partition>> find(Connection& connection, const std::string& id) {
  for (vipu::Partition& partition : TRY(list(connection))) {
    if (partition.id == id) return std::optional<vipu::Partition>(std::move(partition));
  }
  return std::optional<vipu::Partition>();
}

Result<vipu::PartitionStatus> status(Connection& connection, const std::string& id) {
  virmgrpc::GetPartitionStatusRequest message;
  message.set_partition_id(id);
  const auto reply = connection.read(rpc::kGetPartitionStatus, message);
  if (!reply.ok()) return absent_or(connection, id, reply.error());
  const virmgrpc::PartitionStatus& found = reply.value().status();
  const std::string& told = found.partition_id();
  if (told.empty() && found.ready_state() == virmgrpc::PS_UNDEFINED) {
    return absent_or(connection, id,
                     Error(Code::kInternal, "the controller returned an empty status"));
  }
  if (told.empty() || told == id) return to_value(found);
  return Error(Code::kInternal,
               str("the controller returned the status of ", base::quote(told), " instead"));
}

Result<vipu::Grant> config(Connection& connection, const std::string& id,
                           std::optional<uint32_t> gcd) {
  virmgrpc::GetPartitionIpuofConfigRequest message;
  message.set_partition_id(id);
  if (gcd) message.mutable_gcd_id()->set_id(*gcd);
  const auto reply = connection.read(rpc::kGetPartitionIpuofConfig, message);
  if (!reply.ok()) return absent(connection, id, reply.error(), gcd);
  vipu::Grant grant;
  for (const auto& of_gcd : reply.value().ipuof_config().gcd_configs()) {
    grant.gcds.push_back(to_value(of_gcd));
  }
  if (grant.gcds.empty()) {
    return Error(Code::kNotFound, "the controller returned a configuration without a GCD");
  }
  return grant;
}

Result<std::vector<vipu::IpuAttributes>> attributes(Connection& connection,
                                                    const std::vector<std::string>& agents) {
  virmgrpc::ListIPUAttributesRequest message;
  for (const std::string& agent : agents) message.add_agents(agent);
  const virmgrpc::ListIPUAttributesReply reply =
      TRY(connection.read(rpc::kListIPUAttributes, message));
  return to_values(reply);
}

Result<vipu::Survey> survey(Connection& connection) {
  const std::vector<vipu::IpuAttributes> ipus = TRY(attributes(connection, {}));
  vipu::Survey survey;
  // The controller reports the number of IPUs, but not their links. Domains are as in every POD.
  for (size_t left = ipus.size(); left > 0;) {
    const size_t domain = std::min<size_t>(left, vipu::kIpusPerDomain);
    survey.domains.push_back(static_cast<uint32_t>(domain));
    left -= domain;
  }
  survey.partitions = TRY(list(connection));
  return survey;
}

Result<std::string> version(Connection& connection) {
  const virmgrpc::VersionRequest message;
  const virmgrpc::VersionReply reply = TRY(connection.read(rpc::kGetVersion, message));
  return base::one_line(reply.version(), 200);
}

}  // namespace client
