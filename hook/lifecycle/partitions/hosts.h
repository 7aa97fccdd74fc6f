// SPDX-License-Identifier: Apache-2.0
// Which host made a partition, by its name, and what becomes of the partitions of a host that is
// gone.
#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "hook/config/config.h"
#include "hook/lifecycle/env.h"
#include "vipu/made_name.h"

namespace hook::lifecycle::partitions {

// A partition that this product made, on any host.
struct MadePartition {
  std::string pool;  // the first of those with this controller
  vipu::MadeName made;
  vipu::Partition partition;
};

// Returns the partitions of the product that the controllers of POOLS have. Asks each controller
// once. Adds an error to OBSTACLES for each that does not answer.
std::vector<MadePartition> made_partitions(Env& env, const std::vector<config::PoolConfig>& pools,
                                           const base::Deadline& deadline,
                                           std::vector<base::Error>& obstacles);

// Fails with kInvalid if HOST is no tag or this host's own.
base::Status check_fence(Env& env, const std::string& host);
// Removes all partitions of HOST, whoever uses them, and records that the host is fenced. Returns
// their names. What cannot be removed is in OBSTACLES, and the host is not recorded as fenced then:
// another call goes on. What is in this host's own ledger stays. Fails as check_fence() does.
base::Result<std::vector<std::string>> fence_host(Env& env,
                                                  const std::vector<config::PoolConfig>& pools,
                                                  const std::string& host,
                                                  const base::Deadline& deadline,
                                                  std::vector<base::Error>& obstacles);

// Removes the partitions that this host made before its ledger was, if that was made since this
// boot: the ledger of a host without a disk is new at each boot, and what it held before is gone.
// Returns their names. Does nothing on other hosts.
base::Result<std::vector<std::string>> remove_of_earlier_boots(
    Env& env, const std::vector<config::PoolConfig>& pools, const base::Deadline& deadline,
    std::vector<base::Error>& obstacles);

}  // namespace hook::lifecycle::partitions
