// SPDX-License-Identifier: Apache-2.0
// Leases as rows: the statements behind Ledger. Each function runs inside its caller's transaction.
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
// Writes all columns that a lease's own changes change.
base::Status update_lease(sqlite::Database& database, const Lease& lease);
// Inserts the IPUs of LEASE. Fails with kExists, naming an IPU, if another lease of any pool holds
// it or one of its ports, unless both share its partition.
base::Status insert_ipus(sqlite::Database& database, const Lease& lease);
base::Status delete_ipus(sqlite::Database& database, const std::string& lease_id);
// Passes the partition of FROM, with its origin and IPUs, to TO. FROM is a joined lease from here
// on.
base::Status pass_partition(sqlite::Database& database, const Lease& from, const Lease& to);
// Records that the partition of LEASE has been used, if it was made in advance.
base::Status mark_used(sqlite::Database& database, const Lease& lease);
// Forgets the process of LEASE's V-IPU endpoint, also one of an earlier boot.
base::Status forget_endpoint(sqlite::Database& database, const std::string& lease_id);
// Records that LEASE no longer resets its partition.
base::Status forget_resetter(sqlite::Database& database, const Lease& lease);

// Reads the IPUs of LEASE, which must be live: its own, or those of the lease that it joined.
base::Status load_ipus(sqlite::Database& database, Lease& lease);

// Returns complete leases, with addresses and IPUs, oldest first. CONDITION is SQL with these
// parameters.
base::Result<std::vector<Lease>> select_leases(sqlite::Database& database,
                                               std::string_view condition,
                                               std::initializer_list<std::string_view> parameters);
// Returns the holds of all live leases, oldest first.
base::Result<std::vector<LeaseHold>> select_holds(sqlite::Database& database);
// Returns the leases that have interfaces in the namespace NETNS since the boot BOOT_ID and are not
// being released.
base::Result<std::vector<Lease>> select_attached(sqlite::Database& database,
                                                 const netns::Identity& netns,
                                                 const std::string& boot_id);
// Returns the leases that joined LEASE's partition and GCDs and are not being released.
base::Result<std::vector<Lease>> select_joined(sqlite::Database& database, const Lease& lease);

}  // namespace hook::ledger
