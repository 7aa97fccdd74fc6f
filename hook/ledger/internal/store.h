// SPDX-License-Identifier: Apache-2.0
// The database, the clock and the history of a ledger, which its parts share.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/process.h"
#include "base/result.h"
#include "base/text.h"
#include "hook/ledger/audit_log.h"
#include "hook/ledger/internal/notes.h"
#include "hook/ledger/internal/sqlite.h"
#include "netns/address.h"

namespace hook::ledger {

struct Store {
  sqlite::Database database;
  base::WallClock now = base::unix_millis;
  AuditLog audit = {};
  Notes notes = {};
  std::string host_tag = "00000000";         // of the host that the ledger is of
  std::optional<base::Error> stranger = {};  // why this host is another one
};

// Returns the one of VALUES whose name_of() is NAME. WHAT describes it in the error: "lease state".
template <typename Enum>
base::Result<Enum> parse_name(std::string_view what, const std::string& name,
                              std::initializer_list<Enum> values) {
  for (const Enum value : values) {
    if (name == name_of(value)) return value;
  }
  return base::Error(base::Code::kInternal,
                     base::str("ledger: unknown ", what, " ", base::quote(name)));
}

// Write a process as three columns, and read it back.
void bind_process(sqlite::Statement& statement, const base::ProcessId& process);
[[nodiscard]] base::ProcessId read_process(const sqlite::Statement& row, int first_column);

// Write an address as 4 or 16 bytes in network byte order, and read it back.
void bind_address(sqlite::Statement& statement, const netns::Address& address);
base::Result<netns::Address> read_address(const sqlite::Statement& row, int column);

}  // namespace hook::ledger
