// SPDX-License-Identifier: Apache-2.0
// Reads what is still readable in a damaged ledger.
#pragma once

#include <string>

namespace hook::ledger {

namespace sqlite {
class Database;
}

struct Salvaged;
enum class Taints;

// Reads the ledger at PATH, a copy that no other process has, row by row; omits what is unreadable.
// Migrates an older schema first.
[[nodiscard]] Salvaged read_damaged(const std::string& path);

// Copies the following from the ledger at FROM into INTO, which has none of it: ended leases,
// events with their numbers, the mark of the audit log, usage and refusals, addresses in
// quarantine, and taints. Each of them is copied as a whole or not at all, in the columns that both
// have.
Taints copy_history(sqlite::Database& into, const std::string& from);

}  // namespace hook::ledger
