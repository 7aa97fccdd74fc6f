// SPDX-License-Identifier: Apache-2.0
// From a lease in state INTENT to the IPUs that its container gets.
#pragma once

#include "base/clock.h"
#include "base/result.h"
#include "hook/config/config.h"
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
};

// How many IPUs REQUEST is for, as far as it can be told before a lease is there; 0 for a partition
// that was made ahead and for all cards.
[[nodiscard]] uint32_t ipus_of(const request::Request& request);

// Makes LEASE's partition, takes a warm one, or brings the one that was made ahead into its initial
// state; waits until it is ACTIVE and reads it back. While the pool is full: warm partitions that
// stand in the way are given back, then it waits until PATIENCE; kBusy then says what would make
// room. The turn is over as soon as the partition has its IPUs. LEASE is up to date also after an
// error.
base::Result<vipu::Grant> obtain_grant(Env& env, const GrantRequest& what, ledger::Lease& lease,
                                       const base::Deadline& patience);

}  // namespace hook::lifecycle::start
