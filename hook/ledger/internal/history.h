// SPDX-License-Identifier: Apache-2.0
// Writes the history: each change with its event, in one transaction.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "hook/ledger/events.h"
#include "hook/ledger/internal/sqlite.h"
#include "hook/ledger/internal/store.h"
#include "hook/ledger/lease.h"

namespace hook::ledger {

// The next four functions run inside the caller's transaction.

// Records EVENT with the time and with this process as its actor.
base::Status record_event(Store& store, Event event);
// Records TEXT as a note that is of no lease.
base::Status record_note(Store& store, std::string_view text);
// Records the notes of LEASE, then its change with the time of the change. ADDRESSES are those that
// the change granted.
base::Status record_change(Store& store, const Lease& lease, std::string_view text,
                           const std::vector<RailLease>& addresses = {});
// Records a change of a partition that belongs to no lease.
base::Status record_partition(Store& store, const std::string& pool, const std::string& partition,
                              std::string_view text, const std::string& container = "");

// Commits and appends to the audit log. If appending fails, the next commit does it.
base::Status commit(Store& store, sqlite::Transaction& transaction);

// The size from which on the ledger forgets what ended, however young. More than 15,000 leases.
inline constexpr int64_t kMostBytes = 64 << 20;

// Forgets what ended before this unix time, or more than a few minutes ago if the ledger has more
// than MOST_BYTES: leases with their events, and events of partitions. Reports refusals whose hour
// is over. Removes no more than a start can afford; the next call continues. Keeps the newest
// event, so that no number is reused.
base::Status forget_history(Store& store, int64_t before_ms, int64_t most_bytes = kMostBytes);

// Inserts EVENT as a row, inside the caller's transaction. Ignores its number.
base::Status insert_event(sqlite::Database& database, const Event& event);
// Returns events that meet CONDITION, which is SQL with the one parameter VALUE, in order. Runs
// inside the caller's transaction.
base::Result<std::vector<Event>> select_events(sqlite::Database& database,
                                               std::string_view condition, int64_t value,
                                               uint32_t limit);

}  // namespace hook::ledger
