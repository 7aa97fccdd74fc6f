// SPDX-License-Identifier: Apache-2.0
#include "hook/ledger/usage.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>
#include <tuple>

#include "base/names.h"
#include "base/text.h"
#include "hook/ledger/internal/conditions.h"
#include "hook/ledger/internal/history.h"
#include "hook/ledger/internal/store.h"
#include "hook/ledger/internal/usage_rows.h"
#include "hook/ledger/partitions.h"

namespace hook::ledger {
namespace {

using namespace base::names;
using sqlite::Database;
using sqlite::Statement;
using sqlite::Step;
using sqlite::Transaction;

constexpr int64_t kLastDay = 100'000'000;  // days in ms stay numbers

enum class Kind { kHeld, kReserved };

// IPUs that somebody had from one unix time to another.
struct Had {
  std::string tenant;
  int64_t user = -1;
  std::string pool;
  int64_t ipus = 0;
  int64_t from_ms = 0;
  int64_t until_ms = 0;
};

// Returns the waits of the row of KEY on a DAY, with those of KEY.
Result<base::Histogram> sum_of_waits(Database& database, int64_t day, const UsageRow& key) {
  Statement row = TRY(database.prepare(
      "SELECT waits FROM usage WHERE day = ? AND tenant = ? AND user = ? AND pool = ?"));
  row.bind(day).bind(key.tenant).bind(key.user).bind(key.pool);
  base::Histogram sum = key.waits;
  if (TRY(row.step()) == Step::kDone) return sum;
  const Result<base::Histogram> before = base::Histogram::parse(row.text(0));
  if (before.ok()) sum.add(before.value());  // a damaged one costs the release of no lease
  return sum;
}

Status add_row(Database& database, int64_t day, UsageRow row) {
  Statement count = TRY(database.prepare(
      "SELECT COUNT(*) >= ?1 AND NOT EXISTS (SELECT 1 FROM usage WHERE day = ?2 AND tenant = ?3"
      " AND user = ?4 AND pool = ?5) FROM usage WHERE day = ?2"));
  count.bind(kMostRowsOfDay).bind(day).bind(row.tenant).bind(row.user).bind(row.pool);
  TRY(count.step());
  const bool is_full = count.integer(0) != 0;
  if (is_full) row.tenant.clear();
  if (is_full) row.user = -1;
  if (row.waits.count() != 0) row.waits = TRY(sum_of_waits(database, day, row));
  Statement add = TRY(database.prepare(
      "INSERT INTO usage(day, tenant, user, pool, held, reserved, starts, waits, measured, busy)"
      " VALUES(?,?,?,?,?,?,?,?,?,?)"
      " ON CONFLICT DO UPDATE SET held = held + excluded.held,"
      " reserved = reserved + excluded.reserved, starts = starts + excluded.starts,"
      " measured = measured + excluded.measured, busy = busy + excluded.busy,"
      " waits = CASE WHEN excluded.waits = '' THEN waits ELSE excluded.waits END"));
  add.bind(day).bind(row.tenant).bind(row.user).bind(row.pool);
  add.bind(row.held).bind(row.reserved).bind(row.starts).bind(row.waits.to_text());
  return add.bind(row.measured).bind(row.busy).run();
}

// Adds HAD to each day that it touches; START: whether it is a start that ends.
Status add_days(Database& database, const Had& had, Kind kind, bool start) {
  const int64_t last = had.until_ms / kDayMs;
  // The clock was set meanwhile, if it is so many days: it is not known which of them were.
  const bool is_known = had.from_ms / kDayMs >= last - kUsageDays;
  const int64_t first = is_known ? had.from_ms / kDayMs : last;
  TRY(forget_days(database, "usage", last));
  for (int64_t day = first; day <= last; ++day) {
    const int64_t from = std::max(had.from_ms, day * kDayMs);
    const int64_t time = std::max<int64_t>(0, std::min(had.until_ms, (day + 1) * kDayMs) - from);
    UsageRow row{had.tenant, had.user, had.pool};
    (kind == Kind::kHeld ? row.held : row.reserved) = time * had.ipus;
    row.starts = start && day == last ? 1 : 0;
    TRY(add_row(database, day, row));
  }
  return {};
}

// Returns whether there is a row for START already, or room for one more of its tenant and user,
// who may have MOST on a day.
Result<bool> has_room(Database& database, const RefusedStart& start, int64_t most) {
  Statement row =
      TRY(database.prepare("SELECT (COUNT(*) < ?1 AND COUNT(CASE WHEN tenant = ?2 AND user = ?3"
                           " THEN 1 END) < ?4) OR COUNT(CASE WHEN tenant = ?2 AND user = ?3"
                           " AND pool = ?5 AND cause = ?6 THEN 1 END) > 0"
                           " FROM refused WHERE day = ?7"));
  row.bind(kMostRowsOfDay).bind(start.tenant).bind(start.user).bind(most);
  row.bind(start.pool).bind(start.cause).bind(start.at_ms / kDayMs);
  TRY(row.step());
  return row.integer(0) != 0;
}

Status add_row(Database& database, const RefusedStart& start) {
  Statement add = TRY(database.prepare(
      "INSERT INTO refused(day, tenant, user, pool, cause, count) VALUES(?,?,?,?,?,1)"
      " ON CONFLICT DO UPDATE SET count = count + 1"));
  add.bind(start.at_ms / kDayMs).bind(start.tenant).bind(start.user).bind(start.pool);
  return add.bind(start.cause).run();
}

}  // namespace

Status forget_days(Database& database, const std::string& table, int64_t today) {
  Statement row = TRY(database.prepare(str("SELECT 1 FROM ", table, " WHERE day = ? LIMIT 1")));
  // Once a day is often enough.
  if (TRY(row.bind(today).step()) == Step::kRow) return {};
  Statement forget =
      TRY(database.prepare(str("DELETE FROM ", table, " WHERE day < (SELECT DISTINCT day FROM ",
                               table, " WHERE day <= ? ORDER BY day DESC LIMIT 1 OFFSET ?)")));
  return forget.bind(today).bind(kUsageDays - 1).run();
}

Status add_usage(Database& database, const Lease& lease, int64_t now_ms) {
  if (lease.origin == Origin::kJoined) return {};
  Statement row =
      TRY(database.prepare("SELECT allocated_ms, user, asked_ms FROM lease WHERE id = ?"));
  TRY(row.bind(lease.id).step());
  const int64_t since = row.integer(0);
  if (since == 0 || lease.ipus == 0) return {};
  const Had had{lease.tenant, row.integer(1), lease.pool, int64_t{lease.ipus}, since, now_ms};
  TRY(add_days(database, had, Kind::kHeld, true));
  const bool is_kept = since / kDayMs >= now_ms / kDayMs - kUsageDays;
  if (row.integer(2) <= 0 || !is_kept) return {};
  UsageRow waited{lease.tenant, row.integer(1), lease.pool};
  waited.waits.add(since - row.integer(2));
  return add_row(database, since / kDayMs, waited);
}

Status add_usage(Database& database, const PartitionRecord& reservation, int64_t now_ms) {
  const bool was_made = reservation.state != PartitionState::kIntent;
  if (reservation.reservation.empty() || reservation.created_ms == 0 || !was_made) return {};
  const Had had{reservation.tenant,        reservation.user,       reservation.pool,
                int64_t{reservation.ipus}, reservation.created_ms, now_ms};
  return add_days(database, had, Kind::kReserved, false);
}

Status add_busy(Database& database, const UsageRow& whose, const BusySample& sample,
                int64_t from_ms, int64_t until_ms) {
  while (from_ms < until_ms) {
    const int64_t day = from_ms / kDayMs;
    const int64_t end_ms = std::min(until_ms, (day + 1) * kDayMs);
    UsageRow row{whose.tenant, whose.user, whose.pool};
    row.measured = (end_ms - from_ms) * sample.ipus;
    row.busy = std::llround(static_cast<double>(end_ms - from_ms) * sample.busy);
    TRY(add_row(database, day, row));
    from_ms = end_ms;
  }
  return {};
}

Status add_refused(Database& database, const RefusedStart& start) {
  const std::string none;
  TRY(forget_days(database, "refused", start.at_ms / kDayMs));
  if (TRY(has_room(database, start, kMostKindsOfUser))) return add_row(database, start);
  const RefusedStart of_user{start.at_ms, start.tenant, start.user, start.pool, none};
  if (TRY(has_room(database, of_user, kMostKindsOfUser + kMorePools)))
    return add_row(database, of_user);
  return add_row(database, RefusedStart{start.at_ms, none, -1, none, none});
}

Result<std::vector<UsageRow>> Usage::between(int64_t from, int64_t until) {
  const int64_t from_ms = from * kDayMs;
  const int64_t until_ms = until > kLastDay ? store_.now() : std::min(store_.now(), until * kDayMs);
  std::map<std::tuple<std::string, int64_t, std::string>, UsageRow> rows;
  const auto row_of = [&](const std::string& tenant, int64_t user,
                          const std::string& pool) -> UsageRow& {
    UsageRow& row = rows[{tenant, user, pool}];
    row.tenant = tenant;
    row.user = user;
    row.pool = pool;
    return row;
  };
  Statement ended = TRY(store_.database.prepare(
      "SELECT tenant, user, pool, held, reserved, starts, waits, measured, busy FROM usage"
      " WHERE day >= ? AND day < ?"));
  ended.bind(from).bind(until);
  while (TRY(ended.step()) == Step::kRow) {
    UsageRow& row = row_of(ended.text(0), ended.integer(1), ended.text(2));
    row.held += ended.integer(3);
    row.reserved += ended.integer(4);
    row.starts += ended.integer(5);
    row.waits.add(TRY_CTX("ledger: table 'usage'", base::Histogram::parse(ended.text(6))));
    row.measured += ended.integer(7);
    row.busy += ended.integer(8);
  }
  Statement live = TRY(store_.database.prepare(
      "SELECT tenant, user, pool, ipus, allocated_ms, 0, asked_ms FROM lease WHERE " LEASE_IS_LIVE
      " AND origin <> 'JOINED' AND allocated_ms > 0 AND allocated_ms < ?1 UNION ALL"
      " SELECT tenant, user, pool, ipus, created_ms, 1, 0 FROM partition WHERE reservation <> ''"
      " AND state <> 'INTENT' AND created_ms < ?1"));
  live.bind(until_ms);
  while (TRY(live.step()) == Step::kRow) {
    UsageRow& row = row_of(live.text(0), live.integer(1), live.text(2));
    const int64_t since = live.integer(4);
    const int64_t time = std::max<int64_t>(0, until_ms - std::max(from_ms, since));
    (live.integer(5) == 0 ? row.held : row.reserved) += time * live.integer(3);
    if (live.integer(6) > 0 && since >= from_ms) row.waits.add(since - live.integer(6));
  }
  std::vector<UsageRow> all;
  for (auto& [key, row] : rows) all.push_back(std::move(row));
  return all;
}

Result<std::vector<RefusedRow>> Usage::refused(int64_t from, int64_t until) {
  std::vector<RefusedRow> refused;
  Statement row = TRY(store_.database.prepare(
      "SELECT tenant, user, pool, cause, SUM(count) FROM refused WHERE day >= ? AND day < ?"
      " GROUP BY tenant, user, pool, cause ORDER BY 5 DESC, cause"));
  row.bind(from).bind(until);
  while (TRY(row.step()) == Step::kRow) {
    refused.push_back({row.text(0), row.integer(1), row.text(2), row.text(3), row.integer(4)});
  }
  return refused;
}

Result<std::optional<Told>> Usage::told() {
  Statement row = TRY(store_.database.prepare("SELECT value FROM meta WHERE name = 'accounting'"));
  if (TRY(row.step()) == Step::kDone) return std::optional<Told>();
  const std::string value = row.text(0);
  const std::vector<std::string_view> parts = base::split(value, ' ');  // "FLEET EPOCH DAY AT_MS"
  if (parts.size() != 4) return Error(Code::kInternal, "ledger: meta 'accounting' is not valid");
  Told told;
  told.fleet = parts[0];
  told.epoch = parts[1];
  told.day = TRY_CTX("ledger: meta 'accounting'", base::parse_int<int64_t>(parts[2], 0, kLastDay));
  told.at_ms =
      TRY_CTX("ledger: meta 'accounting'", base::parse_int<int64_t>(parts[3], 0, INT64_MAX));
  return std::optional<Told>(std::move(told));
}

Status Usage::tell(const Told& told) {
  Transaction transaction = TRY(Transaction::begin(store_.database));
  Statement row = TRY(
      store_.database.prepare("INSERT OR REPLACE INTO meta(name, value) VALUES('accounting', ?)"));
  TRY(row.bind(str(told.fleet, ' ', told.epoch, ' ', told.day, ' ', told.at_ms)).run());
  return commit(store_, transaction);
}

}  // namespace hook::ledger
