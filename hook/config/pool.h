// SPDX-License-Identifier: Apache-2.0
// The [pool] tables of the configuration, and their replacement.
#pragma once

#include "base/result.h"
#include "hook/config/config.h"
#include "hook/config/section.h"

namespace hook::config {

base::Result<PoolConfig> read_pool(const Section& section, const HostFacts& host);

base::Result<ControllerSecurity> read_security(const Section& section);

// Returns the pool of an unconfigured host. kNotFound says what was looked for.
base::Result<PoolConfig> detect_pool(const HostFacts& host);

}  // namespace hook::config
