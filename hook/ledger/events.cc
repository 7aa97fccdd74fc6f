// SPDX-License-Identifier: Apache-2.0
#include "hook/ledger/events.h"

#include <limits>

#include "base/log.h"
#include "base/names.h"
#include "base/text.h"
#include "hook/ledger/internal/history.h"
#include "hook/ledger/internal/store.h"

namespace hook::ledger {
namespace {

using namespace base::names;
using sqlite::Database;
using sqlite::Statement;
using sqlite::Step;
using sqlite::Transaction;

constexpr std::string_view kSelect =
    "SELECT rowid, at_ms, lease, container, pool, partition, kind, event, details FROM event";

Result<EventKind> parse_kind(const std::string& text) {
  return parse_name("kind of event", text,
                    {EventKind::kState, EventKind::kController, EventKind::kKernel,
                     EventKind::kError, EventKind::kNote});
}

Result<std::vector<Event>> read_events(Statement& row) {
  std::vector<Event> events;
  while (TRY(row.step()) == Step::kRow) {
    Event event;
    event.number = row.integer(0);
    event.at_ms = row.integer(1);
    event.lease = row.text(2);
    event.container = row.text(3);
    event.pool = row.text(4);
    event.partition = row.text(5);
    event.kind = TRY(parse_kind(row.text(6)));
    event.text = row.text(7);
    event.details = row.text(8);
    events.push_back(std::move(event));
  }
  return events;
}

}  // namespace

std::string_view name_of(EventKind kind) {
  switch (kind) {
    case EventKind::kState:
      return "STATE";
    case EventKind::kController:
      return "CONTROLLER";
    case EventKind::kKernel:
      return "KERNEL";
    case EventKind::kError:
      return "ERROR";
    case EventKind::kNote:
      break;
  }
  return "NOTE";
}

Result<std::vector<Event>> Events::after(int64_t number, uint32_t limit) {
  return select_events(store_.database, "rowid > ?", number, limit);
}

Result<std::vector<Event>> Events::of_lease(const std::string& id) {
  Statement row = TRY(store_.database.prepare(str(kSelect, " WHERE lease = ? ORDER BY rowid")));
  row.bind(id);
  return read_events(row);
}

Result<int64_t> Events::last() {
  Statement row = TRY(store_.database.prepare("SELECT COALESCE(MAX(rowid), 0) FROM event"));
  TRY(row.step());
  return row.integer(0);
}

Result<int64_t> Events::last_before(int64_t at_ms) {
  Statement row =
      TRY(store_.database.prepare("SELECT COALESCE(MAX(rowid), 0) FROM event WHERE at_ms < ?"));
  TRY(row.bind(at_ms).step());
  return row.integer(0);
}

void Events::note(const std::string& lease, EventKind kind, std::string_view text) {
  const bool is_error = kind == EventKind::kError;
  base::log_step(is_error ? base::LogLevel::kError : base::LogLevel::kDebug, text, lease);
  store_.notes.add({0, store_.now(), lease, {}, {}, {}, kind, base::one_line(text, kMaxEventText)});
}

Status Events::record(std::string_view text) {
  Transaction transaction = TRY(Transaction::begin(store_.database));
  TRY(record_note(store_, text));
  return commit(store_, transaction);
}

Status Events::record(const Lease& lease, std::string_view text) {
  Transaction transaction = TRY(Transaction::begin(store_.database));
  Event event;
  event.lease = lease.id;
  event.container = lease.container;
  event.pool = lease.pool;
  event.partition = lease.partition;
  event.kind = EventKind::kNote;
  event.text = text;
  TRY(record_event(store_, std::move(event)));
  return commit(store_, transaction);
}

Status Events::forget(int64_t before_ms) {
  Transaction transaction = TRY(Transaction::begin(store_.database));
  TRY(forget_history(store_, before_ms));
  return commit(store_, transaction);
}

Status Events::write_audit_log() { return store_.audit.append(store_.database); }

Result<AuditMark> Events::audit_mark() { return read_audit_mark(store_.database); }

Status insert_event(Database& database, const Event& event) {
  Statement insert =
      TRY(database.prepare("INSERT INTO event(at_ms, lease, container, pool, partition, kind,"
                           " event, details, audited) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)"));
  insert.bind(event.at_ms).bind(event.lease).bind(event.container).bind(event.pool);
  insert.bind(event.partition).bind(name_of(event.kind));
  insert.bind(base::one_line(event.text, kMaxEventText));
  return insert.bind(event.details).bind(int64_t{event.audited ? 1 : 0}).run();
}

Result<std::vector<Event>> select_events(Database& database, std::string_view condition,
                                         int64_t value, uint32_t limit) {
  Statement row =
      TRY(database.prepare(str(kSelect, " WHERE ", condition, " ORDER BY rowid LIMIT ?")));
  row.bind(value).bind(int64_t{limit});
  return read_events(row);
}

}  // namespace hook::ledger
