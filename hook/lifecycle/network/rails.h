// SPDX-License-Identifier: Apache-2.0
// The rails of this host as a container that starts now finds them.
#pragma once

#include <vector>

#include "base/result.h"
#include "hook/lifecycle/env.h"

namespace hook::lifecycle::network {

struct HostRail {
  ledger::RailRequest request;
  base::Status usable;  // or why no container can use it now, and what to do
};

// Looks at each rail of NETWORK: its parent or functions, their RDMA devices, the host's addresses,
// the room in the GID table. An error if no rail is usable; one that is not does not keep
// containers from the others.
base::Result<std::vector<HostRail>> inspect_rails(Env& env, const config::NetworkConfig& network);

// The rails that reach IPUS. The error of one that is not usable; kInvalid if an IPU is on none.
base::Result<std::vector<ledger::RailRequest>> choose_rails(
    const std::vector<HostRail>& rails, const std::vector<ledger::LeasedIpu>& ipus);

}  // namespace hook::lifecycle::network
