// SPDX-License-Identifier: Apache-2.0
// Trials of what attach() needs from this kernel. Each runs in a network namespace that is thrown
// away, so that nothing remains. The process must have one thread, CAP_SYS_ADMIN and CAP_NET_ADMIN.
#pragma once

#include <string>

#include "base/result.h"
#include "netns/namespace.h"
#include "netns/types.h"

namespace netns {

// Installs a filter as attach() does.
base::Status try_filter();

// Makes a border where PLACE says. Returns the way, as build_border() does.
base::Result<FilterPlace> try_border(FilterPlace place);

// Makes a macvlan of PARENT. It stays down, and so is never seen on the wire.
base::Status try_macvlan(const Namespace& host, const std::string& parent);

}  // namespace netns
