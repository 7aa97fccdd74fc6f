// SPDX-License-Identifier: Apache-2.0
#include "hook/ledger/queue.h"

#include "base/names.h"
#include "hook/ledger/internal/history.h"
#include "hook/ledger/internal/reserve.h"
#include "hook/ledger/internal/rows.h"
#include "hook/ledger/internal/store.h"

namespace hook::ledger {

using namespace base::names;
using base::Removed;
using sqlite::Statement;
using sqlite::Step;
using sqlite::Transaction;

namespace {

constexpr std::string_view kCancelled =
    "the wait for its IPUs was cancelled with 'ipuctl queue cancel'; ask again to wait again";

std::optional<vipu::Block> read_block(const Statement& row, int first_column) {
  const auto ipus = static_cast<uint32_t>(row.integer(first_column + 1));
  if (ipus == 0) return std::nullopt;
  return vipu::Block{static_cast<uint32_t>(row.integer(first_column)), ipus};
}

Error why_full(sqlite::Database& database, const Waiter& waiter, const MostWaiters& most) {
  Statement row = TRY(database.prepare("SELECT COUNT(*) FROM waiter WHERE tenant = ?"));
  TRY(row.bind(waiter.tenant).step());
  const bool is_of_tenant = row.integer(0) >= int64_t{most.of_tenant};
  return is_of_tenant ? Error(Code::kDenied, "the tenant's places in the queue are taken")
                      : Error(Code::kBusy, "the queue is full");
}

}  // namespace

Result<int64_t> Queue::enter(const Waiter& waiter, const MostWaiters& most) {
  Statement insert = TRY(store_.database.prepare(
      "INSERT INTO waiter(resource, container, bundle, ipus, boot_id, "
      "since_ms, until_ms, owner_pid,"
      " owner_start, owner_pid_namespace, user, tenant) SELECT ?,?,?,?,?,?,?,?,?,?,?,?12"
      " WHERE (SELECT COUNT(*) FROM waiter) < ?13"
      " AND (?14 = 0 OR (SELECT COUNT(*) FROM waiter WHERE tenant = ?12) < ?15)"
      " RETURNING ticket"));
  insert.bind(waiter.resource).bind(waiter.container).bind(waiter.bundle);
  insert.bind(int64_t{waiter.ipus});
  insert.bind(waiter.boot_id).bind(waiter.since_ms).bind(waiter.until_ms);
  bind_process(insert, waiter.owner);
  insert.bind(waiter.user).bind(waiter.tenant).bind(int64_t{most.of_all});
  insert.bind(int64_t{most.of_tenant != UINT32_MAX}).bind(int64_t{most.of_tenant});
  if (TRY(insert.step()) == Step::kDone) return why_full(store_.database, waiter, most);
  const int64_t ticket = insert.integer(0);
  TRY(insert.run());  // the insert is committed only at the statement's end
  return ticket;
}

Result<Removed> Queue::leave(int64_t ticket) {
  const Status done = with_reserve(store_, [&]() -> Status {
    Statement remove = TRY(store_.database.prepare("DELETE FROM waiter WHERE ticket = ?"));
    return remove.bind(ticket).run();
  });
  TRY(done);
  return store_.database.changes() == 0 ? Removed::kWasAbsent : Removed::kNow;
}

Status Queue::pin(int64_t ticket, const vipu::Block& block) {
  Statement update = TRY(store_.database.prepare(
      "UPDATE waiter SET pinned_first = ?, pinned_ipus = ? WHERE ticket = ?"));
  update.bind(int64_t{block.first}).bind(int64_t{block.size});
  return update.bind(ticket).run();
}

Status Queue::resize(int64_t ticket, uint32_t ipus) {
  Statement update = TRY(store_.database.prepare("UPDATE waiter SET ipus = ? WHERE ticket = ?"));
  return update.bind(int64_t{ipus}).bind(ticket).run();
}

Result<std::vector<Waiter>> Queue::list() {
  std::vector<Waiter> waiters;
  Statement row = TRY(store_.database.prepare(
      "SELECT ticket, resource, container, ipus, boot_id, since_ms, until_ms, owner_pid,"
      " owner_start, owner_pid_namespace, bundle, user, pinned_first, pinned_ipus, tenant"
      " FROM waiter"
      " ORDER BY ticket"));
  while (TRY(row.step()) == Step::kRow) {
    Waiter waiter;
    waiter.ticket = row.integer(0);
    waiter.resource = row.text(1);
    waiter.container = row.text(2);
    waiter.ipus = static_cast<uint32_t>(row.integer(3));
    waiter.boot_id = row.text(4);
    waiter.since_ms = row.integer(5);
    waiter.until_ms = row.integer(6);
    waiter.owner = read_process(row, 7);
    waiter.bundle = row.text(10);
    waiter.user = row.integer(11);
    waiter.pinned = read_block(row, 12);
    waiter.tenant = row.text(14);
    waiters.push_back(std::move(waiter));
  }
  return waiters;
}

Result<std::vector<Lease>> Queue::starts() {
  return select_leases(store_.database, "state = 'INTENT' AND waits = 1", {});
}

Result<Removed> Queue::cancel(const Lease& lease) {
  Transaction transaction = TRY(Transaction::begin(store_.database));
  Statement update = TRY(store_.database.prepare(
      "UPDATE lease SET waits = 2 WHERE id = ? AND state = 'INTENT' AND waits = 1"));
  TRY(update.bind(lease.id).run());
  if (store_.database.changes() == 0) return Removed::kWasAbsent;
  TRY(record_change(store_, lease, "CANCELLED"));
  TRY(commit(store_, transaction));
  return Removed::kNow;
}

Status Queue::check_wanted(const std::string& lease) {
  Statement row = TRY(store_.database.prepare("SELECT 1 FROM lease WHERE id = ? AND waits = 2"));
  if (TRY(row.bind(lease).step()) == Step::kDone) return {};
  return Error(Code::kBusy, std::string(kCancelled));
}

}  // namespace hook::ledger
