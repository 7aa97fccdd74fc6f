// SPDX-License-Identifier: Apache-2.0
// Which host made a partition, by its name, and what becomes of the partitions of a host that is
// gone.
#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "hook/config/config.h"
#include "hook/fleet/partitions.h"
#include "hook/lifecycle/env.h"
#include "vipu/made_name.h"

namespace hook::lifecycle::partitions {

// A partition that this product made, on any host.
struct MadePartition {
  std::string pool;  // the first of those with this controller
  vipu::MadeName made;
  vipu::Partition partition;
};

// Returns the partitions that hosts made for themselves and that the controllers of POOLS have.
// Asks each controller once. Adds an error to OBSTACLES for each that does not answer.
std::vector<MadePartition> made_partitions(Env& env, const std::vector<config::PoolConfig>& pools,
                                           const base::Deadline& deadline,
                                           std::vector<base::Error>& obstacles);

// Another host that is to be fenced, and what it has.
struct Fenced {
  std::string host;  // its tag
  std::vector<MadePartition> partitions;
};
// Returns what HOST has now, as made_partitions() does. Fails with kInvalid if HOST is no tag or
// this host's own.
base::Result<Fenced> find_fenced(Env& env, const std::vector<config::PoolConfig>& pools,
                                 const std::string& host, const base::Deadline& deadline,
                                 std::vector<base::Error>& obstacles);
// Adds to OBSTACLES each controller at which HOST may have partitions, by what the fleet's store
// says of its pools and grants, and that no pool of POOLS has. Does nothing without a fleet.
base::Status check_controllers(const Env& env, const std::vector<config::PoolConfig>& pools,
                               const std::string& host, const base::Deadline& deadline,
                               std::vector<base::Error>& obstacles);
// What becomes of partitions of the dead host that may be at controllers of others.
enum class Unreached { kObstacle, kLeave };
// Says in the fleet that HOST is dead, which fails without etcd and changes nothing then. Only then
// it looks for the host's partitions: a host that lives gets IPUs until it is fenced. It removes
// them, whoever uses them, and the fleet's warm ones that the host makes, removes or uses, then
// what the host has at the fleet, as fleet::fence() does, and records in the ledger that the host
// is fenced. Returns the names of the partitions. What cannot be removed, or may be at a controller
// of others, is in OBSTACLES: another call, or another host's, goes on, and what the fleet knows of
// the host stays until then. Warm partitions that it took are obstacles while another host has not
// told since the store went back (fleet/restored.h); they and their grants alone stay then. What is
// in this host's own ledger stays. Fails as find_fenced(), too.
base::Result<std::vector<std::string>> fence_host(Env& env,
                                                  const std::vector<config::PoolConfig>& pools,
                                                  const std::string& host, fleet::IfAlive if_alive,
                                                  const base::Deadline& deadline,
                                                  std::vector<base::Error>& obstacles,
                                                  Unreached unreached = Unreached::kObstacle);

// Removes the partitions that this host made, or took of the fleet's, before its ledger was, if
// that was made since this boot: the ledger of a host without a disk is new at each boot, and what
// it held before is gone. Returns their names. Does nothing on other hosts.
base::Result<std::vector<std::string>> remove_of_earlier_boots(
    Env& env, const std::vector<config::PoolConfig>& pools, const base::Deadline& deadline,
    std::vector<base::Error>& obstacles);

}  // namespace hook::lifecycle::partitions
