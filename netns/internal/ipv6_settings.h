// SPDX-License-Identifier: Apache-2.0
// The IPv6 settings of an interface with an IPv6 address. They exist only as files: netlink has no
// request for them.
#pragma once

#include <string>

#include "base/result.h"
#include "netns/namespace.h"

namespace netns::internal {

// Turns on IPv6, which docker turns off in its namespaces, for the interface. The interface gets no
// address and no route that a router announces. Returns kUnsupported if it cannot have IPv6.
base::Status enable_ipv6(const Namespace& in, const std::string& interface);

}  // namespace netns::internal
