// SPDX-License-Identifier: Apache-2.0
// Leases as rows: the statements behind Ledger. Each runs inside a transaction of its caller.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "hook/ledger/internal/sqlite.h"
#include "hook/ledger/lease.h"

namespace hook::ledger {

base::Status insert_lease(sqlite::Database& database, const Lease& lease);
// Writes all of the lease that its own changes change.
base::Status update_lease(sqlite::Database& database, const Lease& lease);
// kExists names an IPU that another lease holds, unless both share its partition.
base::Status insert_ipus(sqlite::Database& database, const Lease& lease);
base::Status delete_ipus(sqlite::Database& database, const std::string& lease_id);
// The partition of FROM becomes TO's: its origin and its IPUs. FROM is a joined lease from here on.
base::Status pass_partition(sqlite::Database& database, const Lease& from, const Lease& to);
// The partition of LEASE, if it was made ahead, was used from here on.
base::Status mark_used(sqlite::Database& database, const Lease& lease);
// LEASE no longer resets its partition.
base::Status forget_resetter(sqlite::Database& database, const Lease& lease);

// The IPUs of LEASE, which must be live: its own, or those of the lease that it joined.
base::Status load_ipus(sqlite::Database& database, Lease& lease);

// Whole leases, with addresses and IPUs, oldest first. CONDITION is SQL with these parameters.
base::Result<std::vector<Lease>> select_leases(sqlite::Database& database,
                                               std::string_view condition,
                                               std::initializer_list<std::string_view> parameters);
// Of all live leases, oldest first.
base::Result<std::vector<LeaseHold>> select_holds(sqlite::Database& database);
// Those that have interfaces in the namespace NETNS, since this BOOT_ID, and are not being
// released.
base::Result<std::vector<Lease>> select_attached(sqlite::Database& database,
                                                 const netns::Identity& netns,
                                                 const std::string& boot_id);
// Those that joined LEASE's partition and GCD and are not being released.
base::Result<std::vector<Lease>> select_joined(sqlite::Database& database, const Lease& lease);

}  // namespace hook::ledger
