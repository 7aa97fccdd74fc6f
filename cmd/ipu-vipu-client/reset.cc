// SPDX-License-Identifier: Apache-2.0
#include "cmd/ipu-vipu-client/calls.h"

#include "base/names.h"

namespace client {
namespace {

using namespace base::names;

Result<vipu::OperationState> find_operation(Connection& connection, const std::string& id) {
  const vipu::PartitionStatus now = TRY(status(connection, id));
  return now.operation;
}

// If the answer is lost and the partition shows no reset, asks again. The partition may then be
// reset twice, which is harmless, because nobody uses it.
Status request_reset(Connection& connection, const std::string& id, vipu::Relocate relocate) {
  virmgrpc::ResetPartitionRequest message;
  message.set_partition_id(id);
  message.set_relocatable(relocate == vipu::Relocate::kYes);
  bool in_doubt = false;  // an earlier attempt may have succeeded
  for (Retry retry(connection.deadline());;) {
    virmgrpc::ResetPartitionReply reply;
    const grpc::Status status =
        connection.attempt(&Connection::Users::ResetPartition, message, reply);
    if (status.ok()) return {};
    in_doubt = in_doubt || fate_of(status) == Fate::kUnknown;
    const Result<vipu::OperationState> operation =
        in_doubt ? find_operation(connection, id) : vipu::OperationState::kUndefined;
    if (operation.ok() && operation.value() == vipu::OperationState::kResetting) return {};
    if (!retry.again(status, connection.reached())) return connection.to_error(status);
  }
}

}  // namespace

Status reset(Connection& connection, const std::string& id, vipu::Relocate relocate) {
  TRY(request_reset(connection, id, relocate));
  TRY_CTX("wait until ACTIVE", wait_until_active(connection, id));
  return {};
}

}  // namespace client
