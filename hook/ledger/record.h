// SPDX-License-Identifier: Apache-2.0
// A live lease as text beside the ledger: what restores its rows if the database is lost.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "hook/ledger/lease.h"

namespace hook::ledger {

// Returns LEASE as one JSON object on a line, without its obstacle, error and times of release.
[[nodiscard]] std::string to_record(const Lease& lease);
// Parses a record. Fails with kInvalid if TEXT is none.
base::Result<Lease> parse_record(std::string_view text);

}  // namespace hook::ledger
