// SPDX-License-Identifier: Apache-2.0
// Landlock's rules on TCP for a confined process.
#pragma once

#include <cstdint>

#include "base/result.h"

namespace base {

// Returns the version of Landlock's interface that the kernel has; 0: none.
int landlock_version();
// The first version that knows ports.
inline constexpr int kLandlockPorts = 4;

// Lets this thread, and all threads that it starts, connect by TCP to PORT and to DNS servers
// alone. Does nothing if the kernel's Landlock knows no ports. Requires no_new_privs.
Status limit_ports(uint16_t port);

}  // namespace base
