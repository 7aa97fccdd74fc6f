// SPDX-License-Identifier: Apache-2.0
// Creates a partition, even if answers are lost. The name shows whether the partition exists,
// because the controller creates a name only once.
#include <algorithm>
#include <optional>

#include "base/names.h"
#include "base/text.h"
#include "cmd/ipu-vipu-client/calls.h"
#include "cmd/ipu-vipu-client/values.h"

namespace client {
namespace {

using namespace base::names;
using vipu::Partition;
using vipu::PartitionRequest;

Result<std::optional<Partition>> find_partition(Connection& connection, const std::string& id) {
  const std::vector<Partition> partitions = TRY(list(connection));
  const auto at = std::find_if(partitions.begin(), partitions.end(), [&](const Partition& p) {
    return p.id == id && p.ready != vipu::ReadyState::kRemoved;
  });
  if (at == partitions.end()) return std::optional<Partition>();
  return std::optional<Partition>(*at);
}

// Reaches the controller by a call that creates nothing, because kUnavailable promises that nothing
// was created. As nobody has the name now, a later partition of that name is ours.
Status check_name_is_free(Connection& connection, const std::string& id) {
  const Result<vipu::PartitionStatus> there = status(connection, id);
  if (!there.ok() && there.error().code() == Code::kNotFound) return {};
  if (!there.ok()) return there.error();
  if (there.value().ready == vipu::ReadyState::kRemoved) return {};
  return Error(Code::kExists,
               str("it already exists, and is ", vipu::name_of(there.value().ready)));
}

// Returns whether PARTITION is what REQUEST asks for. What REQUEST leaves open may have any value.
bool fits(const Partition& partition, const PartitionRequest& request) {
  return partition.ipus.size() == request.size &&
         partition.reconfigurable == request.reconfigurable &&
         (request.gcds == 0 || partition.gcds == request.gcds) &&
         (request.allocation.empty() || partition.allocation == request.allocation);
}

// Looks for the partition of a request whose answer was lost.
Result<std::optional<Partition>> look_up(Connection& connection, const PartitionRequest& request) {
  const std::optional<Partition> found =
      TRY_CTX("look for it after its answer was lost", find_partition(connection, request.id));
  if (!found || fits(*found, request)) return found;
  return Error(Code::kExists, str("it already exists, with ", found->ipus.size(), " IPUs in ",
                                  found->gcds, " GCDs, and was created by others"));
}

// Removes a partition that nobody asked for, and returns the error to report.
Error give_back(Connection& connection, const std::string& id) {
  const Result<base::Removed> removed = remove(connection, id, vipu::Force::kYes);
  return {Code::kInternal, str("the controller created ", base::quote(id), " instead",
                               removed.ok() ? ", which was removed" : ", which cannot be removed: ",
                               removed.ok() ? "" : removed.error().message())};
}

// Returns the error to report if the request may have been carried out. Its code must not promise
// that nothing was created, unless somebody else turned out to have the name.
Error in_doubt_about(const Error& error, const base::Deadline& deadline) {
  if (!vipu::made_nothing(error) || error.code() == Code::kExists) return error;
  return {deadline.passed() ? Code::kTimeout : Code::kInternal, error.message()};
}

Status request_partition(Connection& connection, const PartitionRequest& request) {
  const virmgrpc::CreatePartitionRequest message = to_message(request);
  bool in_doubt = false;  // an earlier attempt may have succeeded, or may yet succeed
  for (Retry retry(connection.deadline());;) {
    virmgrpc::CreatePartitionReply reply;
    const grpc::Status status =
        connection.attempt(&Connection::Users::CreatePartition, message, reply);
    if (status.ok()) {
      if (reply.partition_id().empty() || reply.partition_id() == request.id) return {};
      return give_back(connection, reply.partition_id());
    }
    in_doubt = in_doubt || fate_of(status) == Fate::kUnknown;
    const bool exists = status.error_code() == grpc::StatusCode::ALREADY_EXISTS;
    if (in_doubt && (exists || fate_of(status) == Fate::kUnknown)) {
      const Result<std::optional<Partition>> ours = look_up(connection, request);
      if (!ours.ok()) return in_doubt_about(ours.error(), connection.deadline());
      if (ours.value()) return {};
      if (exists)
        return Error(Code::kInternal,
                     "the controller reports that the name is taken, but does not list it");
    }
    if (retry.again(status, connection.reached())) continue;
    const Error error = connection.to_error(status);
    return in_doubt ? in_doubt_about(error, connection.deadline()) : error;
  }
}

}  // namespace

Status submit(Connection& connection, const PartitionRequest& request) {
  TRY(check_name_is_free(connection, request.id));
  return request_partition(connection, request);
}

Result<vipu::Grant> create(Connection& connection, const PartitionRequest& request) {
  TRY(submit(connection, request));
  Result<vipu::Grant> grant = wait(connection, request.id);
  if (!grant.ok()) return in_doubt_about(grant.error(), connection.deadline());
  return grant;
}

}  // namespace client
