// SPDX-License-Identifier: Apache-2.0
// Refused starts: those of one kind within an hour become one record with a count. Somebody who
// starts containers in a loop then fills neither the ledger nor the audit log.
//
// The first refusal of a kind is history like any other lease. While its hour lasts, further starts
// of the same pool, tenant and user are quiet: their events are not audited before they have IPUs.
// If such a start is refused too, it is counted, and it takes the place of the one before it.
#pragma once

#include <string>

#include "base/result.h"
#include "hook/ledger/internal/store.h"
#include "hook/ledger/lease.h"

namespace hook::ledger {

// All functions run inside the caller's transaction.

// Returns whether the events of LEASE, which begins, are to be quiet.
base::Result<bool> begins_quietly(Store& store, const Lease& lease);
// Returns whether the lease began quietly and has not got its IPUs.
base::Result<bool> is_quiet(sqlite::Database& database, const std::string& lease);
// Returns whether the lease never got its IPUs. True only for a lease whose beginning is known.
base::Result<bool> was_refused(sqlite::Database& database, const std::string& lease);

// Counts the refusal of LEASE, which has its error and the time in changed_ms, and forgets the
// quiet lease before it. MAY_FORGET: whether nobody needs the row of LEASE itself after the next
// refusal. Returns the text of its last event: "FAILED", with the count if there is one.
base::Result<std::string> count_refusal(Store& store, const Lease& lease, bool may_forget);

// Records how many refusals there were in each hour that is over, as one audited event for each
// kind. Does no more than a start can afford; the next call continues.
base::Status report_refusals(Store& store);

}  // namespace hook::ledger
