// SPDX-License-Identifier: Apache-2.0
// Partitions that the hosts of a fleet share. What the fleet's store says of them is the truth.
#include "base/names.h"
#include "base/text.h"
#include "hook/ledger/host.h"
#include "hook/ledger/internal/conditions.h"
#include "hook/ledger/internal/history.h"
#include "hook/ledger/internal/partition_files.h"
#include "hook/ledger/internal/partition_rows.h"
#include "hook/ledger/internal/reserve.h"
#include "hook/ledger/internal/rows.h"
#include "hook/ledger/internal/store.h"
#include "hook/ledger/internal/usage_rows.h"
#include "hook/ledger/partitions.h"

namespace hook::ledger {

using namespace base::names;
using sqlite::Statement;
using sqlite::Transaction;

namespace {

bool is_same(const PartitionRecord& a, const PartitionRecord& b) {
  return a.kind == b.kind && a.state == b.state && a.ipus == b.ipus && a.gcds == b.gcds &&
         a.shared == b.shared && a.reconfigurable == b.reconfigurable && a.fleet == b.fleet;
}

}  // namespace

Status Partitions::learn(const PartitionRecord& record) {
  Transaction transaction = TRY(Transaction::begin(store_.database));
  const std::optional<PartitionRecord> known = TRY(find(record.pool, record.name));
  if (known && (known->state != PartitionState::kReady || is_same(*known, record))) return {};
  const std::vector<Lease> leases = TRY(holders(record.pool, record.name));
  if (!leases.empty()) return in_use(record.name, leases);
  if (known) TRY(delete_partition(store_.database, *known));
  TRY(insert_partition(store_.database, record));
  TRY(write_partition_file(store_.database.path(), record));
  TRY(record_partition(store_, record.pool, record.name, "READY, made by the fleet"));
  return commit(store_, transaction);
}

Status Partitions::share(const PartitionRecord& record, const std::string& fleet,
                         const std::set<std::string>& claims) {
  PartitionRecord shared = record;
  shared.fleet = fleet;
  Transaction transaction = TRY(Transaction::begin(store_.database));
  std::vector<Lease> without;
  for (Lease& lease : TRY(holders(record.pool, record.name)))
    if (lease.origin != Origin::kJoined && !claims.contains(lease.id))
      without.push_back(std::move(lease));
  if (!without.empty()) return in_use(record.name, without);
  Statement partition =
      TRY(store_.database.prepare("UPDATE partition SET fleet = ? WHERE pool = ? AND name = ?"));
  TRY(partition.bind(fleet).bind(record.pool).bind(record.name).run());
  Statement leases =
      TRY(store_.database.prepare(str("UPDATE lease SET claim = id, fleet = ? WHERE ",
                                      kLiveOfPartition, " AND origin <> 'JOINED'")));
  TRY(leases.bind(fleet).bind(record.pool).bind(record.name).run());
  TRY(write_partition_file(store_.database.path(), shared));
  TRY(record_partition(store_, record.pool, record.name, str("shared with fleet ", fleet)));
  return commit(store_, transaction);
}

Status Partitions::take_back(const PartitionRecord& record) {
  PartitionRecord own = record;
  own.fleet.clear();
  own.dirty = true;
  return with_reserve(store_, [&]() -> Status {
    Transaction transaction = TRY(Transaction::begin(store_.database));
    std::vector<Lease> begun = TRY(holders(record.pool, record.name));
    std::erase_if(begun, [](const Lease& one) { return one.state != LeaseState::kIntent; });
    if (!begun.empty()) return in_use(record.name, begun);
    Statement partition = TRY(store_.database.prepare(
        "UPDATE partition SET fleet = '', dirty = 1, resetter = '' WHERE pool = ? AND name = ?"));
    TRY(partition.bind(record.pool).bind(record.name).run());
    Statement leases = TRY(store_.database.prepare(
        str("UPDATE lease SET claim = '', fleet = '' WHERE ", kLiveOfPartition)));
    TRY(leases.bind(record.pool).bind(record.name).run());
    TRY(write_partition_file(store_.database.path(), own));
    TRY(record_partition(store_, record.pool, record.name,
                         str("is this host's alone, which leaves fleet ", record.fleet)));
    return commit(store_, transaction);
  });
}

Status Partitions::unlearn(const PartitionRecord& record) {
  return with_reserve(store_, [&]() -> Status {
    Transaction transaction = TRY(Transaction::begin(store_.database));
    const std::optional<PartitionRecord> now = TRY(find(record.pool, record.name));
    if (!now) return {};
    if (now->created_ms != record.created_ms || now->state != record.state)
      return was_changed(record);
    const std::vector<Lease> leases = TRY(holders(record.pool, record.name));
    if (!leases.empty()) return in_use(record.name, leases);
    TRY(remove_partition_file(store_.database.path(), record));
    TRY(delete_partition(store_.database, record));
    TRY(record_partition(store_, record.pool, record.name, "the fleet has it no more"));
    return commit(store_, transaction);
  });
}

Status Partitions::hand_over(const PartitionRecord& record, std::string_view why) {
  return with_reserve(store_, [&]() -> Status {
    Transaction transaction = TRY(Transaction::begin(store_.database));
    TRY(delete_partition(store_.database, record));
    TRY(record_partition(store_, record.pool, record.name, why));
    return commit(store_, transaction);
  });
}

Status Partitions::claim_own(const Lease& lease, const std::string& fleet) {
  Transaction transaction = TRY(Transaction::begin(store_.database));
  TRY(LedgerHost(store_).check_in(fleet));
  Statement update = TRY(store_.database.prepare(
      "UPDATE lease SET claim = id, fleet = ? WHERE id = ? AND origin = 'OWN' AND claim = ''"));
  TRY(update.bind(fleet).bind(lease.id).run());
  return commit(store_, transaction);
}

Status Partitions::disclaim_own() {
  return with_reserve(store_, [&]() -> Status {
    Statement update = TRY(store_.database.prepare(
        "UPDATE lease SET claim = '', fleet = '' WHERE origin = 'OWN' AND claim <> ''"));
    return update.run();
  });
}

Status Partitions::leave(Lease& lease) {
  Status left = with_reserve(store_, [&]() -> Status {
    Transaction transaction = TRY(Transaction::begin(store_.database));
    TRY(add_usage(store_.database, lease, store_.now()));
    TRY(delete_ipus(store_.database, lease.id));
    Statement update =
        TRY(store_.database.prepare("UPDATE lease SET origin = 'JOINED', claim = '' WHERE id = ?"));
    TRY(update.bind(lease.id).run());
    return commit(store_, transaction);
  });
  TRY(std::move(left));
  lease.origin = Origin::kJoined;
  lease.claim.clear();
  lease.devices.clear();
  return {};
}

Result<std::vector<std::string>> Partitions::give_up_claims(const std::string& fleet) {
  std::vector<std::string> lines;
  const Status given_up = with_reserve(store_, [&]() -> Status {
    lines.clear();
    Transaction transaction = TRY(Transaction::begin(store_.database));
    Statement leases = TRY(store_.database.prepare(
        "UPDATE lease SET claim = '' WHERE fleet = ? AND claim <> '' AND " LEASE_IS_LIVE
        " RETURNING id, container, pool, partition, gcd, gcds"));
    leases.bind(fleet);
    std::vector<Event> events;
    while (TRY(leases.step()) == sqlite::Step::kRow) {
      Lease lease;
      lease.gcd = static_cast<uint32_t>(leases.integer(4));
      lease.gcds = static_cast<uint32_t>(leases.integer(5));
      Event event;
      event.lease = leases.text(0);
      event.container = leases.text(1);
      event.pool = leases.text(2);
      event.partition = leases.text(3);
      event.kind = EventKind::kNote;
      event.text = str("gave up its claim at fleet ", fleet, ", whose store is lost");
      lines.push_back(str(gcds_text(lease), " of partition ", event.partition, " by container ",
                          base::short_id(event.container)));
      events.push_back(std::move(event));
    }
    for (Event& event : events) TRY(record_event(store_, std::move(event)));
    return commit(store_, transaction);
  });
  if (!given_up.ok()) return given_up.error();
  return lines;
}

}  // namespace hook::ledger
