// SPDX-License-Identifier: Apache-2.0
// Which address, MAC, function and name an interface gets, and who holds a rail that has nothing
// left. Each function runs inside a transaction of its caller; NOW is unix time in milliseconds.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "hook/config/config.h"
#include "hook/ledger/internal/sqlite.h"
#include "hook/ledger/ledger.h"

namespace hook::ledger {

// The address of RAIL that is given next. Nothing is reserved. kBusy if none is left, with who
// holds them.
base::Result<netns::Address> choose_address(sqlite::Database& database,
                                            const config::RailConfig& rail, int64_t now);

// Adds to LEASE's attachment, whose interfaces LEASE has, one for each of RAILS that it lacks.
// kBusy if a rail has no address or no function left, with who holds them.
base::Status reserve_rails(sqlite::Database& database, Lease& lease,
                           const std::vector<RailRequest>& rails, int64_t now);

base::Result<Ledger::RailUse> count_use(sqlite::Database& database, const config::RailConfig& rail,
                                        int64_t now);

}  // namespace hook::ledger
