// SPDX-License-Identifier: Apache-2.0
// The interfaces of leases as rows of the table `address`. Each function runs inside its caller's
// transaction; NOW is unix time in milliseconds.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "hook/ledger/internal/sqlite.h"
#include "hook/ledger/lease.h"

namespace hook::ledger {

// Returns an SQL condition: the row's address is not held, but must not be reused yet.
[[nodiscard]] std::string in_quarantine(int64_t now);

// Stores RAIL as held by LEASE's attachment. Fails with kExists if its address, its MAC or its
// function is held.
base::Status insert_rail(sqlite::Database& database, const Lease& lease, const RailLease& rail);
// Reads the interfaces of LEASE's attachment into LEASE.
base::Status load_rails(sqlite::Database& database, Lease& lease);
// Starts the quarantine of these interfaces' addresses, unless another live lease has the
// attachment. Returns when all of them may be reused; 0 if they are still held or there are none.
base::Result<int64_t> free_rails(sqlite::Database& database, const Lease& lease, int64_t now);
// Records that MAC, of another host, answers for the address of RAIL. Fails with kBusy if LEASE's
// attachment no longer holds that address.
base::Status mark_duplicate(sqlite::Database& database, const Lease& lease, const RailLease& rail,
                            const netns::MacAddress& mac);

}  // namespace hook::ledger
