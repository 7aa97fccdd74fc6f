// SPDX-License-Identifier: Apache-2.0
// From a lease in state INTENT to the IPUs that its container gets.
#pragma once

#include "base/clock.h"
#include "base/result.h"
#include "hook/config/wall.h"
#include "hook/container/request/request.h"
#include "hook/lifecycle/env.h"
#include "hook/lifecycle/queue_turn.h"
#include "vipu/types.h"

namespace hook::lifecycle::start {

struct GrantRequest {
  const config::Config& config;
  const config::PoolConfig& pool;
  const request::Request& request;
  Turn& turn;
  config::Wall wall = {};  // as the last look found it
};

// Returns the number of IPUs that REQUEST is for, as far as this is known before there is a lease;
// 0 for a partition that was made in advance and for all cards.
[[nodiscard]] uint32_t ipus_of(const request::Request& request);

// Makes LEASE's partition, takes a warm one, or resets one that was made in advance to its initial
// state. Waits until it is ACTIVE and reads it back. While the pool is full, releases warm
// partitions that block the request, then waits until UNTIL and fails with kBusy, saying what
// would make room. The turn ends as soon as the partition has its IPUs. LEASE is up to date also
// after an error.
base::Result<vipu::Grant> obtain_grant(Env& env, GrantRequest what, ledger::Lease& lease,
                                       const base::Deadline& until);

}  // namespace hook::lifecycle::start
