// SPDX-License-Identifier: Apache-2.0
#include "hook/config/wall.h"

#include <algorithm>

#include "base/names.h"
#include "base/text.h"

namespace hook::config {
namespace {

using namespace base::names;

std::string tenant_text(const std::string& tenant) {
  return tenant.empty() ? "a start of no tenant" : str("tenant ", quote(tenant));
}

// Returns how an error names an allocation that the controller lists.
std::string listed_text(const std::string& allocation) {
  return allocation.empty() ? "an allocation that the controller does not tell"
                            : str("allocation ", quote(allocation));
}

// Fails if what has no allocation of its own, WHO, could get IPUs of OTHERS' in POOL.
Status check_default(const PoolConfig& pool, const std::set<std::string>& others,
                     const std::string& who) {
  if (pool.allocation.empty()) {
    return Error(Code::kInvalid,
                 str("pool ", quote(pool.name), " has no allocation, so ", who,
                     " could get IPUs of other tenants' allocations; set pool.allocation in"
                     " config.toml to an allocation that no tenant has"));
  }
  if (!others.contains(pool.allocation)) return {};
  return Error(Code::kInvalid,
               str("allocation ", quote(pool.allocation), " of pool ", quote(pool.name),
                   " is a tenant's, and ", who,
                   " would get its IPUs; set pool.allocation in config.toml to an allocation that"
                   " no tenant has"));
}

}  // namespace

bool has_walls(const std::vector<TenantConfig>& tenants) {
  return std::any_of(tenants.begin(), tenants.end(),
                     [](const TenantConfig& tenant) { return !tenant.allocation.empty(); });
}

Result<Wall> find_wall(const PoolConfig& pool, const std::vector<TenantConfig>& of_host,
                       const std::vector<TenantConfig>& of_fleet, const std::string& tenant) {
  Wall wall;
  wall.allocation = pool.allocation;
  if (pool.provider != Provider::kVipu) return wall;
  for (const std::vector<TenantConfig>* const tenants : {&of_host, &of_fleet}) {
    for (const TenantConfig& one : *tenants) {
      if (one.allocation.empty()) continue;
      wall.stands = true;
      if (one.name != tenant) {
        wall.others.insert(one.allocation);
        continue;
      }
      if (!wall.tenant.empty() && wall.allocation != one.allocation) {
        return Error(Code::kInvalid,
                     str("tenant ", quote(tenant), " has allocation ", quote(wall.allocation),
                         " in config.toml, and ", quote(one.allocation),
                         " in the fleet; make them the same, or take one away"));
      }
      wall.tenant = tenant;
      wall.allocation = one.allocation;
    }
  }
  if (!wall.stands || !wall.tenant.empty()) return wall;
  TRY(check_default(pool, wall.others, tenant_text(tenant)));
  return wall;
}

Status check_pool(const PoolConfig& pool, const std::vector<TenantConfig>& of_host,
                  const std::vector<TenantConfig>& of_fleet) {
  for (const std::vector<TenantConfig>* const tenants : {&of_host, &of_fleet})
    for (const TenantConfig& tenant : *tenants)
      TRY(find_wall(pool, of_host, of_fleet, tenant.name));
  const bool is_walled =
      pool.provider == Provider::kVipu && (has_walls(of_host) || has_walls(of_fleet));
  if (!is_walled || pool.warm.empty()) return {};
  return check_default(pool, {}, "a warm partition");
}

Status check_new(const Wall& wall, const std::string& partition, const std::string& allocation) {
  if (!wall.stands || allocation == wall.allocation) return {};
  return Error(Code::kInternal,
               str("the controller made partition ", quote(partition), " in ",
                   listed_text(allocation), " instead of ", quote(wall.allocation),
                   "; it is removed again; ask the administrator of the controller"));
}

Status check_made(const Wall& wall, const std::string& partition, const std::string& allocation) {
  if (!wall.stands) return {};
  const bool is_own = !wall.tenant.empty() && allocation == wall.allocation;
  const bool is_nobodys =
      wall.tenant.empty() && !allocation.empty() && !wall.others.contains(allocation);
  if (is_own || is_nobodys) return {};
  const std::string why =
      wall.tenant.empty() ? "which may be another tenant's" : str("but ", wall_text(wall));
  return Error(Code::kDenied,
               str("partition ", quote(partition), " is in ", listed_text(allocation), ", ", why,
                   "; name a partition of the right allocation, or ask for new IPUs"
                   " with IPU_COUNT=N"));
}

std::string wall_text(const Wall& wall) {
  if (wall.tenant.empty()) return "";
  return str("tenant ", quote(wall.tenant), " is kept to allocation ", quote(wall.allocation));
}

}  // namespace hook::config
