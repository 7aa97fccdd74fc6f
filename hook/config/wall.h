// SPDX-License-Identifier: Apache-2.0
// The walls between tenants: V-IPU allocations. No partition spans two of them, so tenants with
// different ones never share an IPU-Machine's IPUs, one after the other or at a time.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "hook/config/config.h"

namespace hook::config {

// Where the partitions of one tenant are, in one pool.
struct Wall {
  // Whether partitions are read back and checked: some tenant has an allocation.
  bool stands = false;
  std::string allocation = {};        // of new partitions; empty: the controller chooses
  std::string tenant = {};            // whose allocation that is; empty: the pool's
  std::set<std::string> others = {};  // allocations of other tenants
};

// Returns whether one of TENANTS has an allocation.
[[nodiscard]] bool has_walls(const std::vector<TenantConfig>& tenants);

// Returns where partitions of POOL may be for a start of TENANT, empty: of none. OF_HOST are the
// tenants of the configuration, OF_FLEET those of the fleet's store; each may say it. Where none
// has an allocation, and for pools without V-IPU, nothing is checked. Fails with kInvalid, and says
// what to change, if the two differ, or if the tenant has none and could get IPUs of another one's:
// the controller chooses any allocation where none is named.
base::Result<Wall> find_wall(const PoolConfig& pool, const std::vector<TenantConfig>& of_host,
                             const std::vector<TenantConfig>& of_fleet, const std::string& tenant);
// Checks that find_wall() fails for none of the tenants, and that no warm partition of POOL can be
// in a tenant's allocation by the controller's choice.
base::Status check_pool(const PoolConfig& pool, const std::vector<TenantConfig>& of_host,
                        const std::vector<TenantConfig>& of_fleet);

// Checks a partition that was made for a start within WALL: it must be in the allocation that was
// asked for. ALLOCATION is as the controller lists it. Fails with kInternal, so that nobody takes
// the partition for one that was never made.
base::Status check_new(const Wall& wall, const std::string& partition,
                       const std::string& allocation);
// Checks a partition that was made before. Fails with kDenied.
base::Status check_made(const Wall& wall, const std::string& partition,
                        const std::string& allocation);

// Returns "tenant 'a' is kept to allocation 'x'"; empty if the tenant has none of its own.
[[nodiscard]] std::string wall_text(const Wall& wall);

}  // namespace hook::config
