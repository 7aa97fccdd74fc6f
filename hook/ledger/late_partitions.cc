// SPDX-License-Identifier: Apache-2.0
#include "hook/ledger/internal/late_partitions.h"

#include "base/names.h"
#include "hook/ledger/internal/conditions.h"

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

Result<std::vector<PartitionSource>> Partitions::late_sources() {
  Statement row = TRY(
      store_.database.prepare("SELECT pool, controller FROM lease WHERE " LEASE_HAS_ENDED
                              " AND origin = 'OWN' UNION SELECT pool, source FROM late_partition"));
  std::vector<PartitionSource> sources;
  while (TRY(row.step()) == Step::kRow) sources.push_back({row.text(0), row.text(1)});
  return sources;
}

Result<bool> Partitions::is_late(const PartitionSource& from, const std::string& name) {
  Statement row = TRY(store_.database.prepare(
      "SELECT (EXISTS (SELECT 1 FROM lease WHERE pool = ?1 AND partition = ?3 AND controller = ?2"
      " AND origin = 'OWN' AND " LEASE_HAS_ENDED
      ") AND NOT EXISTS (SELECT 1 FROM lease WHERE pool = ?1 AND partition = ?3"
      " AND " LEASE_IS_LIVE
      ")) OR EXISTS (SELECT 1 FROM late_partition WHERE pool = ?1 AND source = ?2 AND name = ?3)"));
  TRY(row.bind(from.pool).bind(from.source).bind(name).step());
  return row.integer(0) != 0;
}

}  // namespace hook::ledger
