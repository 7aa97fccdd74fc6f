// SPDX-License-Identifier: Apache-2.0
// Checks what a controller granted: its answer is input like any other.
#pragma once

#include <vector>

#include "base/result.h"
#include "hook/config/config.h"
#include "hook/ledger/ledger.h"
#include "hook/lifecycle/network/controllers.h"
#include "hook/lifecycle/start/inspect_host.h"
#include "vipu/types.h"

namespace hook::lifecycle::start {

struct Granted {
  std::vector<ledger::LeasedIpu> ipus;
  std::vector<ledger::RailRequest> rails;  // the rails that reach them
  // What the container must never reach: the fabric except its own peers, the controllers, and
  // management networks.
  std::vector<netns::Prefix> prohibited;
};

// Checks IPUS of GRANT, of a provider with a network: fails with kDenied if an endpoint is not one
// of an IPU-Machine. That is an address that containers get or that is in OF_HOST, one outside of
// the rail's 'machines', a network or broadcast address, one in KNOWN or of the controller that
// granted it, or a management port.
base::Status check_endpoints(const config::Config& config, const network::Controllers& known,
                             const std::vector<netns::Address>& of_host, const vipu::Grant& grant,
                             const std::vector<ledger::LeasedIpu>& ipus);

// Returns GRANT, checked. KNOWN are the controllers that containers are kept from, beside the one
// that granted it. Fails with kDenied if it is more than the policy allows for one
// container, and as check_endpoints() does. Fails with kInvalid or kInternal if the answer cannot
// be right, and as choose_rails() does.
base::Result<Granted> check_grant(const config::Config& config, const config::PoolConfig& pool,
                                  const network::Controllers& known, const HostLook& host,
                                  const vipu::Grant& grant, const ledger::Lease& lease);

}  // namespace hook::lifecycle::start
