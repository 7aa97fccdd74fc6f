// SPDX-License-Identifier: Apache-2.0
// Waits for a partition to become ACTIVE.
#include "base/names.h"
#include "base/text.h"
#include "cmd/ipu-vipu-client/session/backoff.h"
#include "cmd/ipu-vipu-client/session/calls.h"

namespace client {
namespace {

using namespace base::names;
using vipu::OperationState;
using vipu::PartitionStatus;
using vipu::ReadyState;

bool has_addresses(const vipu::Grant& grant) {
  for (const vipu::IpuofConfig& gcd : grant.gcds) {
    for (const vipu::IpuofDevice& device : gcd.devices) {
      if (device.ip.empty()) return false;
    }
  }
  return true;
}

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
  const Deadline shows_by = Deadline::after(kSettleTime);
  for (Backoff backoff = polling();;) {
    const Result<PartitionStatus> found = status(connection, id);
    if (!found.ok() && found.error().code() == Code::kNotFound && !shows_by.passed() &&
        !connection.deadline().passed()) {
      backoff.sleep(connection.deadline());
      continue;
    }
    const PartitionStatus now = TRY(found);
    if (now.ready == ReadyState::kRemoved || now.operation == OperationState::kRemoving) {
      return Error(Code::kNotFound, "the controller has removed the partition, or is removing it");
    }
    const bool resetting = now.operation == OperationState::kResetting;
    if (now.ready == ReadyState::kActive && !resetting) return {};
    if (now.ready == ReadyState::kError && !is_being_mended(now)) return failed(now);
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
  const Deadline complete_by = Deadline::after(kSettleTime);
  for (Backoff backoff = polling();;) {
    Result<vipu::Grant> grant = config(connection, id, std::nullopt);
    if (grant.ok() && has_addresses(grant.value())) return grant;
    const bool may_come = grant.ok() || grant.error().code() == Code::kNotFound;
    if (!may_come || complete_by.passed() || connection.deadline().passed()) {
      if (!grant.ok()) return grant;
      return Error(Code::kInternal,
                   "the controller reports that the partition is ACTIVE, but gives no address of"
                   " its IPUs");
    }
    backoff.sleep(connection.deadline());
  }
}

}  // namespace client
