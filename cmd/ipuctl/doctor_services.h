// SPDX-License-Identifier: Apache-2.0
// The checks of ipuctl doctor that ask others: controllers, engines, ipu-agent, and the
// installed programs.
#pragma once

#include <optional>
#include <vector>

#include "cmd/ipuctl/doctor/doctor.h"
#include "hook/lifecycle/env.h"

namespace ipuctl {

// What to do if an installed program is absent or cannot be started.
inline constexpr const char* kInstallAgain =
    "install the toolkit again: 'make install' with the same PREFIX, or the package";
// The same of a program that RPM packages have apart.
inline constexpr const char* kInstallShared =
    "run 'make install' again with the same PREFIX, or install the package again; among the RPM"
    " packages, ipu-container-toolkit-tls has this program";

// Returns the findings on the installed programs, the space on the ledger's disk, the controllers
// of CONFIG, the engines of this host, and ipu-agent. Asks each of the last three for at most 2 s.
// LEDGER is the result of opening it; without a ledger no controller is asked.
std::vector<doctor::Finding> examine_services(const hook::config::Config& config,
                                              base::Result<hook::ledger::Ledger>& ledger);

// Returns whether the guaranteed shares of the tenants of CONFIG fit its pools, as far as their
// sizes are known, what tenants have borrowed for too long, and what is wrong with the walls
// between them, those of the fleet too. Nothing if CONFIG has no tenants, and no walls stand.
std::optional<doctor::Finding> examine_tenants(hook::lifecycle::Env& env,
                                               const hook::config::Config& config);

// Returns whether this host reaches its fleet and is alive there, and what a fence took from it.
// Asks etcd for 4 s at most. Nothing without [fleet], or for others than root.
std::optional<doctor::Finding> examine_fleet(const hook::config::Config& config,
                                             hook::ledger::Ledger& ledger);

// Runs the monitor of CONFIG and returns whether it says how busy the IPUs of containers are.
// Nothing without [monitor], or for others than root.
std::optional<doctor::Finding> examine_monitor(hook::lifecycle::Env& env,
                                               const hook::config::Config& config);

}  // namespace ipuctl
