// SPDX-License-Identifier: Apache-2.0
// Partitions that outlive containers: made, reset and removed by an operator, or adopted.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "hook/config/config.h"
#include "hook/lifecycle/env.h"
#include "hook/lifecycle/liveness_scan.h"
#include "vipu/controller.h"
#include "vipu/types.h"

namespace hook::lifecycle::partitions {

// What makes a partition a reservation.
struct Reserved {
  std::string name;                         // by which users know it
  std::string owner;                        // whoever it is for; may be empty
  std::chrono::milliseconds time{0};        // 0: it does not end by itself
  int64_t user = -1;                        // uid of who reserves; -1: unknown
  uint32_t most = UINT32_MAX;               // IPUs that all reservations of this user may have
  std::string tenant = {};                  // to which it counts; empty: none
  std::optional<ledger::Share> share = {};  // of this tenant; unset: it has none
};

struct NewPartition {
  config::PoolConfig pool;
  vipu::PartitionRequest request;
  bool shared = false;  // several containers may have the same GCD
  bool wait = true;     // create_partition() waits until it is ACTIVE
  std::optional<Reserved> reserved = {};
  // Called once the ledger has the record, before the controller is asked. It may set the request's
  // allocation. If it fails, so does the creation, and the record goes. Unset: nobody is asked.
  std::function<base::Status()> claim = {};
  // Called when the controller has made the partition, before anybody can use it. If it fails, the
  // partition is removed again. Unset: nothing is to be confirmed.
  std::function<base::Status()> confirm = {};
};

// Checks that GCDS can share IPUS, the number that OPTION gives; 0 GCDs are one. Fails with
// kInvalid, naming the options.
base::Status check_gcds(uint32_t gcds, uint32_t ipus, std::string_view option);

// Checks what `ipuctl partition create` asks for, whatever the pool: operators may use its name,
// and no option is missing. Fails with kInvalid, naming the option.
base::Status check_partition(const NewPartition& wanted);

// Makes the partition and records it, so that IPU_PARTITION can name it. After an error, nothing is
// left of it, or reconcile() removes the rest; or nobody knows whether a partition of this name is
// ours, and the error says what a person can do.
base::Status create_partition(Env& env, const NewPartition& wanted, const base::Deadline& deadline);

// Records a partition that somebody else made, for example with Graphcore's vipu, so that
// IPU_PARTITION can name it. It must be ACTIVE. It stays its maker's, and is never reset or
// removed. Fails with kInvalid for a name of ours, kUnsupported for a pool without a V-IPU
// controller, kNotFound if the controller has no such partition, kExists if it is recorded already,
// and kBusy if a container has one of its IPUs or it is not ACTIVE. After an error, nothing has
// changed.
base::Status adopt_partition(Env& env, const config::PoolConfig& pool, const std::string& name,
                             const base::Deadline& deadline);

struct RemovedPartition {
  base::Removed removed = base::Removed::kWasAbsent;  // kWasAbsent: the controller did not have it
  std::vector<std::string> containers;  // those that had it, if it was removed by force
  bool forgotten = false;               // it was adopted: only its record is gone
};

// Removes a partition of ours, or the record of an adopted one. Without FORCE, fails with kBusy
// while the partition is in use, naming the containers; an adopted one in use fails even with
// FORCE. Fails with kDenied if it is not ours, kNotFound if there is none.
base::Result<RemovedPartition> remove_partition(Env& env, const config::PoolConfig& pool,
                                                const std::string& name, vipu::Force force,
                                                const base::Deadline& deadline);

// Returns the containers that would lose the partition if it were removed now. Changes nothing.
// Fails as remove_partition() does.
base::Result<std::vector<std::string>> check_change(Env& env, const config::PoolConfig& pool,
                                                    const std::string& name, vipu::Force force,
                                                    const base::Deadline& deadline);

// Checks that a partition of ours may be reset now. Fails as remove_partition() does, and with
// kDenied for an adopted partition.
base::Status check_reset(Env& env, const config::PoolConfig& pool, const std::string& name,
                         const base::Deadline& deadline);
// Resets a partition of ours that no container has to its initial state. Fails as check_reset()
// does.
base::Status reset_partition(Env& env, const config::PoolConfig& pool, const std::string& name,
                             vipu::Relocate relocate, const base::Deadline& deadline);

// Returns whether ERROR means that a controller does not answer, so that asking it again would cost
// another long wait.
[[nodiscard]] bool is_silence(const base::Error& error);
// The longest time that one controller may take to release one thing while others wait.
inline constexpr std::chrono::seconds kLongestAttempt{30};

// Returns the partitions in SCOPE that ended processes left half made or half removed, and the
// reservations that have ended and that no container has.
base::Result<std::vector<ledger::PartitionRecord>> find_leftovers(Env& env,
                                                                  const Scope& scope = {});
// Removes these leftovers and returns the names of those that are gone. A partition of a name that
// people choose may be another host's, so it is not removed: what a person can do is one of the
// OBSTACLES until the controller has it no more. Adds what blocked the others to OBSTACLES, too.
// Skips the controllers in SILENT (named as by source_of()), and adds to it each one that does not
// answer.
base::Result<std::vector<std::string>> reconcile_partitions(Env& env,
                                                            const base::Deadline& deadline,
                                                            const Scope& scope,
                                                            std::vector<base::Error>& obstacles,
                                                            std::set<std::string>& silent);

}  // namespace hook::lifecycle::partitions
