// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/text.h"
#include "cmd/ipu-vipu-client/backoff.h"
#include "cmd/ipu-vipu-client/calls.h"

namespace client {
namespace {

using base::Code;
using base::Error;
using base::Removed;
using base::Result;
using base::Status;
using base::str;

enum class Force : bool { kNo, kYes };

Result<Removed> request_removal(Connection& connection, const std::string& id, Force force) {
  virmgrpc::RemovePartitionRequest message;
  message.set_partition_id(id);
  message.set_force(force == Force::kYes);
  const auto reply = connection.call(&Connection::Users::RemovePartition, message);
  if (reply.ok()) return Removed::kNow;
  if (reply.error().code() == Code::kNotFound) return Removed::kWasAbsent;
  return reply.error();
}

// Whether a second try, by force, may do what the first did not.
bool may_be_forced(const Error& error) {
  return error.code() != Code::kUnavailable && error.code() != Code::kTimeout &&
         error.code() != Code::kDenied;
}

Status wait_until_gone(Connection& connection, const std::string& id) {
  Backoff backoff;
  for (;;) {
    const std::vector<vipu::Partition> partitions = TRY(list(connection));
    const bool there = std::any_of(partitions.begin(), partitions.end(), [&](const auto& p) {
      return p.id == id && p.ready != vipu::ReadyState::kRemoved;
    });
    if (!there) return {};
    backoff.sleep(connection.deadline());
    if (connection.deadline().passed()) {
      return Error(Code::kTimeout, str("it is still listed ", connection.within()));
    }
  }
}

}  // namespace

Result<Removed> remove(Connection& connection, const std::string& id) {
  const Result<Removed> gently = request_removal(connection, id, Force::kNo);
  if (!gently.ok()) {
    if (!may_be_forced(gently.error())) return gently.error();
    (void)TRY_CTX("by force", request_removal(connection, id, Force::kYes));
  } else if (gently.value() == Removed::kWasAbsent) {
    return Removed::kWasAbsent;
  }
  TRY_CTX("wait until gone", wait_until_gone(connection, id));
  return Removed::kNow;
}

}  // namespace client
