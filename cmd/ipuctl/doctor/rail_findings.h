// SPDX-License-Identifier: Apache-2.0
// The checks of one rail.
#pragma once

#include <string>
#include <vector>

#include "cmd/ipuctl/doctor/doctor.h"

namespace ipuctl::doctor {

// Returns the finding for a message of the form "WHAT IS WRONG; WHAT TO DO".
Finding finding_of(std::string check, Verdict verdict, const std::string& message);

void examine_rail(const hook::config::NetworkConfig& network, const hook::config::RailConfig& rail,
                  const HostState& host, const RailState& state, std::vector<Finding>& findings);

}  // namespace ipuctl::doctor
