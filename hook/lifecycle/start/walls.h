// SPDX-License-Identifier: Apache-2.0
// How a start stays within the wall of its tenant (config/wall.h): what V-IPU gave is read back.
#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "hook/config/wall.h"
#include "hook/ledger/lease.h"
#include "vipu/controller.h"

namespace hook::lifecycle::start {

// Checks that CONTROLLER has put the new partition ID where WALL says. Fails with kInternal if it
// has not, and as list() if it does not tell. Asks nothing where no wall stands.
base::Status check_new_partition(vipu::Controller& controller, const config::Wall& wall,
                                 const std::string& id, const base::Deadline& deadline);

// Who asks, and whose allocations others must not use.
struct Claimant {
  const std::vector<config::TenantConfig>& of_host;  // tenants of the configuration
  const std::vector<config::TenantConfig>& of_fleet;
  const std::string& tenant;  // empty: none
};
// Checks that CLAIMANT's tenant may have partition ID of POOL, which was made before. Fails with
// kDenied if not, with kInvalid as find_wall(), and as list().
base::Status check_named_partition(vipu::Controller& controller, const config::PoolConfig& pool,
                                   const Claimant& claimant, const std::string& id,
                                   const base::Deadline& deadline);

// Returns ERROR, with which a controller refused a partition within WALL. If the allocation may be
// why, it says whose that is and what to do.
[[nodiscard]] base::Error refused_within(const config::Wall& wall, const base::Error& error);

}  // namespace hook::lifecycle::start
