// SPDX-License-Identifier: Apache-2.0
// How an RPC ended.
#pragma once

#include <string>

namespace transport {

// The status codes of gRPC, with its names and numbers.
enum class StatusCode {
  OK,
  CANCELLED,
  UNKNOWN,
  INVALID_ARGUMENT,
  DEADLINE_EXCEEDED,
  NOT_FOUND,
  ALREADY_EXISTS,
  PERMISSION_DENIED,
  RESOURCE_EXHAUSTED,
  FAILED_PRECONDITION,
  ABORTED,
  OUT_OF_RANGE,
  UNIMPLEMENTED,
  INTERNAL,
  UNAVAILABLE,
  DATA_LOSS,
  UNAUTHENTICATED
};

// How an RPC ended: by the server's word, or by what happened to the connection.
struct RpcStatus {
  StatusCode code = StatusCode::OK;
  std::string message = {};
  // False: an answer came, but it does not say what became of the call, because it is not whole.
  bool is_whole = true;
  [[nodiscard]] bool ok() const { return code == StatusCode::OK; }
};

}  // namespace transport
