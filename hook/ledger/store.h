// SPDX-License-Identifier: Apache-2.0
// The database of a ledger and its clock, which the parts of the ledger share.
#pragma once

#include <functional>

#include "base/clock.h"
#include "base/process.h"
#include "base/result.h"
#include "hook/ledger/sqlite.h"
#include "netns/address.h"

namespace hook {

// Milliseconds since 1970.
using WallClock = std::function<int64_t()>;

struct Store {
  sqlite::Database database;
  WallClock now = base::unix_millis;
};

// A process as three columns, and back.
void bind_process(sqlite::Statement& statement, const base::ProcessId& process);
[[nodiscard]] base::ProcessId read_process(const sqlite::Statement& row, int first_column);

// An address as 4 or 16 bytes in network byte order, and back.
void bind_address(sqlite::Statement& statement, const netns::Address& address);
base::Result<netns::Address> read_address(const sqlite::Statement& row, int column);

}  // namespace hook
