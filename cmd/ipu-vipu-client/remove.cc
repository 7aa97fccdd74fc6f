// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/names.h"
#include "base/text.h"
#include "cmd/ipu-vipu-client/backoff.h"
#include "cmd/ipu-vipu-client/calls.h"

namespace client {
namespace {

using namespace base::names;
using base::Removed;
using grpc::StatusCode;
using vipu::Force;

// Returns whether an attempt by force may succeed after this failure.
bool may_be_forced(const grpc::Status& status) {
  return status.error_code() != StatusCode::UNAVAILABLE &&
         status.error_code() != StatusCode::DEADLINE_EXCEEDED &&
         status.error_code() != StatusCode::PERMISSION_DENIED &&
         status.error_code() != StatusCode::UNAUTHENTICATED;
}

enum class Listed : bool { kNo, kYes };

Result<Listed> look_up(Connection& connection, const std::string& id) {
  const std::vector<vipu::Partition> partitions = TRY(list(connection));
  const bool there = std::any_of(partitions.begin(), partitions.end(), [&](const auto& p) {
    return p.id == id && p.ready != vipu::ReadyState::kRemoved;
  });
  return there ? Listed::kYes : Listed::kNo;
}

// Returns whether an attempt whose answer was lost removed the partition nevertheless. A controller
// that was never reached removed nothing.
bool was_carried_out(Connection& connection, const std::string& id, const grpc::Status& status) {
  if (fate_of(status) != Fate::kUnknown) return false;
  if (status.error_code() == StatusCode::UNAVAILABLE && connection.reached() == Reached::kNo) {
    return false;
  }
  const Result<Listed> listed = look_up(connection, id);
  return listed.ok() && listed.value() == Listed::kNo;
}

Result<Removed> request_removal(Connection& connection, const std::string& id, Force force) {
  virmgrpc::RemovePartitionRequest message;
  message.set_partition_id(id);
  bool in_doubt = false;  // an earlier attempt may have succeeded
  for (Retry retry(connection.deadline());;) {
    virmgrpc::RemovePartitionReply reply;
    const grpc::Status status =
        connection.attempt(&Connection::Users::RemovePartition, message, reply);
    if (status.ok()) return Removed::kNow;
    if (status.error_code() == StatusCode::NOT_FOUND) {
      return in_doubt ? Removed::kNow : Removed::kWasAbsent;
    }
    if (was_carried_out(connection, id, status)) return Removed::kNow;
    in_doubt = in_doubt || fate_of(status) == Fate::kUnknown;
    if (retry.again(status, connection.reached())) continue;
    const bool by_force = force == Force::kYes && !message.force() && may_be_forced(status);
    if (!by_force) return connection.to_error(status);
    message.set_force(true);
    retry = Retry(connection.deadline());
  }
}

Status wait_until_gone(Connection& connection, const std::string& id) {
  for (Backoff backoff = polling();;) {
    const Listed listed = TRY(look_up(connection, id));
    if (listed == Listed::kNo) return {};
    backoff.sleep(connection.deadline());
    if (connection.deadline().passed()) {
      return Error(Code::kTimeout,
                   str("the controller did not remove the partition ", connection.within()));
    }
  }
}

}  // namespace

Result<Removed> remove(Connection& connection, const std::string& id, Force force) {
  const Removed removed = TRY(request_removal(connection, id, force));
  if (removed == Removed::kNow) TRY_CTX("wait until gone", wait_until_gone(connection, id));
  return removed;
}

}  // namespace client
