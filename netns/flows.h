// SPDX-License-Identifier: Apache-2.0
// What a host forwards now, as its connection tracking knows it.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "netns/address.h"
#include "netns/guard.h"
#include "netns/namespace.h"

namespace netns {

// Connections, or datagrams in both directions. TO is what the host forwards to, after its own
// translation of addresses (DNAT).
struct Flow {
  Address from;
  Address to;
  uint8_t protocol = 0;  // IPPROTO_TCP, ...
  uint16_t port = 0;     // of TO; 0 if the protocol has none
  auto operator<=>(const Flow&) const = default;
};

// Returns "172.17.0.2 to 10.5.1.1 tcp 50052".
std::string to_string(const Flow& flow);

// Returns the flows to PREFIXES of GUARD that HOST forwards and that GUARD would end, each once and
// at most 1000. It does not know by which interfaces they go. Needs CAP_NET_ADMIN. Returns
// kUnsupported if the kernel does not list its connections (nf_conntrack_netlink).
base::Result<std::vector<Flow>> flows_to_end(const Namespace& host, const Guard& guard);

}  // namespace netns
