// SPDX-License-Identifier: Apache-2.0
// CAP_NET_ADMIN in a network namespace: who has it removes routes and filters there.
#pragma once

#include <sys/types.h>

#include <optional>

#include "base/result.h"
#include "netns/namespace.h"

namespace hook::lifecycle::network {

// Returns a process with a thread in NETWORK that has, or can get by executing a program,
// CAP_NET_ADMIN over it: in the user namespace that owns NETWORK or in one above, or because its
// user made the user namespace below its own (user_namespaces(7)). EXCEPT does not count. Returns
// nothing if no process is seen to have it.
base::Result<std::optional<pid_t>> find_net_admin(const netns::Namespace& network, pid_t except);

}  // namespace hook::lifecycle::network
