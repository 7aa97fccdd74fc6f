// SPDX-License-Identifier: Apache-2.0
// Are the addresses of a lease in use by other hosts? Asked while the low-level runtime creates the
// container, by a process of its own.
#pragma once

#include <string>

#include "base/result.h"
#include "hook/lifecycle/env.h"

namespace hook::lifecycle::network {

// Asks on each rail of the lease and writes the lease's kProbeFile, always: also when nobody
// answered.
base::Status probe_lease(Env& env, const std::string& lease_id);

}  // namespace hook::lifecycle::network
