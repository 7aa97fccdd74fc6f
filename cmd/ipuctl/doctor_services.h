// SPDX-License-Identifier: Apache-2.0
// The checks of ipuctl doctor that ask others: controllers, engines, ipu-agent, and the
// installed programs.
#pragma once

#include <vector>

#include "cmd/ipuctl/doctor/doctor.h"

namespace ipuctl {

// Returns the findings on the installed programs, the space on the ledger's disk, the controllers
// of CONFIG, the engines of this host, and ipu-agent. Asks each of the last three for at most 2 s.
// LEDGER is the result of opening it; without a ledger no controller is asked.
std::vector<doctor::Finding> examine_services(const hook::config::Config& config,
                                              base::Result<hook::ledger::Ledger>& ledger);

}  // namespace ipuctl
