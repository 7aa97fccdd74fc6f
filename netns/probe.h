// SPDX-License-Identifier: Apache-2.0
// Is an address in use by another host? One ARP probe (RFC 5227) or, for IPv6, one neighbour
// solicitation (RFC 4862) from the RNIC's interface. What it cannot see: other macvlans of the same
// parent in private mode, so that on one host only the ledger keeps addresses apart.
#pragma once

#include <optional>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "netns/address.h"
#include "netns/namespace.h"

namespace netns {

// The MAC of who answers for ADDRESS before DEADLINE, or asks for it to take it; absent if nobody
// does, or if PARENT has no carrier. Answers with PARENT's own MAC do not count. Closing its packet
// socket takes 16 ms in the kernel, so this is for a process that nobody waits for. kNotFound if
// there is no PARENT. Needs CAP_NET_RAW in HOST.
base::Result<std::optional<MacAddress>> probe_address(const Namespace& host,
                                                      const std::string& parent,
                                                      const Address& address,
                                                      const base::Deadline& deadline);

}  // namespace netns
