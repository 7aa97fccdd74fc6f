// SPDX-License-Identifier: Apache-2.0
// Detection of an address that another host uses: three ARP probes (RFC 5227) or, for IPv6, three
// neighbour solicitations (RFC 4862) from the RNIC's interface. The probe cannot see other macvlans
// of the same parent in private mode: on one host, only the ledger keeps addresses apart.
#pragma once

#include <optional>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "netns/address.h"
#include "netns/namespace.h"

namespace netns {

// Returns the MAC of a host that answers for ADDRESS, or probes for it to claim it, before
// DEADLINE. Returns nothing if no host does, or if PARENT has no carrier. Answers with PARENT's own
// MAC do not count. Closing the packet socket takes 16 ms in the kernel, so run this in a process
// that nobody waits for. Returns kNotFound if PARENT is absent. Needs CAP_NET_RAW in HOST.
base::Result<std::optional<MacAddress>> probe_address(const Namespace& host,
                                                      const std::string& parent,
                                                      const Address& address,
                                                      const base::Deadline& deadline);

}  // namespace netns
