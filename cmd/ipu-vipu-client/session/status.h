// SPDX-License-Identifier: Apache-2.0
// The status of an RPC as an error for people and programs.
#pragma once

#include <chrono>

#include "base/result.h"
#include "cmd/ipu-vipu-client/session/rpc.h"

namespace client {

enum class Reached : bool { kNo, kYes };

// What else is known about a failed RPC.
struct Circumstances {
  std::chrono::milliseconds waited{0};
  Reached reached = Reached::kNo;  // by an earlier RPC
};

// Returns the code that vipu::Controller promises, what happened, the time waited, and the name of
// the status: "no answer within 4750 ms (DEADLINE_EXCEEDED)".
base::Error to_error(const RpcStatus& status, const Circumstances& circumstances);

}  // namespace client
