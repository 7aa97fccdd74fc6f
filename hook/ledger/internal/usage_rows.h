// SPDX-License-Identifier: Apache-2.0
// What is added to the usage when something ends. Each function runs inside the caller's
// transaction, and adds to a bounded number of rows.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "hook/ledger/internal/sqlite.h"

namespace hook::ledger {

// The most rows of usage for one day. Whoever varies the tenant of a start meets this limit;
// further ones count for none.
inline constexpr int64_t kMostRowsOfDay = 256;
// The most kinds of refused starts of one tenant and user, within an hour or a day, and how many
// more there may be of unnamed kinds, one for each pool.
inline constexpr int64_t kMostKindsOfUser = 16;
inline constexpr int64_t kMorePools = 8;

// Forgets the oldest days of TABLE, which has rows by day, unless it has some of TODAY already. The
// newest kUsageDays days before it that have rows stay: a clock that is wrong for a moment costs
// one day.
base::Status forget_days(sqlite::Database& database, const std::string& table, int64_t today);

struct BusySample;
struct Lease;
struct PartitionRecord;
struct UsageRow;

// Adds what LEASE had, which ends at NOW_MS, unless it never got IPUs.
base::Status add_usage(sqlite::Database& database, const Lease& lease, int64_t now_ms);
// Adds what RESERVATION had, which ends at NOW_MS.
base::Status add_usage(sqlite::Database& database, const PartitionRecord& reservation,
                       int64_t now_ms);
// Adds what SAMPLE says from FROM_MS to UNTIL_MS to what WHOSE tenant and user had of its pool.
base::Status add_busy(sqlite::Database& database, const UsageRow& whose, const BusySample& sample,
                      int64_t from_ms, int64_t until_ms);
// A refused start, and why.
struct RefusedStart {
  int64_t at_ms = 0;  // unix time
  const std::string& tenant;
  int64_t user = -1;  // -1: unknown
  const std::string& pool;
  const std::string& cause;
};
// Adds it. A tenant and user has kMostKindsOfUser on a day; further ones count as one, of no kind,
// for each pool. A day has kMostRowsOfDay; further ones count as one, of nobody.
base::Status add_refused(sqlite::Database& database, const RefusedStart& start);

}  // namespace hook::ledger
