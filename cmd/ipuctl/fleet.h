// SPDX-License-Identifier: Apache-2.0
// The fleet of this host's configuration, for commands.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "cmd/ipuctl/command.h"
#include "hook/config/fleet.h"
#include "hook/fleet/hosts.h"
#include "hook/fleet/store.h"
#include "hook/ledger/ledger.h"

namespace ipuctl {

// Returns the store of FLEET, which the installed ipu-fleet-client asks.
[[nodiscard]] std::unique_ptr<hook::fleet::Store> open_store(
    const hook::config::FleetConfig& fleet);

// Returns whether this host is in a fleet, or may be: its [fleet] cannot be read.
[[nodiscard]] bool may_be_in_fleet();

// Returns "LIVE", "SUSPECT", "FENCED", or "FENCED, LIVE" of a host that has come back. FENCES are
// those that this host recorded.
[[nodiscard]] const char* state_of(const hook::fleet::HostState& host,
                                   const std::vector<hook::ledger::Fence>& fences);

// Returns the fleet of the configuration. Fails with kInvalid if this host is in none.
base::Result<hook::config::FleetConfig> load_fleet();
// Returns what identifies the host of LEDGER, as its ledger keeps it.
base::Result<hook::fleet::HostFacts> this_host_of(hook::ledger::Ledger& ledger);

// Returns a line for each suspect host of FLEET whose witness does not answer, as LEDGER has it:
// since when, and why.
[[nodiscard]] std::vector<std::string> witness_troubles(hook::ledger::Ledger& ledger,
                                                        const hook::config::FleetConfig& fleet);

// Parts of the group `fleet`.
void add_fleet_beat(CLI::App& group, Command& chosen);
void add_fleet_fence_due(CLI::App& group, Command& chosen);
void add_fleet_leave(CLI::App& group, Command& chosen);
void add_fleet_copies(CLI::App& group, Command& chosen);

// Adds where the store, its HOSTS, the controllers and this host, ME, differ.
void add_differences(hook::ledger::Ledger& ledger, const hook::fleet::HostFacts& me,
                     const std::vector<hook::fleet::HostState>& hosts,
                     std::vector<base::Error>& obstacles);

}  // namespace ipuctl
