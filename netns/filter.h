// SPDX-License-Identifier: Apache-2.0
// The packet filter of a container's RoCE interfaces: two nftables tables in the container's
// namespace. Routes alone do not confine a process: since Linux 5.7 it may bind a socket to a
// device without privilege (SO_BINDTODEVICE), and every address is then on-link for that socket.
#pragma once

#include <string>

#include "base/result.h"
#include "netns/namespace.h"
#include "netns/types.h"

namespace netns {

// Installs the tables `inet ipu` and `arp ipu` of PLAN in TARGET, in place of tables of the same
// names. One transaction replaces them, so that no packet passes in between. The tables live as
// long as TARGET, whichever process ends. They have these effects:
// - An interface of the plan reaches only its rail's peers (TCP to their ports, RoCE v2, ICMP, and
//   IPv6 neighbour discovery), with its rail's address as the source. It receives only from these
//   peers, and forwards nothing.
// - An interface of the plan asks only its peers for their MAC, which RDMA needs, and announces or
//   answers for only its rail's own address.
// - No interface reaches a prohibited prefix. A guarded prefix is reached only if it contacted the
//   container first.
// A refused packet is answered with ICMP "administratively prohibited", a TCP packet with a reset.
// Loopback is not touched. Packet sockets (CAP_NET_RAW) and RDMA's own packets bypass the filter;
// CAP_NET_ADMIN in TARGET can remove it. kUnsupported names missing kernel modules.
base::Status install_filter(const NetworkPlan& plan, const Namespace& target);

// Removes both tables. Absent tables are not an error.
base::Result<base::Removed> remove_filter(const Namespace& target);

}  // namespace netns
