// SPDX-License-Identifier: Apache-2.0
// Engines that a user other than root runs, with root's powers in a user namespace alone.
#pragma once

#include "base/result.h"

namespace hook::lifecycle::start {

// Checks that this process is root of the host. Otherwise returns kUnsupported, and says what to
// do: a container with IPUs needs the host's network, device nodes and the ledger.
base::Status check_host_root();

}  // namespace hook::lifecycle::start
