// SPDX-License-Identifier: Apache-2.0
// A partition as its controller and this host's ledger know it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "hook/config/config.h"
#include "hook/fleet/partitions.h"
#include "hook/ledger/lease.h"
#include "hook/ledger/partitions.h"
#include "hook/lifecycle/env.h"
#include "vipu/types.h"

namespace ipuctl {

struct PartitionView {
  std::string pool;
  vipu::Partition partition;
  std::optional<hook::ledger::PartitionRecord> record;  // set if ours and made by no lease
  std::vector<hook::ledger::Lease> leases;              // live leases that hold it
  std::vector<hook::fleet::Claim> claims = {};          // what other hosts of the fleet have of it
  bool in_fleet = false;                                // the fleet knows it
  std::string maker = {};  // tag of the host that made it, if it is one that a fleet keeps warm
};

// Returns "NAMED", "WARM", "FOREIGN" (adopted), "LEASE" (made for the lease that holds it), or
// "FLEET" (made on another host of the fleet), or "OTHER" (not made on this host).
[[nodiscard]] std::string_view kind_of(const PartitionView& view);

// Returns all partitions of POOL's controller. What the fleet could not tell is in OBSTACLES.
base::Result<std::vector<PartitionView>> list_partitions(hook::lifecycle::Env& env,
                                                         const hook::config::PoolConfig& pool,
                                                         const base::Deadline& deadline,
                                                         std::vector<base::Error>& obstacles);

// Returns the partition with this name, or kNotFound if the controller has none.
base::Result<PartitionView> get_partition(hook::lifecycle::Env& env,
                                          const hook::config::PoolConfig& pool,
                                          const std::string& name, const base::Deadline& deadline,
                                          std::vector<base::Error>& obstacles);

}  // namespace ipuctl
