// SPDX-License-Identifier: Apache-2.0
// The guard of the host (netns/guard.h), as the configuration wants it. It belongs to no lease: it
// stays when the last one ends, until the configuration says otherwise, or the next boot.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "hook/lifecycle/env.h"
#include "hook/lifecycle/network/border.h"
#include "hook/lifecycle/network/controllers.h"
#include "netns/guard.h"

namespace hook::lifecycle::network {

// Returns the guard that CONFIG wants, with all addresses in CONTROLLERS. What live leases LIVE are
// kept from counts too: it has addresses that the name of a controller had before.
[[nodiscard]] netns::Guard guard_of(const config::Config& config, const Controllers& controllers,
                                    const std::vector<ledger::Lease>& live);

// The lock of the guard (network_lock.h). No namespace has this cookie.
inline constexpr uint64_t kGuardLock = std::numeric_limits<int64_t>::max();

// Makes the guard of this process's network namespace as CONFIG says, or removes it if
// guard_forwarding is false. Does nothing where that key is not set. One process at a time reads
// the ledger and makes the guard: otherwise a slow one could replace a newer guard by an older one.
// Fails with kTimeout if another has the lock until DEADLINE. Where the file of a controller is
// damaged (remembered_controllers()), all addresses that the guard has stay in it. Returns whether
// anything was changed.
base::Result<Mended> guard_forwarding(Env& env, const config::Config& config,
                                      const base::Deadline& deadline);

}  // namespace hook::lifecycle::network
