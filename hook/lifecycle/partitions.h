// SPDX-License-Identifier: Apache-2.0
// Partitions that outlive containers: made, reset and removed by an operator.
#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "hook/config/config.h"
#include "hook/lifecycle/env.h"
#include "vipu/controller.h"
#include "vipu/types.h"

namespace hook {

struct NewPartition {
  PoolConfig pool;
  vipu::PartitionRequest request;
  bool shared = false;  // several containers may have the same GCD
  bool wait = true;     // until it is ACTIVE
};

// Whether REQUEST can be asked of POOL at all: its name is one that operators may give, and it
// lacks nothing. kInvalid with the option.
base::Status check_partition(const NewPartition& wanted);

// Makes the partition and records it, so that IPU_PARTITION can name it. After an error nothing is
// left of it, or reconcile() removes it.
base::Status create_partition(Env& env, const NewPartition& wanted, const base::Deadline& deadline);

struct RemovedPartition {
  base::Removed removed = base::Removed::kWasAbsent;  // whether the controller had it
  std::vector<std::string> containers;                // that had it, with force
};

// Removes a partition of ours. kBusy, with the containers, while it is in use and there is no
// FORCE; kDenied if it is not of ours; kNotFound if there is none.
base::Result<RemovedPartition> remove_partition(Env& env, const PoolConfig& pool,
                                                const std::string& name, vipu::Force force,
                                                const base::Deadline& deadline);

// The containers that would lose the partition if it were removed or reset now; nothing is done.
// Errors as above.
base::Result<std::vector<std::string>> check_change(Env& env, const PoolConfig& pool,
                                                    const std::string& name, vipu::Force force,
                                                    const base::Deadline& deadline);

// Brings a partition of ours that no container has to its initial state. Errors as above.
base::Status reset_partition(Env& env, const PoolConfig& pool, const std::string& name,
                             vipu::Relocate relocate, const base::Deadline& deadline);

// What processes that ended left half made or half removed.
base::Result<std::vector<PartitionRecord>> find_leftovers(Env& env);
// Removes it. The names of what is gone now; what is in the way is added to OBSTACLES.
base::Result<std::vector<std::string>> reconcile_partitions(Env& env,
                                                            const base::Deadline& deadline,
                                                            std::vector<base::Error>& obstacles);

}  // namespace hook
