// SPDX-License-Identifier: Apache-2.0
// The ledger's schema as a list of steps from one version to the next.
#pragma once

#include <cstdint>

namespace hook::ledger {

inline constexpr int64_t kNewestVersion = 5;
// Step i migrates a database from user_version i to i + 1. A released step never changes.
extern const char* const kMigrations[kNewestVersion];
// Commit 91b3c85, which sites installed, wrote version 2 without this. A database of version 2 has
// it if it has kMarkOfVersion2.
extern const char* const kRestOfVersion2;
inline constexpr const char* kMarkOfVersion2 =
    "SELECT 1 FROM sqlite_master WHERE name = 'late_partition'";

// The oldest version whose programs may still write to a database of the newest version: hooks of
// the older package may be about to run. The database has it as meta.compatible_from. Raise it with
// a step that those programs cannot handle. Programs of version 1 do not check it.
inline constexpr int64_t kCompatibleFrom = 2;

}  // namespace hook::ledger
