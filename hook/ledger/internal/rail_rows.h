// SPDX-License-Identifier: Apache-2.0
// Interfaces of leases as rows: see the table `address`. Each function runs inside a transaction of
// its caller; NOW is unix time in milliseconds.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "hook/ledger/internal/sqlite.h"
#include "hook/ledger/lease.h"

namespace hook::ledger {

// An SQL condition: the row's address is not held, and may not be given again yet.
[[nodiscard]] std::string in_quarantine(int64_t now);

// RAIL is held by LEASE's attachment. kExists if its address, its MAC or its function is held.
base::Status insert_rail(sqlite::Database& database, const Lease& lease, const RailLease& rail);
// The interfaces of LEASE's attachment.
base::Status load_rails(sqlite::Database& database, Lease& lease);
// Their addresses are free after the quarantine, unless another live lease has the attachment.
base::Status free_rails(sqlite::Database& database, const Lease& lease, int64_t now);
// When the addresses of LEASE's attachment may be given again; 0: they are held, or there are none.
base::Result<int64_t> quarantine_end(sqlite::Database& database, const Lease& lease);
// MAC, of another host, answers for the address of RAIL. kBusy if LEASE's attachment does not hold
// it any more.
base::Status mark_duplicate(sqlite::Database& database, const Lease& lease, const RailLease& rail,
                            const netns::MacAddress& mac);

}  // namespace hook::ledger
