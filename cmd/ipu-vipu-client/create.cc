// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"
#include "cmd/ipu-vipu-client/backoff.h"
#include "cmd/ipu-vipu-client/calls.h"

namespace client {
namespace {

using base::Code;
using base::Error;
using base::Result;
using base::Status;
using base::str;

Status request_partition(Connection& connection, const vipu::PartitionRequest& request) {
  virmgrpc::CreatePartitionRequest message;
  virmgrpc::PartitionRequirements* wanted = message.mutable_requirements();
  wanted->set_id(request.id);
  wanted->set_size(request.size);
  wanted->set_reconfigurable(request.reconfigurable);
  wanted->set_allocation_id(request.allocation);
  const virmgrpc::CreatePartitionReply reply =
      TRY(connection.call(&Connection::Users::CreatePartition, message));
  if (reply.partition_id().empty() || reply.partition_id() == request.id) return {};
  return Error(Code::kInternal,
               str("the controller made ", base::quote(reply.partition_id()), " instead"));
}

Error failed(const vipu::PartitionStatus& status) {
  const std::string errors = base::join(status.errors, "; ");
  return {Code::kInternal, str("the controller could not make it: ",
                               errors.empty() ? "it gives no reason" : errors)};
}

Status wait_until_active(Connection& connection, const std::string& id) {
  Backoff backoff;
  for (;;) {
    const vipu::PartitionStatus now = TRY(status(connection, id));
    if (now.ready == vipu::ReadyState::kActive) return {};
    if (now.ready == vipu::ReadyState::kError) return failed(now);
    backoff.sleep(connection.deadline());
    if (connection.deadline().passed()) {
      return Error(Code::kTimeout,
                   str("still ", vipu::name_of(now.ready), ", not ACTIVE ", connection.within()));
    }
  }
}

Result<vipu::Grant> make(Connection& connection, const vipu::PartitionRequest& request) {
  TRY(request_partition(connection, request));
  TRY_CTX("wait until ACTIVE", wait_until_active(connection, request.id));
  vipu::Grant grant;
  grant.gcds = TRY_CTX("read it back", config(connection, request.id));
  grant.controller_address = connection.controller_address();
  return grant;
}

}  // namespace

Result<vipu::Grant> create(Connection& connection, const vipu::PartitionRequest& request) {
  // kUnavailable promises that no partition was made. So the controller is reached first by a call
  // that makes none; when it is lost after that, nobody knows what it did.
  const Result<std::string> reached = version(connection);
  if (!reached.ok() && reached.error().code() == Code::kUnavailable) return reached.error();
  Result<vipu::Grant> made = make(connection, request);
  if (made.ok() || made.error().code() != Code::kUnavailable) return made;
  return Error(Code::kInternal, str("the controller was lost: ", made.error().message()));
}

}  // namespace client
