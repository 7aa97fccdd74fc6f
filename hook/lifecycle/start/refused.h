// SPDX-License-Identifier: Apache-2.0
// Starts that were refused before they had a lease.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "hook/config/config.h"

namespace hook::lifecycle::start {

// A start of CONTAINER in BUNDLE, which began at this unix time.
struct Attempt {
  std::string container;
  std::string bundle;
  int64_t since_ms = 0;
  std::string tenant = {};  // of what it asks for, once that is known; else empty
};

// Records in the ledger LEDGER_FILE that ATTEMPT failed with ERROR, unless a lease of the attempt
// says so already. Does nothing if there is no ledger, or if it cannot be written: the user sees
// the error in any case.
void record_refused(const std::string& ledger_file, const Attempt& attempt,
                    const base::Error& error);

}  // namespace hook::lifecycle::start
