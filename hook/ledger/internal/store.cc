// SPDX-License-Identifier: Apache-2.0
#include "hook/ledger/internal/store.h"

namespace hook::ledger {

// SQLite's integers are signed, identities are not; the bits are kept.
void bind_process(sqlite::Statement& statement, const base::ProcessId& process) {
  statement.bind(int64_t{process.pid})
      .bind(static_cast<int64_t>(process.start_time))
      .bind(static_cast<int64_t>(process.pid_namespace));
}

base::ProcessId read_process(const sqlite::Statement& row, int first_column) {
  return {static_cast<pid_t>(row.integer(first_column)),
          static_cast<uint64_t>(row.integer(first_column + 1)),
          static_cast<uint64_t>(row.integer(first_column + 2))};
}

void bind_address(sqlite::Statement& statement, const netns::Address& address) {
  statement.bind(address.raw());
}

base::Result<netns::Address> read_address(const sqlite::Statement& row, int column) {
  const std::optional<netns::Address> address = netns::from_raw(row.blob(column));
  if (address) return *address;
  return base::Error(base::Code::kInternal, "ledger: an address has neither 4 nor 16 bytes");
}

}  // namespace hook::ledger
