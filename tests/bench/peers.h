// SPDX-License-Identifier: Apache-2.0
// An attachment beside what others offer: `ip -batch`, and the CNI plugins macvlan and host-local.
#pragma once

#include "base/fd.h"
#include "base/result.h"
#include "netns/namespace.h"

// Prints how long each takes to make the same link, side by side, with the parent "rail0" in HOST,
// the namespace of HOME. Leaves out what is not installed, and says so.
base::Status measure_peers(const netns::Namespace& host, const base::Fd& home);
