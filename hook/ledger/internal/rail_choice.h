// SPDX-License-Identifier: Apache-2.0
// Chooses the address, MAC, function and name of an interface. Each function runs inside its
// caller's transaction; NOW is unix time in milliseconds.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "hook/config/config.h"
#include "hook/ledger/internal/sqlite.h"
#include "hook/ledger/ledger.h"

namespace hook::ledger {

// Returns the next address of RAIL to use, and reserves nothing. Fails with kBusy if none is left;
// the error names the holders.
base::Result<netns::Address> choose_address(sqlite::Database& database,
                                            const config::RailConfig& rail, int64_t now);

// Adds an interface to LEASE's attachment for each of RAILS that LEASE lists none of. Fails with
// kBusy if a rail has no address or function left; the error names the holders.
base::Status reserve_rails(sqlite::Database& database, Lease& lease,
                           const std::vector<RailRequest>& rails, int64_t now);

base::Result<Ledger::RailUse> count_use(sqlite::Database& database, const config::RailConfig& rail,
                                        int64_t now);

}  // namespace hook::ledger
