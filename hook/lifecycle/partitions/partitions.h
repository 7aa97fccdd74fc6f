// SPDX-License-Identifier: Apache-2.0
// Partitions that outlive containers: made, reset and removed by an operator, or adopted.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "hook/config/config.h"
#include "hook/lifecycle/env.h"
#include "hook/lifecycle/liveness.h"
#include "vipu/controller.h"
#include "vipu/types.h"

namespace hook::lifecycle::partitions {

struct NewPartition {
  config::PoolConfig pool;
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

// Records a partition that somebody else made, such as Graphcore's vipu, so that IPU_PARTITION can
// name it. It must be ACTIVE, and stays its maker's: it is never reset and never removed. kInvalid
// for a name of ours, kUnsupported for a pool without a V-IPU controller, kNotFound if the
// controller has none, kExists if it is recorded already, kBusy if a container has an IPU of it or
// it is not ACTIVE. After an error nothing has changed.
base::Status adopt_partition(Env& env, const config::PoolConfig& pool, const std::string& name,
                             const base::Deadline& deadline);

struct RemovedPartition {
  base::Removed removed = base::Removed::kWasAbsent;  // whether the controller had it
  std::vector<std::string> containers;                // that had it, with force
  bool forgotten = false;                             // it was adopted, and stays where it is
};

// Removes a partition of ours; one that was adopted is only forgotten. kBusy, with the containers,
// while it is in use and there is no FORCE, which an adopted one does not yield to; kDenied if it
// is not of ours; kNotFound if there is none.
base::Result<RemovedPartition> remove_partition(Env& env, const config::PoolConfig& pool,
                                                const std::string& name, vipu::Force force,
                                                const base::Deadline& deadline);

// The containers that would lose the partition if it were removed now; nothing is done. Errors as
// above.
base::Result<std::vector<std::string>> check_change(Env& env, const config::PoolConfig& pool,
                                                    const std::string& name, vipu::Force force,
                                                    const base::Deadline& deadline);

// Whether a partition of ours may be reset now. Errors as above; kDenied also for one that was
// adopted.
base::Status check_reset(Env& env, const config::PoolConfig& pool, const std::string& name,
                         const base::Deadline& deadline);
// Brings a partition of ours that no container has to its initial state. Errors as above.
base::Status reset_partition(Env& env, const config::PoolConfig& pool, const std::string& name,
                             vipu::Relocate relocate, const base::Deadline& deadline);

// Whether ERROR of a controller says that it does not answer, so that the next question to it would
// be another long wait.
[[nodiscard]] bool is_silence(const base::Error& error);
// The longest that one controller may take to give one thing back, where others wait behind it.
inline constexpr std::chrono::seconds kLongestAttempt{30};

// Partitions of leases that have ended, which their controllers have all the same: one that carries
// a request out after its sender gave up, and after the removal found nothing, makes such a one.
// Controllers in SILENT are not asked, and one that does not answer comes to it.
base::Result<std::vector<ledger::PartitionRecord>> find_late_partitions(
    Env& env, const base::Deadline& deadline, std::set<std::string>& silent);
// Removes them; their names.
base::Result<std::vector<std::string>> remove_late_partitions(Env& env,
                                                              const base::Deadline& deadline,
                                                              std::set<std::string>& silent);

// What processes that ended left half made or half removed, in SCOPE.
base::Result<std::vector<ledger::PartitionRecord>> find_leftovers(Env& env,
                                                                  const Scope& scope = {});
// Removes it. The names of what is gone now; what is in the way is added to OBSTACLES. Controllers
// that are SILENT, as source_of() names them, are not asked; one that does not answer is now.
base::Result<std::vector<std::string>> reconcile_partitions(Env& env,
                                                            const base::Deadline& deadline,
                                                            const Scope& scope,
                                                            std::vector<base::Error>& obstacles,
                                                            std::set<std::string>& silent);

}  // namespace hook::lifecycle::partitions
