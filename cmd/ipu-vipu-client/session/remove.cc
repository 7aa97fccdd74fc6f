// SPDX-License-Identifier: Apache-2.0
#include <optional>

#include "base/names.h"
#include "base/text.h"
#include "cmd/ipu-vipu-client/session/backoff.h"
#include "cmd/ipu-vipu-client/session/calls.h"
#include "vipu/made_name.h"

namespace client {
namespace {

using namespace base::names;
using base::Removed;
using vipu::Force;

// Returns whether an attempt by force may succeed after this failure.
bool may_be_forced(const RpcStatus& status) {
  return status.code != StatusCode::UNAVAILABLE && status.code != StatusCode::DEADLINE_EXCEEDED &&
         status.code != StatusCode::PERMISSION_DENIED && status.code != StatusCode::UNAUTHENTICATED;
}

// Returns whether there is no such partition, or no longer. No code is published for a partition
// that is unknown, so the list decides. A controller that was never reached removed nothing.
bool is_gone(Connection& connection, const std::string& id, const RpcStatus& status) {
  const bool is_away = status.code == StatusCode::UNAVAILABLE;
  if (is_away && connection.reached() == Reached::kNo) return false;
  // status() finds out whether the controller only hides it.
  if (status.code == StatusCode::PERMISSION_DENIED) {
    const Result<vipu::PartitionStatus> there = client::status(connection, id);
    return !there.ok() && there.error().code() == Code::kNotFound;
  }
  const Result<std::optional<vipu::Partition>> listed = find(connection, id);
  return listed.ok() && !listed.value();
}

// After a lost answer: returns success once there is no such partition. One that is still there may
// be another host's by now, if people choose its name, so its removal is not repeated.
Status look_once_more(Connection& connection, const std::string& id, const RpcStatus& status) {
  const Deadline settles_by = Deadline::after(kSettleTime);
  for (Backoff backoff = polling(); !settles_by.passed() && !connection.deadline().passed();) {
    backoff.sleep(connection.deadline());
    if (is_gone(connection, id, status)) return {};
  }
  return Error(Code::kTimeout,
               str(connection.to_error(status).message(),
                   "; there is a partition of this name, which may be new: repeat the removal if"
                   " it is yours"));
}

Result<Removed> request_removal(Connection& connection, const std::string& id, Force force) {
  virmgrpc::RemovePartitionRequest message;
  message.set_partition_id(id);
  bool in_doubt = false;  // an earlier attempt may have succeeded
  const Deadline settles_by = Deadline::after(kSettleTime);
  Backoff backoff = polling();
  for (Retry retry(connection.deadline());;) {
    virmgrpc::RemovePartitionReply reply;
    const RpcStatus status = connection.attempt(rpc::kRemovePartition, message, reply);
    if (status.ok()) return Removed::kNow;
    // What answers UNKNOWN may have removed it, or may never have had it.
    const bool is_lost = fate_of(status) == Fate::kUnknown;
    if (is_gone(connection, id, status)) {
      return in_doubt || is_lost ? Removed::kNow : Removed::kWasAbsent;
    }
    if (status.code == StatusCode::NOT_FOUND) {
      if (in_doubt) return Removed::kNow;  // what is listed still goes
      if (!settles_by.passed() && !connection.deadline().passed()) {
        backoff.sleep(connection.deadline());
        continue;
      }
    }
    in_doubt = in_doubt || is_lost;
    const bool may_be_new =
        is_lost && !vipu::parse_made_name(id) && connection.reached() == Reached::kYes;
    if (may_be_new) {
      TRY(look_once_more(connection, id, status));
      return Removed::kNow;
    }
    if (retry.again(status, connection.reached())) continue;
    const bool by_force = force == Force::kYes && !message.force() && may_be_forced(status);
    if (!by_force) {
      const Error error = connection.to_error(status);
      // The controller may refuse because it is already removing the partition.
      const bool refused = error.code() == Code::kBusy;
      return in_doubt && refused ? Error(Code::kTimeout, error.message()) : error;
    }
    message.set_force(true);
    retry = Retry(connection.deadline());
  }
}

Status wait_until_gone(Connection& connection, const std::string& id) {
  for (Backoff backoff = polling();;) {
    if (!TRY(find(connection, id))) return {};
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
