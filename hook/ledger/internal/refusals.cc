// SPDX-License-Identifier: Apache-2.0
#include "hook/ledger/internal/refusals.h"

#include <optional>
#include <vector>

#include "base/clock.h"
#include "base/names.h"
#include "base/text.h"
#include "hook/ledger/actor.h"
#include "hook/ledger/internal/history.h"
#include "hook/ledger/internal/usage_rows.h"

namespace hook::ledger {
namespace {

using namespace base::names;
using sqlite::Database;
using sqlite::Statement;
using sqlite::Step;

constexpr int64_t kPeriodMs = 3'600'000;
// Whoever varies an error meets kMostKindsOfUser; further kinds of this tenant and user count as
// one in each pool. Whoever varies a tenant meets kMostKinds; all further kinds count as one.
constexpr int64_t kMostKinds = 64;
constexpr size_t kMaxKind = 120;

struct Refusal {
  std::string pool;
  std::string tenant;
  int64_t user = 0;  // who logged in, or else the uid
  std::string kind;
  int64_t count = 0;
  int64_t first_ms = 0;
  int64_t last_ms = 0;
  std::string container;  // of the last one
  std::string error;
  std::string leases;  // that the next one replaces, each with a space behind it
};

int64_t this_user() {
  const Actor& self = current_actor();
  return self.loginuid ? int64_t{*self.loginuid} : int64_t{self.uid};
}

// Returns the part of an error that is the same for all of its kind: without what changes with the
// host's state, which follows "(" or ";", and without numbers, addresses and ids.
std::string kind_of(const std::string& error) {
  const std::string_view stable = std::string_view(error).substr(0, error.find_first_of("(;"));
  std::string kind;
  for (const std::string_view word : base::split(stable, ' ')) {
    const bool varies = word.find_first_of("0123456789") != std::string_view::npos;
    kind += str(kind.empty() ? "" : " ", varies ? "#" : word);
  }
  return base::one_line(kind, kMaxKind);
}

constexpr std::string_view kSelect =
    "SELECT pool, tenant, user, kind, count, first_ms, last_ms, container, error, leases"
    " FROM refusal WHERE ";

Result<std::vector<Refusal>> read_all(Statement& row) {
  std::vector<Refusal> refusals;
  while (TRY(row.step()) == Step::kRow) {
    refusals.push_back({row.text(0), row.text(1), row.integer(2), row.text(3), row.integer(4),
                        row.integer(5), row.integer(6), row.text(7), row.text(8), row.text(9)});
  }
  return refusals;
}

Result<std::optional<Refusal>> find(Database& database, const Refusal& key) {
  Statement row =
      TRY(database.prepare(str(kSelect, "pool = ? AND tenant = ? AND user = ? AND kind = ?")));
  row.bind(key.pool).bind(key.tenant).bind(key.user).bind(key.kind);
  std::vector<Refusal> found = TRY(read_all(row));
  if (found.empty()) return std::optional<Refusal>();
  return std::optional<Refusal>(std::move(found.front()));
}

Status store_refusal(Database& database, const Refusal& refusal) {
  Statement row =
      TRY(database.prepare("INSERT OR REPLACE INTO refusal(pool, tenant, user, kind, count,"
                           " first_ms, last_ms, container, error, leases)"
                           " VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"));
  row.bind(refusal.pool).bind(refusal.tenant).bind(refusal.user).bind(refusal.kind);
  row.bind(refusal.count).bind(refusal.first_ms).bind(refusal.last_ms).bind(refusal.container);
  return row.bind(refusal.error).bind(refusal.leases).run();
}

// Returns whether there is room for another kind of KEY's tenant and user, who may have MOST.
Result<bool> has_room(Database& database, const Refusal& key, int64_t most) {
  Statement row =
      TRY(database.prepare("SELECT COUNT(*) < ? AND COUNT(CASE WHEN tenant = ? AND user = ? THEN 1"
                           " END) < ? FROM refusal"));
  TRY(row.bind(kMostKinds).bind(key.tenant).bind(key.user).bind(most).step());
  return row.integer(0) != 0;
}

// Returns the refusal that LEASE is one of: not yet counted, or one that was counted before.
Result<Refusal> refusal_of(Database& database, const Lease& lease) {
  Refusal key;
  key.pool = lease.pool;
  key.tenant = lease.tenant;
  key.user = this_user();
  key.kind = kind_of(lease.error);
  const std::optional<Refusal> known = TRY(find(database, key));
  if (known) return *known;
  if (TRY(has_room(database, key, kMostKindsOfUser))) return key;
  key.kind.clear();
  const std::optional<Refusal> of_user = TRY(find(database, key));
  if (of_user) return *of_user;
  if (TRY(has_room(database, key, kMostKindsOfUser + kMorePools))) return key;
  key = Refusal();
  return TRY(find(database, key)).value_or(key);
}

Event event_of(const Refusal& refusal, std::string text) {
  Event event;
  event.container = refusal.container;
  event.pool = refusal.pool;
  event.kind = EventKind::kError;
  event.text = std::move(text);
  return event;
}

// Records how many there were, and forgets them.
Status report(Store& store, const Refusal& refusal) {
  if (refusal.count > 1) {
    const std::string tenant =
        refusal.tenant.empty() ? "" : str(" for tenant ", base::quote(refusal.tenant));
    const std::string user = refusal.user == 0 ? "" : str(" by user ", refusal.user);
    const std::string text =
        str("refused ", refusal.count, " times from ", base::rfc3339(refusal.first_ms), " to ",
            base::rfc3339(refusal.last_ms), tenant, user, ", the last: ", refusal.error);
    TRY(record_event(store, event_of(refusal, text)));
  }
  Statement row = TRY(store.database.prepare(
      "DELETE FROM refusal WHERE pool = ? AND tenant = ? AND user = ? AND kind = ?"));
  return row.bind(refusal.pool).bind(refusal.tenant).bind(refusal.user).bind(refusal.kind).run();
}

// Forgets LEASES, and returns those that are still there. The newest event stays, so that no number
// is given twice, and so does its lease until the next time.
Result<std::string> forget_leases(Database& database, const std::string& leases) {
  std::string left;
  for (const std::string_view lease : base::split(leases, ' ')) {
    if (lease.empty()) continue;
    for (const char* sql : {"DELETE FROM event WHERE lease = ?"
                            " AND rowid < (SELECT MAX(rowid) FROM event)",
                            "DELETE FROM lease WHERE id = ? AND state = 'FAILED'"
                            " AND NOT EXISTS (SELECT 1 FROM event WHERE event.lease = lease.id)"}) {
      Statement row = TRY(database.prepare(sql));
      TRY(row.bind(lease).run());
    }
    Statement row = TRY(database.prepare("SELECT 1 FROM lease WHERE id = ?"));
    if (TRY(row.bind(lease).step()) == Step::kRow) left += str(lease, " ");
  }
  return left;
}

// Returns whether the hour of REFUSAL is over, or the clock was ahead when it began.
bool is_over(const Refusal& refusal, int64_t now_ms) {
  return refusal.first_ms <= now_ms - kPeriodMs || refusal.first_ms > now_ms;
}

}  // namespace

Result<bool> begins_quietly(Store& store, const Lease& lease) {
  Statement row = TRY(store.database.prepare(
      "SELECT (SELECT COUNT(*) FROM refusal) >= ? OR EXISTS (SELECT 1 FROM refusal"
      " WHERE pool = ? AND tenant = ? AND user = ? AND first_ms > ?)"));
  row.bind(kMostKinds).bind(lease.pool).bind(lease.tenant).bind(this_user());
  TRY(row.bind(lease.changed_ms - kPeriodMs).step());
  return row.integer(0) != 0;
}

Result<bool> is_quiet(Database& database, const std::string& lease) {
  Statement row = TRY(database.prepare(
      "SELECT COALESCE(MAX(event = 'INTENT' AND NOT audited) AND NOT MAX(event = 'ALLOCATED'), 0)"
      " FROM event WHERE lease = ?"));
  TRY(row.bind(lease).step());
  return row.integer(0) != 0;
}

Result<bool> was_refused(Database& database, const std::string& lease) {
  Statement row = TRY(
      database.prepare("SELECT COALESCE(MAX(event = 'INTENT') AND NOT MAX(event = 'ALLOCATED'), 0)"
                       " FROM event WHERE lease = ?"));
  TRY(row.bind(lease).step());
  return row.integer(0) != 0;
}

Result<std::string> count_refusal(Store& store, const Lease& lease, bool may_forget) {
  Refusal refusal = TRY(refusal_of(store.database, lease));
  if (refusal.count > 0 && is_over(refusal, lease.changed_ms)) {
    TRY(report(store, refusal));
    refusal.count = 0;
    refusal.leases.clear();
  }
  const bool quiet = TRY(is_quiet(store.database, lease.id));
  if (refusal.count == 0) refusal.first_ms = lease.changed_ms;
  ++refusal.count;
  refusal.last_ms = lease.changed_ms;
  refusal.container = lease.container;
  refusal.error = base::one_line(lease.error, kMaxEventText);
  refusal.leases = TRY(forget_leases(store.database, refusal.leases));
  if (quiet && may_forget) refusal.leases += str(lease.id, " ");
  TRY(store_refusal(store.database, refusal));
  const std::string kind = kind_of(lease.error);
  const RefusedStart start{lease.changed_ms, lease.tenant, this_user(), lease.pool, kind};
  TRY(add_refused(store.database, start));
  // Its own events are not audited, and there is no earlier one of its kind that was.
  if (quiet && refusal.count == 1) {
    TRY(record_event(store, event_of(refusal, str("refused: ", refusal.error))));
  }
  if (refusal.count == 1) return std::string("FAILED");
  return str("FAILED, number ", refusal.count, " of its kind since ",
             base::rfc3339(refusal.first_ms));
}

Status report_refusals(Store& store) {
  const int64_t now = store.now();
  Statement row =
      TRY(store.database.prepare(str(kSelect, "first_ms <= ? OR first_ms > ? LIMIT 4")));
  row.bind(now - kPeriodMs).bind(now);
  const std::vector<Refusal> over = TRY(read_all(row));
  for (const Refusal& refusal : over) TRY(report(store, refusal));
  return {};
}

}  // namespace hook::ledger
