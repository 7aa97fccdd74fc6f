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

namespace nl {
class Socket;
}

// Installs the tables `inet ipu` and `arp ipu` of PLAN in TARGET, in place of tables of the same
// names. One transaction replaces them, so that no packet passes in between. The tables live as
// long as TARGET, whichever process ends. They have these effects:
// - An interface of the plan reaches only its rail's peers (TCP to their ports, RoCE v2, ICMP, and
//   IPv6 neighbour discovery), with its rail's address as the source. It receives only from these
//   peers, apart from IPv6 neighbour discovery, and forwards nothing.
// - An interface of the plan asks only for the MACs of its peers, which RDMA needs. It announces
//   only its rail's own address, and answers only for that.
// - Other interfaces reach no prohibited prefix and no broadcast. They may answer a guarded prefix,
//   but not contact it first. Their IPv6 neighbour discovery is not filtered.
// The sender of a refused packet gets ICMP "administratively prohibited", or for TCP a reset. The
// filter drops without an answer what arrives or is forwarded, ARP, and IPv6 routing headers. It
// does not touch loopback. Packet sockets (CAP_NET_RAW) and RDMA's own packets bypass it, and
// CAP_NET_ADMIN in TARGET can remove it. kUnsupported names missing kernel modules.
base::Status install_filter(const NetworkPlan& plan, const Namespace& target);
base::Status install_filter(const NetworkPlan& plan, nl::Socket& target);  // of NETLINK_NETFILTER

// Returns ERROR of a socket or request for a filter; kUnsupported, with what to do, where the
// kernel lacks something.
base::Error explain_filter(const base::Error& error);

// Removes both tables. Absent tables are not an error.
base::Result<base::Removed> remove_filter(const Namespace& target);

}  // namespace netns
