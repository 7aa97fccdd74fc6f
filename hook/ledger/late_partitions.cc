// SPDX-License-Identifier: Apache-2.0
#include "hook/ledger/internal/late_partitions.h"

#include "base/names.h"
#include "hook/ledger/internal/schema.h"

namespace hook::ledger {

using namespace base::names;
using sqlite::Statement;
using sqlite::Step;

Status expect_late(Store& store, const PartitionRecord& record, base::Removed removed) {
  if (removed == base::Removed::kNow || !is_reserved_name(record.name)) return {};
  Statement insert =
      TRY(store.database.prepare("INSERT OR REPLACE INTO late_partition VALUES(?,?,?,?)"));
  return insert.bind(record.pool).bind(record.name).bind(record.source).bind(store.now()).run();
}

Result<bool> Partitions::knows(const std::string& name) {
  Statement row =
      TRY(store_.database.prepare("SELECT EXISTS(SELECT 1 FROM lease WHERE partition = ?1)"
                                  " OR EXISTS(SELECT 1 FROM partition WHERE name = ?1)"
                                  " OR EXISTS(SELECT 1 FROM late_partition WHERE name = ?1)"));
  row.bind(name);
  TRY(row.step());
  return row.integer(0) != 0;
}

Result<std::vector<PartitionRecord>> Partitions::late() {
  Statement row =
      TRY(store_.database.prepare("SELECT DISTINCT pool, controller, partition FROM lease AS ended"
                                  " WHERE " LEASE_HAS_ENDED
                                  " AND origin = 'OWN' AND NOT EXISTS (SELECT 1 FROM lease"
                                  " WHERE pool = ended.pool AND partition = ended.partition"
                                  " AND " LEASE_IS_LIVE ") UNION SELECT pool, source, name"
                                  " FROM late_partition ORDER BY pool, controller, partition"));
  std::vector<PartitionRecord> records;
  while (TRY(row.step()) == Step::kRow) {
    PartitionRecord record;
    record.pool = row.text(0);
    record.source = row.text(1);
    record.name = row.text(2);
    records.push_back(std::move(record));
  }
  return records;
}

}  // namespace hook::ledger
