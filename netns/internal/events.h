// SPDX-License-Identifier: Apache-2.0
// What the kernel tells of changes in a network namespace, unasked.
#pragma once

#include <functional>

#include "base/fd.h"
#include "base/result.h"
#include "netns/internal/nl.h"
#include "netns/namespace.h"

namespace netns::internal {

// Opens a socket that is readable when something of GROUP has changed in a namespace. PROTOCOL is
// NETLINK_ROUTE with GROUP RTNLGRP_LINK, ... or NETLINK_NETFILTER with GROUP NFNLGRP_NFTABLES, ...
base::Result<base::Fd> open_events(const Namespace& in, int protocol, unsigned group);

// Reads all that has come, without waiting. kSome: more came than the kernel keeps.
enum class Lost { kNothing, kSome };
base::Result<Lost> read_events(const base::Fd& socket,
                               const std::function<void(const nlmsghdr&)>& on_event);

}  // namespace netns::internal
