// SPDX-License-Identifier: Apache-2.0
// Checks whether other hosts use the addresses of a lease. A process of its own does this while the
// low-level runtime creates the container.
#pragma once

#include <chrono>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "hook/lifecycle/env.h"

namespace hook::lifecycle::network {

// Asks on each rail of the lease, then writes the lease's kProbeFile, also when nobody answered.
// Reads the lease's record, not the ledger, which others need meanwhile. kNotFound if the lease has
// ended.
base::Status probe_lease(const std::string& run_dir, const std::string& lease_id);

// Waits for the answer of the probe of LEASE, in which each rail takes PROBE; 0: there is none. One
// that does not come in time, or by DEADLINE, counts as a silent fabric. Returns kExists if another
// host answers for an address: the ledger has noted that, and what to do is in the error.
base::Status await_probe(Env& env, const ledger::Lease& lease, std::chrono::milliseconds probe,
                         const base::Deadline& deadline);

}  // namespace hook::lifecycle::network
