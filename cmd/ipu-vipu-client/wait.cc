// SPDX-License-Identifier: Apache-2.0
// Waits for a partition to become ACTIVE.
#include "base/names.h"
#include "base/text.h"
#include "cmd/ipu-vipu-client/backoff.h"
#include "cmd/ipu-vipu-client/calls.h"

namespace client {
namespace {

using namespace base::names;
using vipu::OperationState;
using vipu::PartitionStatus;
using vipu::ReadyState;

// Returns whether the controller itself is still trying to repair a partition in state ERROR.
bool is_being_mended(const PartitionStatus& status) {
  return status.operation == OperationState::kResetting ||
         (status.operation != OperationState::kFailed &&
          status.auto_resets < status.max_auto_resets);
}

Error failed(const PartitionStatus& status) {
  const std::string errors = base::join(status.errors, "; ");
  const std::string resets =
      status.auto_resets == 0 ? "" : str(", after ", status.auto_resets, " automatic resets");
  return {Code::kInternal,
          str("the partition is in ERROR (last operation: ", vipu::name_of(status.operation),
              resets, "): ", errors.empty() ? "the controller gives no reason" : errors)};
}

}  // namespace

Status wait_until_active(Connection& connection, const std::string& id) {
  for (Backoff backoff = polling();;) {
    const PartitionStatus now = TRY(status(connection, id));
    const bool resetting = now.operation == OperationState::kResetting;
    if (now.ready == ReadyState::kActive && !resetting) return {};
    if (now.ready == ReadyState::kError && !is_being_mended(now)) return failed(now);
    if (now.ready == ReadyState::kRemoved) {
      return Error(Code::kNotFound, "the controller has removed the partition");
    }
    backoff.sleep(connection.deadline());
    if (connection.deadline().passed()) {
      return Error(Code::kTimeout,
                   str("the partition did not become ACTIVE ", connection.within(), " (it is ",
                       vipu::name_of(now.ready), ", ", vipu::name_of(now.operation), ")"));
    }
  }
}

Result<vipu::Grant> wait(Connection& connection, const std::string& id) {
  TRY_CTX("wait until ACTIVE", wait_until_active(connection, id));
  return config(connection, id, std::nullopt);
}

}  // namespace client
