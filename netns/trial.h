// SPDX-License-Identifier: Apache-2.0
// Can this kernel do what attach() needs? Tried in a network namespace that is thrown away, so that
// nothing remains. For a process with one thread; needs CAP_SYS_ADMIN and CAP_NET_ADMIN.
#pragma once

#include <string>

#include "base/result.h"
#include "netns/namespace.h"

namespace netns {

// A filter as attach() installs it.
base::Status try_filter();

// A macvlan of PARENT, which stays down and so is never seen on the wire.
base::Status try_macvlan(const Namespace& host, const std::string& parent);

}  // namespace netns
