// SPDX-License-Identifier: Apache-2.0
// Rows of the table `partition`.
#pragma once

#include <initializer_list>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "hook/ledger/internal/sqlite.h"
#include "hook/ledger/partitions.h"

namespace hook::ledger {

// Returns those that CONDITION ("WHERE ..." with its PARAMETERS, or nothing) selects, by pool and
// age.
base::Result<std::vector<PartitionRecord>> select_partitions(
    sqlite::Database& database, std::string_view condition,
    std::initializer_list<std::string_view> parameters);
// Fails with kExists if its pool has one of that name.
base::Status insert_partition(sqlite::Database& database, const PartitionRecord& record);
// Removes the row of that pool, name and time, if there is one: another process may have made a
// partition of the same name since RECORD was read.
base::Status delete_partition(sqlite::Database& database, const PartitionRecord& record);
// Returns kBusy: the row is not as RECORD any more.
[[nodiscard]] base::Error was_changed(const PartitionRecord& record);

}  // namespace hook::ledger
