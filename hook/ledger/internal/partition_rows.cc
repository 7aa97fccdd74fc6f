// SPDX-License-Identifier: Apache-2.0
#include "hook/ledger/internal/partition_rows.h"

#include "base/names.h"
#include "base/text.h"
#include "hook/ledger/internal/rows.h"
#include "hook/ledger/internal/store.h"

namespace hook::ledger {
namespace {

using namespace base::names;
using sqlite::Database;
using sqlite::Statement;
using sqlite::Step;

constexpr std::string_view kPartitionColumns =
    "pool, name, source, kind, state, ipus, gcds, shared, reconfigurable, dirty, resetter, boot_id,"
    " created_ms, owner_pid, owner_start, owner_pid_namespace, attempts, retry_ms, reservation,"
    " until_ms, reserved_for, user, tenant, fleet";

Result<PartitionRecord> read_record(const Statement& row) {
  PartitionRecord record;
  record.pool = row.text(0);
  record.name = row.text(1);
  record.source = row.text(2);
  record.kind =
      TRY(parse_name("kind of partition", row.text(3),
                     {PartitionKind::kNamed, PartitionKind::kWarm, PartitionKind::kForeign}));
  record.state =
      TRY(parse_name("state of partition", row.text(4),
                     {PartitionState::kIntent, PartitionState::kReady, PartitionState::kRemoving}));
  record.ipus = static_cast<uint32_t>(row.integer(5));
  record.gcds = static_cast<uint32_t>(row.integer(6));
  record.shared = row.integer(7) != 0;
  record.reconfigurable = row.integer(8) != 0;
  record.dirty = row.integer(9) != 0;
  record.resetter = row.text(10);
  record.boot_id = row.text(11);
  record.created_ms = row.integer(12);
  record.owner = read_process(row, 13);
  record.attempts = static_cast<uint32_t>(row.integer(16));
  record.retry_ms = row.integer(17);
  record.reservation = row.text(18);
  record.until_ms = row.integer(19);
  record.reserved_for = row.text(20);
  record.user = row.integer(21);
  record.tenant = row.text(22);
  record.fleet = row.text(23);
  return record;
}

}  // namespace

Result<std::vector<PartitionRecord>> select_partitions(
    Database& database, std::string_view condition,
    std::initializer_list<std::string_view> parameters) {
  std::vector<PartitionRecord> records;
  Statement row = TRY(database.prepare(str("SELECT ", kPartitionColumns, " FROM partition ",
                                           condition, " ORDER BY pool, created_ms, name")));
  for (const std::string_view parameter : parameters) row.bind(parameter);
  while (TRY(row.step()) == Step::kRow) {
    records.push_back(TRY(read_record(row)));
  }
  return records;
}

Status insert_partition(Database& database, const PartitionRecord& record) {
  Statement statement =
      TRY(database.prepare(str("INSERT INTO partition(", kPartitionColumns,
                               ") VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)")));
  statement.bind(record.pool).bind(record.name).bind(record.source).bind(name_of(record.kind));
  statement.bind(name_of(record.state)).bind(int64_t{record.ipus}).bind(int64_t{record.gcds});
  statement.bind(int64_t{record.shared}).bind(int64_t{record.reconfigurable});
  statement.bind(int64_t{record.dirty}).bind(record.resetter).bind(record.boot_id);
  statement.bind(record.created_ms);
  bind_process(statement, record.owner);
  statement.bind(int64_t{record.attempts}).bind(record.retry_ms);
  statement.bind(record.reservation).bind(record.until_ms).bind(record.reserved_for);
  statement.bind(record.user).bind(record.tenant).bind(record.fleet);
  return statement.run();
}

Status delete_partition(Database& database, const PartitionRecord& record) {
  Statement remove =
      TRY(database.prepare("DELETE FROM partition WHERE pool = ? AND name = ? AND created_ms = ?"));
  return remove.bind(record.pool).bind(record.name).bind(record.created_ms).run();
}

Error was_changed(const PartitionRecord& record) {
  return {Code::kBusy, str("partition ", base::quote(record.name),
                           " was changed by another process; try again")};
}

}  // namespace hook::ledger
