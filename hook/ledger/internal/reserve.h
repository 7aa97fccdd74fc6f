// SPDX-License-Identifier: Apache-2.0
// Space on the disk that is kept for giving back: what a container holds can be released, and that
// recorded, on a disk that is full.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "hook/ledger/internal/store.h"

namespace hook::ledger {

// A release changes some 15 pages of 4 KiB; each 250 pages of log become part of the database and
// their place is used again. What stays of one is 0.5 KiB of history.
inline constexpr int64_t kReserveBytes = int64_t{1} << 20;

// The file beside the ledger at LEDGER that is the reserve.
[[nodiscard]] std::string reserve_file(const std::string& ledger);

// Afterwards kReserveBytes of the disk are kept. kBusy, with what to do, if there is not so much.
base::Status ensure_reserve(const std::string& ledger);

// Whether there was a reserve to give up: its space is free now. Its file stays, and says that
// there was a ledger.
enum class GivenUp { kYes, kWasNot };
GivenUp give_up_reserve(const std::string& ledger);

// Whether the ledger ever had a reserve: then it was a whole one before.
[[nodiscard]] bool has_had_reserve(const std::string& ledger);

// Runs CHANGE, one transaction, of the kind that gives back. Where the disk has no room for it the
// log is shortened, then the reserve given up, and it is run again.
base::Status with_reserve(Store& store, const std::function<base::Status()>& change);

}  // namespace hook::ledger
