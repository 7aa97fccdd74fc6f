// SPDX-License-Identifier: Apache-2.0
// What a controller granted, checked: its answer is input like any other.
#pragma once

#include <vector>

#include "base/result.h"
#include "hook/config/config.h"
#include "hook/ledger/ledger.h"
#include "hook/lifecycle/network/rails.h"
#include "vipu/types.h"

namespace hook::lifecycle::start {

struct Granted {
  std::vector<ledger::LeasedIpu> ipus;
  std::vector<ledger::RailRequest> rails;  // that reach them
  std::vector<netns::Prefix> prohibited;  // all that the container must never reach: the fabric but
                                          // for its own peers, the controller, management networks
};

// kDenied if GRANT is more than the policy allows for one container; errors of choose_rails();
// kInvalid or kInternal for an answer that cannot be right.
base::Result<Granted> check_grant(const config::Config& config, const config::PoolConfig& pool,
                                  const std::vector<network::HostRail>& rails,
                                  const vipu::Grant& grant, const ledger::Lease& lease);

}  // namespace hook::lifecycle::start
