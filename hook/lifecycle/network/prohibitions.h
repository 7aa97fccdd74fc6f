// SPDX-License-Identifier: Apache-2.0
// Keeps running containers from controllers that were not known when they started: a name has
// another address, or the configuration another pool. The border and the guard are the host's; this
// is for the routes and the filter in the container's own namespace.
#pragma once

#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "hook/lifecycle/env.h"
#include "hook/lifecycle/network/controllers.h"

namespace hook::lifecycle::network {

// Returns whether a container that runs is not kept from one of CONTROLLERS yet.
base::Result<bool> lags_behind(Env& env, const Controllers& controllers);

// Keeps all containers that run from the controllers of CONFIG that are known, in their namespaces
// and in the ledger. An address that a container was kept from before stays so; an endpoint of its
// own partition stays reachable. Returns an error for each container that could not be changed, and
// for each damaged file.
std::vector<base::Error> follow_controllers(Env& env, const config::Config& config,
                                            const base::Deadline& deadline);

}  // namespace hook::lifecycle::network
