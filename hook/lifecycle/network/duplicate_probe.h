// SPDX-License-Identifier: Apache-2.0
// Checks whether other hosts use the addresses of a lease. A process of its own does this while the
// low-level runtime creates the container.
#pragma once

#include <string>

#include "base/result.h"
#include "hook/lifecycle/env.h"

namespace hook::lifecycle::network {

// Asks on each rail of the lease, then writes the lease's kProbeFile, also when nobody answered.
base::Status probe_lease(Env& env, const std::string& lease_id);

}  // namespace hook::lifecycle::network
