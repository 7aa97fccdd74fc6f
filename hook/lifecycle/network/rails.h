// SPDX-License-Identifier: Apache-2.0
// The rails of this host as a container that starts now finds them.
#pragma once

#include <vector>

#include "base/result.h"
#include "hook/lifecycle/env.h"

namespace hook::lifecycle::network {

struct HostRail {
  ledger::RailRequest request;
  base::Status usable;  // success, or why no container can use it now and what to do
};

// Examines each rail of NETWORK: its parent or functions, their RDMA devices, the addresses
// OF_HOST, and the room in the GID table. Fails if no rail is usable; an unusable rail does not
// keep containers from the others.
base::Result<std::vector<HostRail>> inspect_rails(Env& env, const config::NetworkConfig& network,
                                                  const std::vector<netns::Address>& of_host);

// Returns the rails that reach IPUS, with the addresses that these give where the scheme is "ipu".
// Fails with the error of a rail that is not usable, with kInvalid if an IPU is on no rail, or as
// config::address_by_ipu() does.
base::Result<std::vector<ledger::RailRequest>> choose_rails(
    const std::vector<HostRail>& rails, const std::vector<ledger::LeasedIpu>& ipus);

}  // namespace hook::lifecycle::network
