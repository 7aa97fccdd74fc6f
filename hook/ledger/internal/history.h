// SPDX-License-Identifier: Apache-2.0
// How the parts of the ledger write the history: each change with its event, in one transaction.
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

// Inside a transaction of the caller.

// EVENT, with the time and with who does it: this process.
base::Status record_event(Store& store, Event event);
// What was noted of LEASE, and then its change, with the time of the change. ADDRESSES are those
// that the change gave.
base::Status record_change(Store& store, const Lease& lease, std::string_view text,
                           const std::vector<RailLease>& addresses = {});
// A change of a partition that is of no lease.
base::Status record_partition(Store& store, const std::string& pool, const std::string& partition,
                              std::string_view text, const std::string& container = "");

// Commits, and brings the audit log up to date; where that fails the next commit does it.
base::Status commit(Store& store, sqlite::Transaction& transaction);

// Forgets what ended before this unix time: leases with their events, events of partitions. No more
// than a start can bear; the next one goes on. The newest event stays, so that no number is given
// twice.
base::Status forget_history(Store& store, int64_t before_ms);

// As rows, inside a transaction of the caller. The number of EVENT is not looked at.
base::Status insert_event(sqlite::Database& database, const Event& event);
// CONDITION is SQL; its one parameter is the text or number VALUE.
base::Result<std::vector<Event>> select_events(sqlite::Database& database,
                                               std::string_view condition, int64_t value,
                                               uint32_t limit);

}  // namespace hook::ledger
