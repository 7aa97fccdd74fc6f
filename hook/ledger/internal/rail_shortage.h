// SPDX-License-Identifier: Apache-2.0
// What to say when a rail has nothing left: who holds it. Inside a transaction of the caller.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "hook/ledger/internal/sqlite.h"
#include "hook/ledger/ledger.h"

namespace hook::ledger {

// The SQL condition that a row of the table `address` is in a range, whose ends are the first two
// parameters of the statement.
inline constexpr std::string_view kInRange =
    "address BETWEEN ?1 AND ?2 AND length(address) = length(?1)";
sqlite::Statement& bind_range(sqlite::Statement& statement, const config::RailConfig& rail);

// The container, in 12 characters, that holds FUNCTION, or an interface with its MAC; empty: none.
base::Result<std::string> holder_of(sqlite::Database& database, const HostFunction& function);

// kBusy, or the error that kept it from being told.
base::Error no_address_left(sqlite::Database& database, const config::RailConfig& rail,
                            int64_t now);
base::Error no_function_left(sqlite::Database& database, const RailRequest& request);

}  // namespace hook::ledger
