// SPDX-License-Identifier: Apache-2.0
#include "hook/ledger/health.h"

#include "base/names.h"
#include "base/text.h"
#include "hook/ledger/internal/history.h"
#include "hook/ledger/internal/store.h"

namespace hook::ledger {
namespace {

using namespace base::names;
using sqlite::Statement;
using sqlite::Step;
using sqlite::Transaction;
using vipu::IpuHealth;
using vipu::Taint;

// Returns whether nothing bad is known: such an IPU has no row.
bool is_clean(const IpuHealth& health) {
  return health.taint == Taint::kNone && health.seen.find('b') == std::string::npos;
}

// Reads a row of "pool, ipu, taint, reason, seen, bad_ms, since_ms".
Result<PoolIpu> read_row(const Statement& row) {
  PoolIpu one;
  one.pool = row.text(0);
  one.health.ipu = row.text(1);
  one.health.taint =
      TRY(parse_name("taint", row.text(2), {Taint::kNone, Taint::kCheck, Taint::kOperator}));
  one.health.reason = row.text(3);
  one.health.seen = row.text(4);
  one.health.bad_ms = row.integer(5);
  one.health.since_ms = row.integer(6);
  return one;
}

std::string text_of(const IpuHealth& health) {
  switch (health.taint) {
    case Taint::kCheck:
      return str("IPU ", health.ipu,
                 " is tainted, because health checks saw it bad: ", health.reason);
    case Taint::kOperator:
      return str("IPU ", health.ipu, " is tainted by an operator: ", health.reason);
    case Taint::kNone:
      break;
  }
  return str("IPU ", health.ipu, " is no longer tainted");
}

}  // namespace

Result<std::vector<PoolIpu>> Health::all() {
  std::vector<PoolIpu> ipus;
  Statement row = TRY(store_.database.prepare(
      "SELECT pool, ipu, taint, reason, seen, bad_ms, since_ms FROM ipu_health"
      " ORDER BY pool, ipu"));
  while (TRY(row.step()) == Step::kRow) {
    PoolIpu ipu = TRY(read_row(row));
    ipus.push_back(std::move(ipu));
  }
  return ipus;
}

Result<std::vector<PoolIpu>> Health::tainted_by_history() {
  std::vector<PoolIpu> ipus;
  // Of a group, SQLite takes the columns of the row with the maximum.
  Statement row = TRY(store_.database.prepare(
      "SELECT pool, partition, event, MAX(rowid) FROM event WHERE kind = 'NOTE'"
      " AND event LIKE 'IPU % tainted%' GROUP BY pool, partition ORDER BY pool, partition"));
  while (TRY(row.step()) == Step::kRow) {
    PoolIpu one;
    one.pool = row.text(0);
    one.health.ipu = row.text(1);
    one.health.reason = row.text(2);
    const bool is_tainted = one.health.reason != text_of(IpuHealth{one.health.ipu});
    if (is_tainted) ipus.push_back(std::move(one));
  }
  return ipus;
}

Result<IpuHealth> Health::find(const std::string& pool, const std::string& ipu) {
  Statement row = TRY(store_.database.prepare(
      "SELECT pool, ipu, taint, reason, seen, bad_ms, since_ms FROM ipu_health"
      " WHERE pool = ? AND ipu = ?"));
  row.bind(pool).bind(ipu);
  if (TRY(row.step()) == Step::kDone) return IpuHealth{ipu};
  return TRY(read_row(row)).health;
}

Status Health::store(const std::string& pool, const IpuHealth& health) {
  if (is_clean(health)) {
    Statement remove =
        TRY(store_.database.prepare("DELETE FROM ipu_health WHERE pool = ? AND ipu = ?"));
    return remove.bind(pool).bind(health.ipu).run();
  }
  Statement insert = TRY(store_.database.prepare(
      "INSERT OR REPLACE INTO ipu_health(pool, ipu, taint, reason, seen, bad_ms, since_ms)"
      " VALUES(?, ?, ?, ?, ?, ?, ?)"));
  insert.bind(pool).bind(health.ipu).bind(vipu::name_of(health.taint)).bind(health.reason);
  return insert.bind(health.seen).bind(health.bad_ms).bind(health.since_ms).run();
}

Status Health::record(const std::string& pool, const IpuHealth& health) {
  Event event;
  event.kind = EventKind::kNote;
  event.pool = pool;
  event.partition = health.ipu;
  event.text = text_of(health);
  return record_event(store_, std::move(event));
}

Result<std::vector<IpuHealth>> Health::observe(const std::string& pool,
                                               const std::vector<vipu::Observation>& observations,
                                               const vipu::Damping& damping) {
  std::vector<IpuHealth> changed;
  Transaction transaction = TRY(Transaction::begin(store_.database));
  for (const vipu::Observation& observation : observations) {
    const IpuHealth before = TRY(find(pool, observation.ipu));
    if (observation.is_good && is_clean(before)) continue;
    const IpuHealth now = vipu::after(before, observation, damping, store_.now());
    TRY(store(pool, now));
    if (now.taint == before.taint) continue;
    TRY(record(pool, now));
    changed.push_back(now);
  }
  TRY(commit(store_, transaction));
  return changed;
}

Status Health::taint(const std::string& pool, const std::string& ipu, const std::string& reason) {
  Transaction transaction = TRY(Transaction::begin(store_.database));
  IpuHealth health = TRY(find(pool, ipu));
  health.taint = Taint::kOperator;
  health.reason = reason;
  health.since_ms = store_.now();
  TRY(store(pool, health));
  TRY(record(pool, health));
  return commit(store_, transaction);
}

Status Health::clear(const std::string& pool, const std::string& ipu) {
  Transaction transaction = TRY(Transaction::begin(store_.database));
  const IpuHealth before = TRY(find(pool, ipu));
  if (before.taint == Taint::kNone) {
    return Error(Code::kNotFound, str("IPU ", quote(ipu), " of pool ", quote(pool),
                                      " has no recorded taint; see 'ipuctl health list'"));
  }
  const IpuHealth clean{ipu};
  TRY(store(pool, clean));
  TRY(record(pool, clean));
  return commit(store_, transaction);
}

}  // namespace hook::ledger
