// SPDX-License-Identifier: Apache-2.0
#include "hook/ledger/endpoints.h"

#include "base/fs.h"
#include "base/names.h"
#include "base/text.h"
#include "hook/ledger/internal/history.h"
#include "hook/ledger/internal/store.h"
#include "hook/ledger/lease.h"

namespace hook::ledger {

using namespace base::names;
using sqlite::Statement;
using sqlite::Step;
using sqlite::Transaction;

namespace {

constexpr int64_t kCalmMs = int64_t{10} * 60 * 1000;

}  // namespace

Status Endpoints::record(const std::string& lease, const base::ProcessId& process) {
  const std::string boot = TRY(base::boot_id());
  Transaction transaction = TRY(Transaction::begin(store_.database));
  Statement insert = TRY(store_.database.prepare(
      "INSERT INTO endpoint(lease, pid, start, pid_namespace, boot_id)"
      " SELECT id, ?2, ?3, ?4, ?5 FROM lease WHERE id = ?1 AND state IN ('ALLOCATED', 'RUNNING')"
      " ON CONFLICT(lease) DO UPDATE SET pid = excluded.pid, start = excluded.start,"
      " pid_namespace = excluded.pid_namespace, boot_id = excluded.boot_id"));
  insert.bind(lease);
  bind_process(insert, process);
  TRY(insert.bind(boot).run());
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
  return std::optional<base::ProcessId>(read_process(row, 0));
}

Result<std::vector<Endpoint>> Endpoints::all() {
  const std::string boot = TRY(base::boot_id());
  Statement row = TRY(store_.database.prepare(
      "SELECT lease, pid, start, pid_namespace, attempts, retry_ms FROM endpoint WHERE boot_id = ?"
      " AND EXISTS (SELECT 1 FROM lease WHERE id = endpoint.lease AND state = 'RUNNING')"));
  row.bind(boot);
  std::vector<Endpoint> endpoints;
  while (TRY(row.step()) == Step::kRow) {
    endpoints.push_back(
        {row.text(0), read_process(row, 1), static_cast<uint32_t>(row.integer(4)), row.integer(5)});
  }
  return endpoints;
}

Result<uint32_t> Endpoints::begin_again(const Endpoint& ended) {
  Transaction transaction = TRY(Transaction::begin(store_.database));
  const int64_t now = store_.now();
  const bool is_calm = ended.retry_ms + kCalmMs <= now;
  const uint32_t attempts = is_calm ? 1 : ended.attempts + 1;
  Statement update = TRY(store_.database.prepare(
      "UPDATE endpoint SET attempts = ?, retry_ms = ? WHERE lease = ? AND attempts = ?"
      " AND retry_ms = ? AND pid = ? AND start = ? AND pid_namespace = ?"
      " AND EXISTS (SELECT 1 FROM lease WHERE id = endpoint.lease AND state = 'RUNNING')"));
  update.bind(int64_t{attempts}).bind(now + retry_pause_ms(attempts)).bind(ended.lease);
  update.bind(int64_t{ended.attempts}).bind(ended.retry_ms);
  bind_process(update, ended.process);
  TRY(update.run());
  if (store_.database.changes() != 1) {
    return Error(Code::kBusy, str("another process sees to the endpoint of lease ", ended.lease));
  }
  TRY(commit(store_, transaction));
  return attempts;
}

Status Endpoints::forget(const std::string& lease, const base::ProcessId& process) {
  Transaction transaction = TRY(Transaction::begin(store_.database));
  Statement remove = TRY(store_.database.prepare(
      "DELETE FROM endpoint WHERE lease = ? AND pid = ? AND start = ? AND pid_namespace = ?"));
  remove.bind(lease);
  bind_process(remove, process);
  TRY(remove.run());
  return commit(store_, transaction);
}

}  // namespace hook::ledger
