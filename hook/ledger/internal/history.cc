// SPDX-License-Identifier: Apache-2.0
#include "hook/ledger/internal/history.h"

#include "base/json.h"
#include "base/log.h"
#include "hook/ledger/actor.h"
#include "hook/ledger/internal/conditions.h"
#include "hook/ledger/internal/refusals.h"

namespace hook::ledger {
namespace {

// What a power cut takes from the audit log is written again from events that are this young.
constexpr int64_t kKeptMs = 120'000;

using base::Json;
using base::Result;
using base::Status;
using sqlite::Statement;
using sqlite::Step;
using sqlite::Transaction;

// Adds the actor to the details of a change.
std::string with_actor(Json details) {
  const Actor& self = current_actor();
  details["uid"] = self.uid;
  details["loginuid"] = self.loginuid ? Json(*self.loginuid) : Json();
  details["program"] = self.program;
  return base::to_text(details);
}

Event event_of(const Lease& lease, EventKind kind, std::string_view text) {
  return {0,          lease.changed_ms, lease.id, lease.container,
          lease.pool, lease.partition,  kind,     std::string(text)};
}

// Returns whether the change of LEASE that TEXT tells is for the audit log.
Result<bool> is_audited(Store& store, const Lease& lease, std::string_view text) {
  if (lease.state == LeaseState::kAllocated || lease.state == LeaseState::kRunning) return true;
  const bool begins = text == name_of(LeaseState::kIntent);
  const bool quiet =
      TRY(begins ? begins_quietly(store, lease) : is_quiet(store.database, lease.id));
  return !quiet;
}

// Returns the bytes of the database that are in use.
Result<int64_t> size_of(sqlite::Database& database) {
  Statement row =
      TRY(database.prepare("SELECT (page_count - freelist_count) * page_size"
                           " FROM pragma_page_count, pragma_freelist_count,"
                           " pragma_page_size"));
  TRY(row.step());
  return row.integer(0);
}

}  // namespace

Status record_event(Store& store, Event event) {
  event.at_ms = store.now();
  event.details = with_actor(Json::object());
  base::log_step(base::LogLevel::kInfo, event.text, event.lease);
  return insert_event(store.database, event);
}

Status record_note(Store& store, std::string_view text) {
  Event event;
  event.kind = EventKind::kNote;
  event.text = text;
  return record_event(store, std::move(event));
}

Status record_change(Store& store, const Lease& lease, std::string_view text,
                     const std::vector<RailLease>& addresses) {
  Json details = {{"tenant", lease.tenant}, {"ipus", lease.ipus}};
  for (const RailLease& rail : addresses) {
    details["addresses"].push_back(netns::to_string(rail.address));
  }
  const std::string described = with_actor(std::move(details));
  const bool audited = TRY(is_audited(store, lease, text));
  for (const Event& note : store.notes.of(lease.id)) {
    Event event = event_of(lease, note.kind, note.text);
    event.at_ms = note.at_ms;
    event.details = described;
    event.audited = audited;
    TRY(insert_event(store.database, event));
  }
  base::log_step(base::LogLevel::kInfo, text, lease.id);
  Event change = event_of(lease, EventKind::kState, text);
  change.details = described;
  change.audited = audited;
  return insert_event(store.database, change);
}

Status record_partition(Store& store, const std::string& pool, const std::string& partition,
                        std::string_view text, const std::string& container) {
  return record_event(store,
                      {0, 0, "", container, pool, partition, EventKind::kState, std::string(text)});
}

Status commit(Store& store, Transaction& transaction) {
  TRY(store.audit.remember(store.database));
  TRY(transaction.commit());
  base::log_step(base::LogLevel::kDebug, "the ledger has it on disk");
  (void)store.audit.append(store.database);  // the next commit, or `ipuctl gc`, tries again
  return {};
}

Status forget_history(Store& store, int64_t before_ms, int64_t most_bytes) {
  TRY(report_refusals(store));
  if (TRY(size_of(store.database)) > most_bytes) before_ms = store.now() - kKeptMs;
  // If even the oldest event is younger, there is nothing to forget.
  Statement oldest = TRY(store.database.prepare("SELECT at_ms FROM event ORDER BY rowid LIMIT 1"));
  if (TRY(oldest.step()) == Step::kDone || oldest.integer(0) >= before_ms) return {};
  // Events of partitions are examined from the oldest on, up to the limit.
  for (const char* sql :
       {"DELETE FROM event WHERE rowid IN (SELECT rowid FROM event WHERE lease IN (SELECT id FROM"
        " lease WHERE " LEASE_HAS_ENDED " AND changed_ms < ? ORDER BY changed_ms LIMIT 16)"
        " LIMIT 1000) AND rowid < (SELECT MAX(rowid) FROM event)",
        "DELETE FROM lease WHERE id IN (SELECT id FROM lease WHERE " LEASE_HAS_ENDED
        " AND changed_ms < ? ORDER BY changed_ms LIMIT 16)"
        " AND NOT EXISTS (SELECT 1 FROM event WHERE event.lease = lease.id)",
        "DELETE FROM late_partition WHERE since_ms < ?",
        "DELETE FROM event WHERE rowid IN (SELECT rowid FROM (SELECT rowid, at_ms FROM event"
        " WHERE lease = '' ORDER BY rowid LIMIT 64) WHERE at_ms < ?)"
        " AND rowid < (SELECT MAX(rowid) FROM event)"}) {
    Statement statement = TRY(store.database.prepare(sql));
    TRY(statement.bind(before_ms).run());
  }
  return {};
}

}  // namespace hook::ledger
