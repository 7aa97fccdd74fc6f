// SPDX-License-Identifier: Apache-2.0
// Leases as rows: the statements behind Ledger. Each runs inside a transaction of its caller.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "hook/ledger/lease.h"
#include "hook/ledger/sqlite.h"

namespace hook {

base::Status insert_lease(sqlite::Database& database, const Lease& lease);
// Writes the lease if its row still has GENERATION; changes() tells whether it had.
base::Status update_lease(sqlite::Database& database, const Lease& lease, int64_t generation);
// kExists if another lease holds the IPU, unless both share its partition.
base::Status insert_ipu(sqlite::Database& database, const Lease& lease, const LeasedIpu& ipu);
base::Status delete_ipus(sqlite::Database& database, const std::string& lease_id);
base::Status free_addresses(sqlite::Database& database, const std::string& lease_id,
                            int64_t free_at_ms);
// The partition of LEASE, if it was made ahead, was used from here on.
base::Status mark_used(sqlite::Database& database, const Lease& lease);
// LEASE no longer resets its partition.
base::Status forget_resetter(sqlite::Database& database, const Lease& lease);
base::Status insert_event(sqlite::Database& database, const Lease& lease, std::string_view event);

// Whole leases, with addresses and IPUs, oldest first. CONDITION is SQL with these parameters.
base::Result<std::vector<Lease>> select_leases(sqlite::Database& database,
                                               std::string_view condition,
                                               std::initializer_list<std::string_view> parameters);

}  // namespace hook
