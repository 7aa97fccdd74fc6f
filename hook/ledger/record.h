// SPDX-License-Identifier: Apache-2.0
// A live lease as a text beside the ledger: what it takes to write its rows again when the database
// is lost.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "hook/ledger/lease.h"

namespace hook::ledger {

// All of LEASE but its obstacle, error and times of release: one JSON object on a line.
[[nodiscard]] std::string to_record(const Lease& lease);
// kInvalid if TEXT is none.
base::Result<Lease> parse_record(std::string_view text);

}  // namespace hook::ledger
