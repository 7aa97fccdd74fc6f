// SPDX-License-Identifier: Apache-2.0
// Checks whether other hosts use the addresses of a lease. A process of its own does this while the
// low-level runtime creates the container.
#pragma once

#include <string>

#include "base/result.h"

namespace hook::lifecycle::network {

// Asks on each rail of the lease, then writes the lease's kProbeFile, also when nobody answered.
// Reads the lease's record, not the ledger, which others need meanwhile. kNotFound if the lease has
// ended.
base::Status probe_lease(const std::string& run_dir, const std::string& lease_id);

}  // namespace hook::lifecycle::network
