// SPDX-License-Identifier: Apache-2.0
// Disk space reserved for releases: even on a full disk, what a container holds can be released and
// the release recorded.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "hook/ledger/internal/store.h"

namespace hook::ledger {

// A release changes about 15 pages of 4 KiB. Every 250 pages, the log is copied into the database
// and its space is reused. A release leaves 0.5 KiB of history for good.
inline constexpr int64_t kReserveBytes = int64_t{1} << 20;

// Returns the path of the reserve, a file beside the ledger at LEDGER.
[[nodiscard]] std::string reserve_file(const std::string& ledger);

// Ensures that kReserveBytes of the disk are reserved. Fails with kBusy, with what to do, if the
// disk has not enough space.
base::Status ensure_reserve(const std::string& ledger);

// Frees the space of the reserve; returns whether there was any. The file stays, as evidence that
// there was a ledger.
enum class GivenUp { kYes, kWasNot };
GivenUp give_up_reserve(const std::string& ledger);

// Returns whether the ledger ever had a reserve, and so was once complete.
[[nodiscard]] bool has_had_reserve(const std::string& ledger);

// Runs CHANGE, one transaction that releases something. If the disk is full, shortens the log and
// runs CHANGE again; if it is still full, gives up the reserve and runs CHANGE once more.
base::Status with_reserve(Store& store, const std::function<base::Status()>& change);

}  // namespace hook::ledger
