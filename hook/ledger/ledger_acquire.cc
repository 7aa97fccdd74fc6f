// SPDX-License-Identifier: Apache-2.0
// How a lease begins, and with which partition.
#include "base/fs.h"
#include "base/names.h"
#include "base/text.h"
#include "hook/ledger/internal/history.h"
#include "hook/ledger/internal/rail_choice.h"
#include "hook/ledger/internal/refusals.h"
#include "hook/ledger/internal/reserve.h"
#include "hook/ledger/internal/rows.h"
#include "hook/ledger/internal/store.h"
#include "hook/ledger/ledger.h"

namespace hook::ledger {

using namespace base::names;
using sqlite::Transaction;

namespace {

// Returns whether LEASE has the partition that NAMED names, if it is set.
bool fits(const Lease& lease, const std::optional<NamedPartition>& named) {
  if (!named) return true;
  return lease.partition == named->name && lease.gcd == named->gcd.value_or(lease.gcd);
}

// Returns the origin of a lease whose partition was made in advance.
Origin origin_of(const PartitionRecord& record) {
  if (record.kind == PartitionKind::kForeign) return Origin::kForeign;
  return record.shared ? Origin::kShared : Origin::kNamed;
}

// Gives LEASE the partition of OTHER.
void join(const Lease& other, Lease& lease) {
  lease.controller = other.controller;
  lease.partition = other.partition;
  lease.gcd = other.gcd;
  lease.ipus = other.ipus;
  lease.origin = Origin::kJoined;
}

Result<Lease> new_lease(const Intent& intent) {
  Lease lease;
  lease.id = TRY(base::random_hex(16));
  lease.container = intent.container;
  lease.bundle = intent.bundle;
  lease.tenant = intent.tenant;
  lease.pool = intent.pool.name;
  lease.controller = config::source_of(intent.pool);
  lease.owner = intent.owner;
  lease.state_dir = intent.state_dir;
  lease.boot_id = TRY(base::boot_id());
  return lease;
}

}  // namespace

Result<Lease> Ledger::acquire(const Intent& intent) {
  TRY(ensure_reserve(store_->database.path()));
  Lease lease = TRY(new_lease(intent));
  Transaction transaction = TRY(Transaction::begin(store_->database));
  TRY(drain().check());
  lease.created_ms = lease.changed_ms = store_->now();
  TRY(forget_history(*store_, lease.changed_ms - intent.history.count()));
  const std::optional<Lease> other = TRY(find_joinable(intent, lease.boot_id));
  if (other) {
    join(*other, lease);
  } else {
    TRY(choose_partition(intent, lease));
    for (const config::RailConfig& rail : intent.rails) {
      TRY(choose_address(store_->database, rail, lease.changed_ms));
    }
  }
  const Status inserted = insert_lease(store_->database, lease);
  if (!inserted.ok() && inserted.error().code() == Code::kExists) return taken(lease);
  TRY(inserted);
  TRY(load_ipus(store_->database, lease));
  TRY(record_change(*store_, lease, "INTENT"));
  TRY(ledger::commit(*store_, transaction));
  return lease;
}

Status Ledger::record_refusal(const Intent& intent, const Error& error) {
  Lease lease = TRY(new_lease(intent));
  lease.state = LeaseState::kFailed;
  lease.generation = 1;
  lease.owner = {};
  lease.error = error.message();
  Transaction transaction = TRY(Transaction::begin(store_->database));
  lease.created_ms = lease.changed_ms = store_->now();
  TRY(insert_lease(store_->database, lease));
  TRY(record_change(*store_, lease, "INTENT"));
  note(lease.id, EventKind::kError, error.message());
  const std::string event = TRY(count_refusal(*store_, lease, true));
  TRY(record_change(*store_, lease, event));
  return ledger::commit(*store_, transaction);
}

// Returns the lease of the sandbox if it has a partition that INTENT can join. A container that was
// started again may have several leases: the newest counts.
Result<std::optional<Lease>> Ledger::find_joinable(const Intent& intent, const std::string& boot) {
  if (intent.sandbox.empty()) return std::optional<Lease>();
  std::vector<Lease> leases = TRY(select_leases(store_->database,
                                                "container = ? AND pool = ? AND boot_id = ?"
                                                " AND state IN ('INTENT', 'ALLOCATED', 'RUNNING')",
                                                {intent.sandbox, intent.pool.name, boot}));
  std::erase_if(leases, [&](const Lease& lease) { return !fits(lease, intent.named); });
  if (leases.empty()) return std::optional<Lease>();
  if (leases.back().state != LeaseState::kIntent) {
    return std::optional<Lease>(std::move(leases.back()));
  }
  return Error(Code::kBusy, str("container ", base::short_id(intent.sandbox),
                                ", the sandbox of the pod, is still being started"));
}

Status Ledger::choose_partition(const Intent& intent, Lease& lease) {
  if (!intent.named) {
    lease.partition = partition_name(lease.id);
    lease.ipus = intent.ipus;
    return {};
  }
  const std::string name = base::quote(intent.named->name);
  const std::optional<PartitionRecord> record =
      TRY(partitions().find(intent.pool.name, intent.named->name));
  if (!record || record->kind == PartitionKind::kWarm || record->state != PartitionState::kReady) {
    return Error(Code::kNotFound, str("pool '", intent.pool.name, "' has no partition ", name,
                                      " in this host's ledger; create it with 'ipuctl partition"
                                      " create', or adopt one of Graphcore's vipu with 'ipuctl"
                                      " partition adopt'"));
  }
  if (has_ended(*record, lease.created_ms)) {
    return Error(Code::kDenied,
                 str("reservation ", quote(record->reservation), " ended at ",
                     base::rfc3339(record->until_ms), "; reserve again, or extend",
                     " it with 'ipuctl reservation extend ", record->reservation, " --for TIME'"));
  }
  if (!intent.named->gcd && record->gcds > 1) {
    return Error(Code::kInvalid, str("partition ", name, " has ", record->gcds,
                                     " GCDs; select one with IPU_GCD=0 to ", record->gcds - 1));
  }
  lease.gcd = intent.named->gcd.value_or(0);
  if (lease.gcd >= record->gcds) {
    return Error(Code::kInvalid, str("partition ", name, " has no GCD ", lease.gcd, ": it has ",
                                     record->gcds, ", numbered from 0"));
  }
  lease.partition = record->name;
  lease.controller = record->source;
  lease.origin = origin_of(*record);
  lease.ipus = record->ipus / record->gcds;
  return {};
}

// Returns kBusy, naming the holder of the GCD that LEASE wanted.
Error Ledger::taken(const Lease& lease) {
  std::string holder = "another lease";
  const Result<std::vector<Lease>> holders = partitions().holders(lease.pool, lease.partition);
  for (const Lease& other : holders.ok() ? holders.value() : std::vector<Lease>()) {
    if (other.gcd == lease.gcd && other.origin != Origin::kJoined)
      holder = str("container ", base::short_id(other.container));
  }
  return {Code::kBusy, str("GCD ", lease.gcd, " of partition ", base::quote(lease.partition),
                           " is in use by ", holder, "; see 'ipuctl ps'")};
}

}  // namespace hook::ledger
