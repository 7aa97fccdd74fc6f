// SPDX-License-Identifier: Apache-2.0
// The part of the schema that tells tenants apart, and what each has used. It is a macro because a
// step is one text.
#pragma once

#include <cstdint>

// partition, waiter: tenant, to which a reservation, or a request that waits, counts; '': none.
// lease: when it got its IPUs and when it was asked for, unix time in ms, 0: not yet, or unknown;
// user: who started it, -1: unknown.
// usage: what ended leases and reservations had, in IPU-milliseconds, by day (since 1970, UTC).
// refused: how many starts were refused, by day and cause.
#define TENANT_TABLES                                                                        \
  "ALTER TABLE partition ADD COLUMN tenant TEXT NOT NULL DEFAULT '';"                        \
  "ALTER TABLE waiter ADD COLUMN tenant TEXT NOT NULL DEFAULT '';"                           \
  "ALTER TABLE lease ADD COLUMN allocated_ms INTEGER NOT NULL DEFAULT 0;"                    \
  "ALTER TABLE lease ADD COLUMN asked_ms INTEGER NOT NULL DEFAULT 0;"                        \
  "ALTER TABLE lease ADD COLUMN user INTEGER NOT NULL DEFAULT -1;"                           \
  "CREATE TABLE usage (day INTEGER NOT NULL, tenant TEXT NOT NULL, user INTEGER NOT NULL,"   \
  " pool TEXT NOT NULL, held INTEGER NOT NULL, reserved INTEGER NOT NULL,"                   \
  " starts INTEGER NOT NULL, PRIMARY KEY (day, tenant, user, pool)) STRICT, WITHOUT ROWID;"  \
  "CREATE TABLE refused (day INTEGER NOT NULL, tenant TEXT NOT NULL, user INTEGER NOT NULL," \
  " pool TEXT NOT NULL, cause TEXT NOT NULL, count INTEGER NOT NULL,"                        \
  " PRIMARY KEY (day, tenant, user, pool, cause)) STRICT, WITHOUT ROWID;"

namespace hook::ledger {

// The most rows of usage for one day. Whoever varies the tenant of a start meets this limit;
// further ones count for none.
inline constexpr int64_t kMostRowsOfDay = 256;

}  // namespace hook::ledger
