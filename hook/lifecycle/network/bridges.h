// SPDX-License-Identifier: Apache-2.0
// Macvlans in mode bridge. The kernel delivers the broadcasts of one to all others of the parent,
// past the border (netns/border.h).
#pragma once

#include "base/result.h"
#include "hook/lifecycle/env.h"

namespace hook::lifecycle::network {

// Fails with kBusy if LEASE, which has its rails, and another live lease have macvlans in mode
// bridge on one parent that CONFIG forbids to share. Of two starts at once, both may fail.
base::Status check_bridges(Env& env, const config::NetworkConfig& config,
                           const ledger::Lease& lease);

}  // namespace hook::lifecycle::network
