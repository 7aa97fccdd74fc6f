// SPDX-License-Identifier: Apache-2.0
#include "cmd/ipu-vipu-client/session/calls.h"

#include "base/names.h"
#include "cmd/ipu-vipu-client/session/backoff.h"

namespace client {
namespace {

using namespace base::names;

// A reset that takes less time than two looks never shows.
constexpr std::chrono::milliseconds kShowTime(1000);

// Returns whether a refused reset came too early: the partition is still being created.
bool is_pending(Connection& connection, const std::string& id) {
  const Result<vipu::PartitionStatus> now = status(connection, id);
  return now.ok() && now.value().ready == vipu::ReadyState::kPending;
}

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
  bool in_doubt = false;   // an earlier attempt may have succeeded
  bool was_ready = false;  // once the partition was ACTIVE, a refusal is final
  for (Retry retry(connection.deadline());;) {
    virmgrpc::ResetPartitionReply reply;
    const RpcStatus status = connection.attempt(rpc::kResetPartition, message, reply);
    if (status.ok()) return {};
    in_doubt = in_doubt || fate_of(status) == Fate::kUnknown;
    const Result<vipu::OperationState> operation =
        in_doubt ? find_operation(connection, id) : vipu::OperationState::kUndefined;
    if (operation.ok() && operation.value() == vipu::OperationState::kResetting) return {};
    if (retry.again(status, connection.reached())) continue;
    if (was_ready || !is_pending(connection, id)) return connection.to_error(status);
    TRY(wait_until_active(connection, id));
    was_ready = true;
  }
}

// Without this, a partition that still looks ACTIVE would pass for one that was reset.
Status wait_until_reset_shows(Connection& connection, const std::string& id) {
  const Deadline shows_by = Deadline::after(kShowTime);
  for (Backoff backoff = polling(); !shows_by.passed() && !connection.deadline().passed();) {
    const vipu::PartitionStatus now = TRY(status(connection, id));
    const bool shows = now.operation == vipu::OperationState::kResetting ||
                       now.ready == vipu::ReadyState::kPending;
    if (shows) return {};
    backoff.sleep(connection.deadline());
  }
  return {};
}

}  // namespace

Status reset(Connection& connection, const std::string& id, vipu::Relocate relocate) {
  TRY(request_reset(connection, id, relocate));
  TRY_CTX("wait until RESETTING", wait_until_reset_shows(connection, id));
  TRY_CTX("wait until ACTIVE", wait_until_active(connection, id));
  return {};
}

}  // namespace client
