// SPDX-License-Identifier: Apache-2.0
// The [network] table of the configuration, and its [[network.rail]] tables.
#pragma once

#include "base/result.h"
#include "hook/config/config.h"
#include "hook/config/section.h"

namespace hook::config {

// Reads all of [network]. No two rails overlap or share an interface.
base::Result<NetworkConfig> read_network(const Section& section);

base::Result<RailConfig> read_rail(const Section& section);

}  // namespace hook::config
