// SPDX-License-Identifier: Apache-2.0
#include "hook/ledger/busy.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "base/names.h"
#include "base/text.h"
#include "hook/ledger/internal/conditions.h"
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

// What cannot be read counts as nothing: then only the time until now stays unmeasured.
Result<BusyState> read_state(Database& database) {
  Statement row = TRY(database.prepare("SELECT value FROM meta WHERE name = 'monitor'"));
  if (TRY(row.step()) == Step::kDone) return BusyState();
  const std::string value = row.text(0);
  const std::vector<std::string_view> words = base::split(value, ' ');  // "AT_MS FAILING_MS"
  if (words.size() != 2) return BusyState();
  const Result<int64_t> at = base::parse_int<int64_t>(words[0], 0, INT64_MAX);
  const Result<int64_t> failing = base::parse_int<int64_t>(words[1], 0, INT64_MAX);
  if (!at.ok() || !failing.ok()) return BusyState();
  return BusyState{at.value(), failing.value()};
}

Status write_state(Database& database, const BusyState& state) {
  Statement row =
      TRY(database.prepare("INSERT OR REPLACE INTO meta(name, value) VALUES('monitor', ?)"));
  return row.bind(str(state.at_ms, ' ', state.failing_ms)).run();
}

// Counts SAMPLE from FROM_MS to UNTIL_MS, as far as its lease had its IPUs.
Status add_sample(Database& database, const BusySample& sample, int64_t from_ms, int64_t until_ms) {
  Statement lease =
      TRY(database.prepare("SELECT tenant, user, pool, allocated_ms FROM lease WHERE id = ? AND "
                           "origin <> 'JOINED' AND allocated_ms > 0 AND " LEASE_IS_LIVE));
  if (TRY(lease.bind(sample.lease).step()) == Step::kDone) return {};
  const UsageRow whose{lease.text(0), lease.integer(1), lease.text(2)};
  return add_busy(database, whose, sample, std::max(from_ms, lease.integer(3)), until_ms);
}

}  // namespace

Status Busy::record(const std::vector<BusySample>& samples, std::chrono::milliseconds longest) {
  Transaction transaction = TRY(Transaction::begin(store_.database));
  const int64_t now_ms = store_.now();
  const BusyState before = TRY(read_state(store_.database));
  const int64_t from_ms = std::max(before.at_ms, now_ms - longest.count());
  TRY(forget_days(store_.database, "usage", now_ms / kDayMs));
  if (before.at_ms > 0) {  // the first one ends no interval
    for (const BusySample& sample : samples)
      TRY(add_sample(store_.database, sample, from_ms, now_ms));
  }
  TRY(write_state(store_.database, {now_ms, 0}));
  return commit(store_, transaction);
}

Status Busy::skip() {
  Transaction transaction = TRY(Transaction::begin(store_.database));
  const BusyState before = TRY(read_state(store_.database));
  TRY(write_state(store_.database, {store_.now(), before.failing_ms}));
  return commit(store_, transaction);
}

Result<bool> Busy::fail() {
  Transaction transaction = TRY(Transaction::begin(store_.database));
  const int64_t now_ms = store_.now();
  const BusyState before = TRY(read_state(store_.database));
  const bool is_new = before.failing_ms == 0;
  TRY(write_state(store_.database, {now_ms, is_new ? now_ms : before.failing_ms}));
  TRY(commit(store_, transaction));
  return is_new;
}

Result<BusyState> Busy::state() { return read_state(store_.database); }

}  // namespace hook::ledger
