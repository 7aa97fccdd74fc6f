// SPDX-License-Identifier: Apache-2.0
// Partitions that a controller may make after their rows are gone: see Partitions::is_late().
#pragma once

#include "base/result.h"
#include "hook/ledger/internal/store.h"
#include "hook/ledger/partitions.h"

namespace hook::ledger {

// Remembers a partition of a random name that was absent (kWasAbsent) when it was removed. Runs
// inside the caller's transaction.
base::Status expect_late(Store& store, const PartitionRecord& record, base::Removed removed);

}  // namespace hook::ledger
