// SPDX-License-Identifier: Apache-2.0
// The row of meta that says whose a ledger is: tag, witnesses and boot, in one line.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "hook/ledger/host.h"
#include "hook/ledger/internal/sqlite.h"

namespace hook::ledger {

struct HostRow {
  std::string tag;
  HostWitnesses witnesses;
  std::string boot = {};  // the boot that made the ledger; empty: it replaced another ledger
};

// Returns the row; absent if the ledger does not know its host, as those of a release before 0.1.
base::Result<std::optional<HostRow>> read_host(sqlite::Database& database);
// Writes it, inside the caller's transaction.
base::Status write_host(sqlite::Database& database, const HostRow& row);

}  // namespace hook::ledger
