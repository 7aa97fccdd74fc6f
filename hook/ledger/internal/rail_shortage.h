// SPDX-License-Identifier: Apache-2.0
// Explains who holds a rail that has nothing left. Each function runs inside its caller's
// transaction.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "hook/config/scheme.h"
#include "hook/ledger/internal/sqlite.h"
#include "hook/ledger/ledger.h"

namespace hook::ledger {

// An SQL condition: a row of the table `address` is in a range, whose ends are the first two
// parameters of the statement.
inline constexpr std::string_view kInRange =
    "address BETWEEN ?1 AND ?2 AND length(address) = length(?1)";
sqlite::Statement& bind_range(sqlite::Statement& statement, const config::AddressSpan& range);
sqlite::Statement& bind_range(sqlite::Statement& statement, const config::RailConfig& rail);

// Returns the container, in 12 characters, that holds FUNCTION or an interface with its MAC; empty
// if none does.
base::Result<std::string> holder_of(sqlite::Database& database, const HostFunction& function);

// Return kBusy with the holders, or the error that prevented finding them.
base::Error no_address_left(sqlite::Database& database, const config::RailConfig& rail,
                            int64_t now);
// Returns why LEASE cannot have the address that its IPUs give for REQUEST, or nothing if it can.
// kExists: another lease of this host holds it; kBusy: one of the fleet does; kDenied: another host
// answers for it.
base::Result<std::optional<base::Error>> why_not_given(sqlite::Database& database,
                                                       const Lease& lease,
                                                       const RailRequest& request, int64_t now);
base::Error no_function_left(sqlite::Database& database, const RailRequest& request);

}  // namespace hook::ledger
