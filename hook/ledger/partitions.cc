// SPDX-License-Identifier: Apache-2.0
#include "hook/ledger/partitions.h"

#include <algorithm>

#include "base/names.h"
#include "base/text.h"
#include "hook/ledger/drain.h"
#include "hook/ledger/internal/conditions.h"
#include "hook/ledger/internal/history.h"
#include "hook/ledger/internal/late_partitions.h"
#include "hook/ledger/internal/partition_files.h"
#include "hook/ledger/internal/partition_rows.h"
#include "hook/ledger/internal/reserve.h"
#include "hook/ledger/internal/rows.h"
#include "hook/ledger/internal/store.h"
#include "hook/ledger/internal/usage_rows.h"

namespace hook::ledger {
namespace {

using namespace base::names;
using sqlite::Database;
using sqlite::Statement;
using sqlite::Step;
using sqlite::Transaction;

// Returns the text of a record's first event.
std::string first_text(PartitionState state, const PartitionRecord& record) {
  return str(name_of(state), ", ", name_of(record.kind), " of ", record.ipus, " IPUs",
             record.gcds > 1 ? str(" in ", record.gcds, " GCDs") : "");
}

Error is_there_already(const std::string& name) {
  return {Code::kExists,
          str("partition ", base::quote(name), " already exists; see 'ipuctl partition list'")};
}

// Runs UPDATE, a statement on the partition table with the parameters FIRST, pool and name.
Status update_one(Database& database, std::string_view update, const PartitionRecord& record,
                  std::string_view first) {
  Statement statement = TRY(database.prepare(update));
  TRY(statement.bind(first).bind(record.pool).bind(record.name).run());
  if (database.changes() != 1) return was_changed(record);
  return {};
}

std::string ready_text(const PartitionRecord& record) {
  if (record.reservation.empty()) return "READY";
  const std::string end =
      record.until_ms == 0 ? "" : str(" until ", base::rfc3339(record.until_ms));
  const std::string user = record.user < 0 ? "" : str(", user ", record.user);
  return str("READY, reservation ", record.reservation, end, user);
}

std::string removing_text(const std::vector<Lease>& holders) {
  if (holders.empty()) return "REMOVING";
  std::vector<std::string> containers;
  for (const Lease& lease : holders) containers.push_back(base::short_id(lease.container));
  return str("REMOVING by force, from ", base::join(containers, ", "));
}

// Adds RECORD in state INTENT with its event, and commits.
Status add_intent(Store& store, Transaction& transaction, const PartitionRecord& record) {
  const Status inserted = insert_partition(store.database, record);
  if (!inserted.ok() && inserted.error().code() == Code::kExists)
    return is_there_already(record.name);
  TRY(inserted);
  TRY(record_partition(store, record.pool, record.name,
                       first_text(PartitionState::kIntent, record)));
  return commit(store, transaction);
}

// Checks that no pool has the partition. Several pools may have one controller, and only one of
// them may have the partition.
Status check_unknown(Database& database, const PartitionRecord& record) {
  const std::vector<PartitionRecord> known = TRY(
      select_partitions(database, "WHERE source = ? AND name = ?", {record.source, record.name}));
  if (known.empty()) return {};
  return Error(Code::kExists,
               str("partition ", base::quote(record.name),
                   " of this controller is already in pool '", known.front().pool, "'"));
}

// Checks that no container holds the IPU, in any pool: an IPU has one address.
Status check_free(Database& database, const std::string& name, const LeasedIpu& ipu) {
  Statement row =
      TRY(database.prepare("SELECT lease.container FROM ipu JOIN lease ON lease.id = ipu.lease"
                           " WHERE address = ? AND device = ?"));
  bind_address(row, ipu.address);
  row.bind(int64_t{ipu.device});
  if (TRY(row.step()) == Step::kDone) return {};
  return Error(Code::kBusy, str("IPU ", ipu.device, " of ", netns::to_string(ipu.address),
                                " in partition ", base::quote(name), " is held by container ",
                                base::short_id(row.text(0)), "; see 'ipuctl ps'"));
}

}  // namespace

bool has_ended(const PartitionRecord& record, int64_t now_ms) {
  return !record.reservation.empty() && record.until_ms != 0 && record.until_ms <= now_ms;
}

std::string_view name_of(PartitionKind kind) {
  switch (kind) {
    case PartitionKind::kWarm:
      return "WARM";
    case PartitionKind::kForeign:
      return "FOREIGN";
    case PartitionKind::kNamed:
      break;
  }
  return "NAMED";
}

std::string_view name_of(PartitionState state) {
  switch (state) {
    case PartitionState::kReady:
      return "READY";
    case PartitionState::kRemoving:
      return "REMOVING";
    case PartitionState::kIntent:
      break;
  }
  return "INTENT";
}

Error in_use(const std::string& name, const std::vector<Lease>& holders) {
  std::vector<std::string> containers;
  for (const Lease& lease : holders) containers.push_back(base::short_id(lease.container));
  return {Code::kBusy, str("partition ", base::quote(name), " is in use by ",
                           base::join(containers, ", "), "; stop them first")};
}

Status Partitions::check_share(const PartitionRecord& record, uint32_t most) {
  Statement sum = TRY(store_.database.prepare(
      "SELECT COALESCE(SUM(ipus), 0) FROM partition WHERE reservation <> '' AND user = ?"));
  sum.bind(record.user);
  TRY(sum.step());
  const int64_t has = sum.integer(0);
  if (has + record.ipus <= int64_t{most}) return {};
  return Error(Code::kDenied,
               str("a user may reserve ", most, " IPUs on this host, and your reservations have ",
                   has, " already; end one, or ask for fewer than ", record.ipus));
}

Status Partitions::intend(const PartitionRecord& record, uint32_t most,
                          const std::optional<Share>& share) {
  Transaction transaction = TRY(Transaction::begin(store_.database));
  if (!record.reservation.empty()) TRY(check_share(record, most));
  if (share) TRY(Tenants(store_).check(*share, record));
  if (!record.reservation.empty()) {
    const std::vector<PartitionRecord> same = TRY(select_partitions(
        store_.database, "WHERE pool = ? AND reservation = ?", {record.pool, record.reservation}));
    if (!same.empty()) {
      return Error(Code::kExists, str("there is a reservation ", quote(record.reservation),
                                      " already; see 'ipuctl reservation list'"));
    }
  }
  return add_intent(store_, transaction, record);
}

Status Partitions::intend_again(const PartitionRecord& record, const PartitionRecord& left) {
  Transaction transaction = TRY(Transaction::begin(store_.database));
  Statement remove = TRY(store_.database.prepare(
      "DELETE FROM partition WHERE pool = ? AND name = ? AND state = 'INTENT' AND created_ms = ?"));
  TRY(remove.bind(left.pool).bind(left.name).bind(left.created_ms).run());
  if (store_.database.changes() != 1) return was_changed(left);
  return add_intent(store_, transaction, record);
}

Status Partitions::adopt(const PartitionRecord& record, const std::vector<LeasedIpu>& ipus) {
  PartitionRecord foreign = record;
  foreign.kind = PartitionKind::kForeign;
  foreign.state = PartitionState::kReady;
  Transaction transaction = TRY(Transaction::begin(store_.database));
  if (TRY(find(record.pool, record.name))) return is_there_already(record.name);
  TRY(check_unknown(store_.database, record));
  // A lease may still have a partition of this name that was removed by force and that somebody
  // else has made again.
  const std::vector<Lease> leases = TRY(holders(record.pool, record.name));
  if (!leases.empty()) return in_use(record.name, leases);
  for (const LeasedIpu& ipu : ipus) TRY(check_free(store_.database, record.name, ipu));
  TRY(insert_partition(store_.database, foreign));
  TRY(record_partition(store_, foreign.pool, foreign.name, first_text(foreign.state, foreign)));
  return commit(store_, transaction);
}

Status Partitions::forget(const PartitionRecord& record) {
  return with_reserve(store_, [&]() -> Status {
    Transaction transaction = TRY(Transaction::begin(store_.database));
    const std::vector<Lease> leases = TRY(holders(record.pool, record.name));
    if (!leases.empty()) return in_use(record.name, leases);
    TRY(update_one(store_.database,
                   "DELETE FROM partition WHERE kind = ? AND pool = ? AND name = ?", record,
                   name_of(PartitionKind::kForeign)));
    TRY(record_partition(store_, record.pool, record.name, "FORGOTTEN"));
    return commit(store_, transaction);
  });
}

Result<Partitions::Recorded> Partitions::intend_warm(const PartitionRecord& record,
                                                     uint32_t limit) {
  Transaction transaction = TRY(Transaction::begin(store_.database));
  const std::vector<PartitionRecord> there =
      TRY(select_partitions(store_.database, "WHERE pool = ? AND kind = 'WARM'", {record.pool}));
  const auto same_size = std::count_if(
      there.begin(), there.end(), [&](const auto& other) { return other.ipus == record.ipus; });
  if (same_size >= int64_t{limit} || !Drain(store_, record.pool).check().ok()) return Recorded::kNo;
  TRY(insert_partition(store_.database, record));
  TRY(record_partition(store_, record.pool, record.name,
                       first_text(PartitionState::kIntent, record)));
  TRY(commit(store_, transaction));
  return Recorded::kYes;
}

Status Partitions::mark_ready(const PartitionRecord& record) {
  Transaction transaction = TRY(Transaction::begin(store_.database));
  Statement update =
      TRY(store_.database.prepare("UPDATE partition SET state = 'READY', until_ms = ?"
                                  " WHERE pool = ? AND name = ? AND state = 'INTENT'"));
  TRY(update.bind(record.until_ms).bind(record.pool).bind(record.name).run());
  if (store_.database.changes() != 1) return was_changed(record);
  TRY(write_partition_file(store_.database.path(), record));
  TRY(record_partition(store_, record.pool, record.name, ready_text(record)));
  return commit(store_, transaction);
}

Status Partitions::set_end(const PartitionRecord& record, int64_t until_ms) {
  PartitionRecord after = record;
  after.until_ms = until_ms;
  Transaction transaction = TRY(Transaction::begin(store_.database));
  Statement update =
      TRY(store_.database.prepare("UPDATE partition SET until_ms = ? WHERE pool = ? AND name = ?"
                                  " AND state = 'READY' AND reservation <> ''"));
  TRY(update.bind(until_ms).bind(record.pool).bind(record.name).run());
  if (store_.database.changes() != 1) return was_changed(record);
  // Whoever removes the record waits for the transaction, and removes this file too.
  TRY(write_partition_file(store_.database.path(), after));
  TRY(record_partition(
      store_, record.pool, record.name,
      until_ms == 0 ? std::string("RESERVED") : str("RESERVED until ", base::rfc3339(until_ms))));
  return commit(store_, transaction);
}

Status Partitions::begin_removal(PartitionRecord& record, const base::ProcessId& owner,
                                 vipu::Force force) {
  // Every removal begins with this change.
  if (record.kind == PartitionKind::kForeign) {
    return Error(Code::kDenied, str("partition ", base::quote(record.name),
                                    " was adopted; remove it with the tool that created it"));
  }
  const std::string boot = TRY(base::boot_id());
  const Status begun = with_reserve(store_, [&]() -> Status {
    Transaction transaction = TRY(Transaction::begin(store_.database));
    const std::vector<Lease> leases = TRY(holders(record.pool, record.name));
    if (!leases.empty() && force == vipu::Force::kNo) return in_use(record.name, leases);
    Statement update = TRY(store_.database.prepare(
        "UPDATE partition SET state = 'REMOVING', boot_id = ?, owner_pid = ?, owner_start = ?,"
        " owner_pid_namespace = ? WHERE pool = ? AND name = ? AND kind <> 'FOREIGN'"
        " AND state = ? AND owner_pid = ? AND owner_start = ? AND until_ms = ?"
        " AND fleet = ?"));
    update.bind(boot);
    bind_process(update, owner);
    update.bind(record.pool).bind(record.name).bind(name_of(record.state));
    update.bind(int64_t{record.owner.pid}).bind(static_cast<int64_t>(record.owner.start_time));
    update.bind(record.until_ms).bind(record.fleet);
    TRY(update.run());
    if (store_.database.changes() != 1) return was_changed(record);
    TRY(record_partition(store_, record.pool, record.name, removing_text(leases)));
    return commit(store_, transaction);
  });
  TRY(begun);
  record.state = PartitionState::kRemoving;
  record.owner = owner;
  record.boot_id = boot;
  return {};
}

Status Partitions::finish_removal(const PartitionRecord& record, base::Removed removed) {
  // Another process may have removed it, and made one of the same name.
  const std::optional<PartitionRecord> now = TRY(find(record.pool, record.name));
  if (now && now->created_ms != record.created_ms) return {};
  TRY(remove_partition_file(store_.database.path(), record));
  return with_reserve(store_, [&]() -> Status {
    Transaction transaction = TRY(Transaction::begin(store_.database));
    TRY(expect_late(store_, record, removed));
    TRY(delete_partition(store_.database, record));
    if (store_.database.changes() == 0) return {};
    TRY(add_usage(store_.database, record, store_.now()));
    TRY(record_partition(store_, record.pool, record.name, "REMOVED"));
    return commit(store_, transaction);
  });
}

Status Partitions::note_failure(const PartitionRecord& record) {
  return with_reserve(store_, [&]() -> Status {
    Statement update = TRY(store_.database.prepare(
        "UPDATE partition SET attempts = ?, retry_ms = ?, owner_pid = 0, owner_start = 0,"
        " owner_pid_namespace = 0 WHERE pool = ? AND name = ? AND state <> 'READY'"));
    const uint32_t attempts = record.attempts + 1;
    update.bind(int64_t{attempts}).bind(store_.now() + retry_pause_ms(attempts));
    return update.bind(record.pool).bind(record.name).run();
  });
}

Status Partitions::cancel_removal(const PartitionRecord& record) {
  Transaction transaction = TRY(Transaction::begin(store_.database));
  TRY(update_one(store_.database,
                 "UPDATE partition SET state = ? WHERE pool = ? AND name = ?"
                 " AND state = 'REMOVING'",
                 record, name_of(PartitionState::kReady)));
  TRY(record_partition(store_, record.pool, record.name, "READY: its removal was refused"));
  return commit(store_, transaction);
}

Result<std::optional<PartitionRecord>> Partitions::find(const std::string& pool,
                                                        const std::string& name) {
  std::vector<PartitionRecord> records =
      TRY(select_partitions(store_.database, "WHERE pool = ? AND name = ?", {pool, name}));
  if (records.empty()) return std::optional<PartitionRecord>();
  return std::optional<PartitionRecord>(std::move(records.front()));
}

Result<std::vector<PartitionRecord>> Partitions::all() {
  return select_partitions(store_.database, "", {});
}

Result<std::vector<Lease>> Partitions::holders(const std::string& pool, const std::string& name) {
  return select_leases(store_.database, kLiveOfPartition, {pool, name});
}

}  // namespace hook::ledger
