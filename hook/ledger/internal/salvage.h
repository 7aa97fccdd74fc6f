// SPDX-License-Identifier: Apache-2.0
// What can still be read of a damaged ledger.
#pragma once

#include <string>

namespace hook::ledger {

namespace sqlite {
class Database;
}

struct Salvaged;

// Reads the ledger at PATH, a copy that nobody else has, row by row; what cannot be read is left
// out. An older schema is brought up to date first.
[[nodiscard]] Salvaged read_damaged(const std::string& path);

// Copies leases that ended, events with their numbers, the mark of the audit log, and addresses in
// quarantine from the ledger at FROM into INTO, which has none, each if it can be read in one
// piece.
void copy_history(sqlite::Database& into, const std::string& from);

}  // namespace hook::ledger
