// SPDX-License-Identifier: Apache-2.0
// Who resets a partition between containers.
#include "base/names.h"
#include "base/text.h"
#include "hook/ledger/internal/history.h"
#include "hook/ledger/internal/store.h"
#include "hook/ledger/partitions.h"

namespace hook::ledger {

using namespace base::names;
using sqlite::Statement;
using sqlite::Transaction;

Result<ResetDuty> Partitions::reset_duty(const Lease& lease) {
  if (lease.origin == Origin::kJoined) return ResetDuty::kNone;  // the lease that it joined uses it
  Transaction transaction = TRY(Transaction::begin(store_.database));
  const std::optional<PartitionRecord> record = TRY(find(lease.pool, lease.partition));
  if (!record || record->state != PartitionState::kReady) {
    return Error(Code::kNotFound,
                 str("partition ", base::quote(lease.partition), " is being removed"));
  }
  if (record->kind == PartitionKind::kForeign) return ResetDuty::kNone;
  if (record->reconfigurable || !record->dirty) return ResetDuty::kNone;
  bool wait = false;
  for (const Lease& other : TRY(holders(lease.pool, lease.partition))) {
    if (other.id == lease.id) continue;
    if (other.state == LeaseState::kAllocated || other.state == LeaseState::kRunning) {
      return ResetDuty::kNone;  // several leases use the partition together
    }
    wait = wait || other.state == LeaseState::kReleasing || other.id == record->resetter;
  }
  if (wait) return ResetDuty::kOthers;
  Statement update =
      TRY(store_.database.prepare("UPDATE partition SET resetter = ? WHERE pool = ? AND name = ?"));
  TRY(update.bind(lease.id).bind(lease.pool).bind(lease.partition).run());
  TRY(commit(store_, transaction));
  return ResetDuty::kMine;
}

Status Partitions::finish_reset(const Lease& lease) {
  Transaction transaction = TRY(Transaction::begin(store_.database));
  Statement update =
      TRY(store_.database.prepare("UPDATE partition SET dirty = 0, resetter = '' WHERE pool = ? "
                                  "AND name = ? AND resetter = ?"));
  TRY(update.bind(lease.pool).bind(lease.partition).bind(lease.id).run());
  TRY(record_partition(store_, lease.pool, lease.partition, "RESET", lease.container));
  return commit(store_, transaction);
}

Status Partitions::mark_reset(const PartitionRecord& record) {
  Transaction transaction = TRY(Transaction::begin(store_.database));
  TRY(record_partition(store_, record.pool, record.name, "RESET"));
  return commit(store_, transaction);
}

}  // namespace hook::ledger
