// SPDX-License-Identifier: Apache-2.0
#include "hook/ledger/store.h"

namespace hook {

// SQLite's integers are signed; identities are not. The bits are kept.
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

}  // namespace hook
