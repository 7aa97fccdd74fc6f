// SPDX-License-Identifier: Apache-2.0
// The IPv6 settings of an interface that has an IPv6 address. They are files only: netlink has no
// request for them.
#pragma once

#include <string>

#include "base/result.h"
#include "netns/namespace.h"

namespace netns::internal {

// Turns IPv6 on for the interface, which docker turns off in its namespaces, without any address or
// route that a router announces. kUnsupported if it cannot have IPv6.
base::Status enable_ipv6(const Namespace& in, const std::string& interface);

}  // namespace netns::internal
