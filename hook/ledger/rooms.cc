// SPDX-License-Identifier: Apache-2.0
#include "hook/ledger/rooms.h"

#include <algorithm>
#include <map>

#include "base/names.h"
#include "hook/ledger/internal/history.h"
#include "hook/ledger/internal/store.h"
#include "hook/ledger/internal/usage_rows.h"
#include "hook/ledger/usage.h"

namespace hook::ledger {
namespace {

using namespace base::names;
using sqlite::Database;
using sqlite::Statement;
using sqlite::Step;
using sqlite::Transaction;

// Adds ROW to what is known of its pool on DAY.
Status add_room(Database& database, int64_t day, const RoomRow& row) {
  Statement add = TRY(database.prepare(
      "INSERT INTO room(day, pool, measured_ms, free, largest, worst_ms, worst_free, worst_largest)"
      " VALUES(?1,?2,?3,?4,?5,?6,?7,?8) ON CONFLICT DO UPDATE SET"
      " measured_ms = measured_ms + ?3, free = free + ?4, largest = largest + ?5,"
      " worst_ms = CASE WHEN ?9 THEN ?6 ELSE worst_ms END,"
      " worst_free = CASE WHEN ?9 THEN ?7 ELSE worst_free END,"
      " worst_largest = CASE WHEN ?9 THEN ?8 ELSE worst_largest END"));
  Statement before =
      TRY(database.prepare("SELECT worst_free - worst_largest FROM room WHERE day = ? AND pool = ?"
                           " AND worst_ms > 0"));
  const bool had_worst = TRY(before.bind(day).bind(row.pool).step()) == Step::kRow;
  const bool is_worse =
      row.worst_ms > 0 && (!had_worst || row.worst_free - row.worst_largest > before.integer(0));
  add.bind(day).bind(row.pool).bind(row.measured_ms).bind(row.free).bind(row.largest);
  add.bind(row.worst_ms).bind(row.worst_free).bind(row.worst_largest);
  return add.bind(int64_t{is_worse}).run();
}

// Adds what the last look at POOL saw, from then until NOW_MS.
Status add_last(Database& database, const std::string& pool, int64_t now_ms) {
  Statement last =
      TRY(database.prepare("SELECT at_ms, free, largest FROM room_look WHERE pool = ?"));
  if (TRY(last.bind(pool).step()) == Step::kDone) return {};
  const int64_t from_ms = last.integer(0);
  const int64_t until_ms = std::min(now_ms, from_ms + kLongestLookMs);
  for (int64_t at_ms = from_ms; at_ms < until_ms;) {
    const int64_t day = at_ms / kDayMs;
    const int64_t end_ms = std::min(until_ms, (day + 1) * kDayMs);
    RoomRow row{pool, end_ms - at_ms};
    row.free = row.measured_ms * last.integer(1);
    row.largest = row.measured_ms * last.integer(2);
    TRY(add_room(database, day, row));
    at_ms = end_ms;
  }
  return {};
}

}  // namespace

Status Rooms::record(const std::vector<RoomLook>& looks) {
  const int64_t now_ms = store_.now();
  Transaction transaction = TRY(Transaction::begin(store_.database));
  TRY(forget_days(store_.database, "room", now_ms / kDayMs));
  for (const RoomLook& look : looks) {
    TRY(add_last(store_.database, look.pool, now_ms));
    TRY(add_room(store_.database, now_ms / kDayMs,
                 {look.pool, 0, 0, 0, now_ms, look.free, look.largest}));
    Statement now = TRY(store_.database.prepare(
        "INSERT OR REPLACE INTO room_look(pool, at_ms, free, largest) VALUES(?,?,?,?)"));
    TRY(now.bind(look.pool).bind(now_ms).bind(look.free).bind(look.largest).run());
  }
  Statement old = TRY(store_.database.prepare("DELETE FROM room_look WHERE at_ms < ?"));
  TRY(old.bind(now_ms - kDayMs).run());
  return commit(store_, transaction);
}

Result<std::vector<RoomRow>> Rooms::between(int64_t from, int64_t until) {
  std::map<std::string, RoomRow> rooms;
  Statement row = TRY(store_.database.prepare(
      "SELECT pool, measured_ms, free, largest, worst_ms, worst_free, worst_largest FROM room"
      " WHERE day >= ? AND day < ? ORDER BY day"));
  row.bind(from).bind(until);
  while (TRY(row.step()) == Step::kRow) {
    RoomRow& sum = rooms[row.text(0)];
    sum.pool = row.text(0);
    sum.measured_ms += row.integer(1);
    sum.free += row.integer(2);
    sum.largest += row.integer(3);
    const bool is_worse =
        row.integer(4) > 0 &&
        (sum.worst_ms == 0 || row.integer(5) - row.integer(6) > sum.worst_free - sum.worst_largest);
    if (!is_worse) continue;
    sum.worst_ms = row.integer(4);
    sum.worst_free = row.integer(5);
    sum.worst_largest = row.integer(6);
  }
  std::vector<RoomRow> all;
  for (auto& [pool, room] : rooms) all.push_back(std::move(room));
  return all;
}

}  // namespace hook::ledger
