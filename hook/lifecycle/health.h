// SPDX-License-Identifier: Apache-2.0
// Checks the health of a pool's IPUs, and tells those whose containers have bad ones. A running
// container is never touched; new ones do not get tainted IPUs.
#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "hook/lifecycle/env.h"
#include "vipu/health.h"

namespace hook::lifecycle {

// Runs the pool's health command and records what it saw. The command runs as nobody, without
// capabilities, at most until DEADLINE. Returns the IPUs whose taint changed.
// Fails with kInvalid if the pool has no such command, or if its output is not one of those of
// parse_health(), and with kInternal if it fails; nothing is recorded then.
base::Result<std::vector<vipu::IpuHealth>> check_health(Env& env, const config::PoolConfig& pool,
                                                        const base::Deadline& deadline);

// What the owner of a lease is told of its partition.
struct Told {
  ledger::Lease lease;
  std::string text;
};

// Tells the owners of live leases if the controller shows their partitions in state ERROR, with its
// reasons, and when they are ACTIVE again. Each change is one event of the lease; returns those
// that are new. Asks nobody if the pool has no live lease.
base::Result<std::vector<Told>> check_partitions(Env& env, const config::PoolConfig& pool,
                                                 const base::Deadline& deadline);

// Taints an IPU for an operator, by its name in the pool. Fails with kInvalid if the pool has no
// IPU of that name, and kUnsupported if a V-IPU controller places its partitions.
base::Status taint_ipu(Env& env, const config::PoolConfig& pool, const std::string& ipu,
                       const std::string& reason);

}  // namespace hook::lifecycle
