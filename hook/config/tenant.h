// SPDX-License-Identifier: Apache-2.0
// [[tenant]]: who shares the IPUs of this host, and how much each may have.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace hook::config {

class Section;

// One tenant. All numbers are from its table, and count over all pools.
struct TenantConfig {
  std::string name;             // 1 to 63 of A-Z, a-z, 0-9, '.', '-' and '_'
  uint32_t guaranteed = 0;      // IPUs for which it is served before those who borrow
  uint32_t limit = UINT32_MAX;  // the most IPUs that it has at a time; at least guaranteed
  std::optional<std::chrono::milliseconds> max_wait = {};  // longest IPU_WAIT; unset: the policy's
  uint32_t max_waiters = UINT32_MAX;                       // its requests that wait at a time
  bool may_reserve = true;
  // After this time, IPUs beyond guaranteed are overdue: the tenant gets no more of them until they
  // are given back. 0: never. Nothing is taken from a container.
  std::chrono::milliseconds borrow_time{0};
  std::vector<uint32_t> users = {};  // uids whose starts are its, unless something says otherwise
  // V-IPU allocation that has all of its partitions, on pools of provider vipu; empty: see wall.h.
  std::string allocation = {};
};

// Reads all [[tenant]] of the file ROOT. Fails if two have a name or a user in common.
base::Result<std::vector<TenantConfig>> read_tenants(const Section& root);

// Returns the tenant NAME; null if there is none.
[[nodiscard]] const TenantConfig* find_tenant(const std::vector<TenantConfig>& tenants,
                                              const std::string& name);

// Returns "a, b, c".
[[nodiscard]] std::string names_of(const std::vector<TenantConfig>& tenants);

}  // namespace hook::config
