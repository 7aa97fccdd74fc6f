// SPDX-License-Identifier: Apache-2.0
// What it means that a controller refused to create a partition. Graphcore publishes no error
// codes, so what the controller has decides.
#pragma once

#include "base/result.h"
#include "cmd/ipu-vipu-client/session/connection.h"
#include "vipu/types.h"

namespace client {

enum class Refusal {
  kMade,       // there is a partition of that name: the request was carried out
  kFull,       // no block of that size is free
  kNeverFits,  // the controller has fewer IPUs than that
  kUnused,     // no partition of its allocation is listed: if it stays so, none can become free
  kBusy,       // there is room, but STATUS or its text may mean that another operation is under way
  kOther       // there is room, or nobody knows
};

// Asks the controller what it has, and judges why it refused REQUEST with STATUS.
Refusal judge(Connection& connection, const vipu::PartitionRequest& request,
              const RpcStatus& status);

}  // namespace client
