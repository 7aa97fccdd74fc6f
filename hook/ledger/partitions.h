// SPDX-License-Identifier: Apache-2.0
// Partitions that no lease made: those that an operator named, warm ones, which wait for a
// container, and those that somebody else made and an operator adopted. As with leases, the intent
// is written before the controller is asked.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/process.h"
#include "base/result.h"
#include "hook/ledger/lease.h"
#include "vipu/controller.h"

namespace hook::ledger {

struct Store;

enum class PartitionKind {
  kNamed,    // made by an operator
  kWarm,     // made in advance for a container
  kForeign,  // somebody else's, who alone resets and removes it. Always READY. Programs that do not
             // know this kind fail to read its row, and so leave the partition alone
};
// INTENT: being made. READY: there. REMOVING: being removed. INTENT and REMOVING are held by the
// life of a process; without it they are left over.
enum class PartitionState { kIntent, kReady, kRemoving };

[[nodiscard]] std::string_view name_of(PartitionKind kind);
[[nodiscard]] std::string_view name_of(PartitionState state);

struct PartitionRecord {
  std::string pool;
  std::string name;
  std::string source;  // see source_of()
  PartitionKind kind = PartitionKind::kNamed;
  PartitionState state = PartitionState::kIntent;
  uint32_t ipus = 0;
  uint32_t gcds = 1;
  bool shared = false;  // several containers may have the same GCD
  bool reconfigurable = false;
  bool dirty = false;    // a container had it since it was made or reset
  std::string resetter;  // the lease that is resetting it; empty: none
  base::ProcessId owner;
  std::string boot_id;
  int64_t created_ms = 0;
  uint32_t attempts = 0;  // at its removal, that failed
  int64_t retry_ms = 0;   // unix time before which no start tries its removal again
};

// Whose task it is to reset a partition before a container gets it.
enum class ResetDuty {
  kNone,    // it is clean, reconfigurable, or in use
  kMine,    // this lease's
  kOthers,  // another lease is at it, or is not released yet: ask again
};

// That the partition cannot be changed while HOLDERS have it: kBusy with their containers.
[[nodiscard]] base::Error in_use(const std::string& name, const std::vector<Lease>& holders);

class Partitions {
 public:
  explicit Partitions(Store& store) : store_(store) {}

  // A new record in state INTENT. kExists if the name is taken in the pool.
  base::Status intend(const PartitionRecord& record);
  // The same for a warm one, unless there are LIMIT of its pool and size already.
  enum class Room { kYes, kNo };
  base::Result<Room> intend_warm(const PartitionRecord& record, uint32_t limit);
  // A new record of a FOREIGN partition, which has these IPUs; it is READY. kExists if its name is
  // taken in the pool, or in another one of the same controller; kBusy if a container has an IPU of
  // it, or another partition of its name.
  base::Status adopt(const PartitionRecord& record, const std::vector<LeasedIpu>& ipus);
  // The record of a FOREIGN partition is gone, and nothing else has changed. kBusy while a live
  // lease has it, which names the containers.
  base::Status forget(const PartitionRecord& record);
  // INTENT -> READY.
  base::Status mark_ready(const PartitionRecord& record);
  // Any state -> REMOVING, held by OWNER. kDenied for a FOREIGN one. kBusy while a live lease has
  // it, which names the containers; with FORCE also then. kBusy as well if another process changed
  // it meanwhile.
  base::Status begin_removal(PartitionRecord& record, const base::ProcessId& owner,
                             vipu::Force force);
  base::Status finish_removal(const PartitionRecord& record);
  // An attempt at its removal failed: it is left over, held by nobody.
  base::Status note_failure(const PartitionRecord& record);
  // REMOVING -> READY: it is still there, and stays.
  base::Status cancel_removal(const PartitionRecord& record);

  base::Result<std::optional<PartitionRecord>> find(const std::string& pool,
                                                    const std::string& name);
  base::Result<std::vector<PartitionRecord>> all();  // by pool and age
  // The live leases of the partition.
  base::Result<std::vector<Lease>> holders(const std::string& pool, const std::string& name);

  // Those that leases had for themselves which have ended since: their names are random and given
  // once, so that whatever is called so is ours. Only pool, source and name are set.
  base::Result<std::vector<PartitionRecord>> of_ended_leases();

  // Whether LEASE, which is in state INTENT, has to reset its partition first. Asked again until it
  // is kNone or kMine.
  base::Result<ResetDuty> reset_duty(const Lease& lease);
  // The reset that was LEASE's to do is done.
  base::Status finish_reset(const Lease& lease);
  // The same for one that no container has.
  base::Status mark_reset(const PartitionRecord& record);

 private:
  Store& store_;
};

}  // namespace hook::ledger
