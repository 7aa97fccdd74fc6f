// SPDX-License-Identifier: Apache-2.0
// What the tenants of a host have by its ledger, and those of its fleet by etcd: two scopes, each
// with shares of its own.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "base/result.h"
#include "cmd/ipuctl/print.h"
#include "hook/ledger/ledger.h"
#include "hook/lifecycle/env.h"
#include "hook/lifecycle/open_fleet.h"

namespace ipuctl {

struct TenantScope {
  const char* name = "host";                    // or "fleet"
  std::vector<hook::ledger::Share> shares;      // of each that has a share, has IPUs, or waits
  std::vector<hook::ledger::Holding> holdings;  // oldest first
  std::vector<hook::ledger::Waiter> waiters;
  std::map<std::string, std::string> allocations = {};  // of tenants that have one
  int64_t now_ms = base::unix_millis();

  // Returns the share of TENANT; null if there is none.
  [[nodiscard]] const hook::ledger::Share* find(const std::string& tenant) const;
};

// Returns what this host's ledger and configuration say.
base::Result<TenantScope> look_at_host(hook::lifecycle::Env& env);
// Returns what the fleet's store says of the pools that its hosts share. What cannot be read of it
// is in OBSTACLES.
base::Result<TenantScope> look_at_fleet(const hook::lifecycle::OpenFleet& fleet,
                                        std::vector<base::Error>& obstacles);

// Returns the heading of a table of tenants, and the row of SHARE. IN_FLEET: with a column SCOPE.
[[nodiscard]] std::vector<std::string> tenant_heading(bool in_fleet);
[[nodiscard]] std::vector<std::string> tenant_row(const TenantScope& scope,
                                                  const hook::ledger::Share& share, bool in_fleet);
// Returns a line for each holding and each waiter of TENANT.
[[nodiscard]] std::string holdings_text(const TenantScope& scope, const std::string& tenant);

[[nodiscard]] base::Json tenant_json(const TenantScope& scope, const hook::ledger::Share& share);
// Adds "holdings" and "waiters".
[[nodiscard]] base::Json tenant_json_in_full(const TenantScope& scope,
                                             const hook::ledger::Share& share);

}  // namespace ipuctl
