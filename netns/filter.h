// SPDX-License-Identifier: Apache-2.0
// The packet filter of a container's RoCE interfaces: two nftables tables in the container's
// namespace. Routes alone do not hold a process back: since Linux 5.7 it may bind a socket to a
// device without any privilege (SO_BINDTODEVICE), and every address is then on-link for it.
#pragma once

#include <string>

#include "base/result.h"
#include "netns/namespace.h"
#include "netns/types.h"

namespace netns {

// Makes the tables `inet ipu` and `arp ipu` in TARGET what PLAN says, replacing those of that name;
// in one transaction, so that no packet passes between. They live as long as TARGET, whoever ends.
// From then on
// - by an interface of the plan only that rail's peers are reached (TCP to their ports, RoCE v2,
//   ICMP, and IPv6 neighbour discovery), with that rail's address as the source; only they are
//   heard, and nothing is forwarded;
// - by an interface of the plan only its peers are asked for their MAC, which is what RDMA needs of
//   them, and only the rail's own address is announced or answered for;
// - by no interface is a prohibited prefix reached, nor a guarded one unless it asked first.
// A refused packet is answered with ICMP "administratively prohibited", a TCP one with a reset.
// Loopback is not touched. Packet sockets (CAP_NET_RAW) and RDMA's own packets do not pass here;
// CAP_NET_ADMIN in TARGET can remove the tables. kUnsupported names the kernel modules that are
// missing.
base::Status install_filter(const NetworkPlan& plan, const Namespace& target);

// Both tables. Absent is fine.
base::Result<base::Removed> remove_filter(const Namespace& target);

}  // namespace netns
