// SPDX-License-Identifier: Apache-2.0
#include "hook/ledger/endpoints.h"

#include "base/fs.h"
#include "base/names.h"
#include "base/text.h"
#include "hook/ledger/internal/history.h"
#include "hook/ledger/internal/store.h"

namespace hook::ledger {

using namespace base::names;
using sqlite::Statement;
using sqlite::Step;
using sqlite::Transaction;

Status Endpoints::record(const std::string& lease, const base::ProcessId& process) {
  const std::string boot = TRY(base::boot_id());
  Transaction transaction = TRY(Transaction::begin(store_.database));
  Statement insert = TRY(store_.database.prepare(
      "INSERT OR REPLACE INTO endpoint(lease, pid, start, pid_namespace, boot_id)"
      " SELECT id, ?2, ?3, ?4, ?5 FROM lease WHERE id = ?1 AND state IN ('ALLOCATED', 'RUNNING')"));
  insert.bind(lease).bind(int64_t{process.pid}).bind(static_cast<int64_t>(process.start_time));
  TRY(insert.bind(static_cast<int64_t>(process.pid_namespace)).bind(boot).run());
  if (store_.database.changes() != 1) {
    return Error(Code::kBusy, str("lease ", lease, " is being released"));
  }
  return commit(store_, transaction);
}

Result<std::optional<base::ProcessId>> Endpoints::find(const std::string& lease) {
  const std::string boot = TRY(base::boot_id());
  Statement row = TRY(store_.database.prepare(
      "SELECT pid, start, pid_namespace FROM endpoint WHERE lease = ? AND boot_id = ?"));
  if (TRY(row.bind(lease).bind(boot).step()) == Step::kDone) {
    return std::optional<base::ProcessId>();
  }
  return std::optional<base::ProcessId>({static_cast<pid_t>(row.integer(0)),
                                         static_cast<uint64_t>(row.integer(1)),
                                         static_cast<uint64_t>(row.integer(2))});
}

Status Endpoints::forget(const std::string& lease) {
  Transaction transaction = TRY(Transaction::begin(store_.database));
  Statement remove = TRY(store_.database.prepare("DELETE FROM endpoint WHERE lease = ?"));
  TRY(remove.bind(lease).run());
  return commit(store_, transaction);
}

}  // namespace hook::ledger
