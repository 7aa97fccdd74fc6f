// SPDX-License-Identifier: Apache-2.0
// The border: what the macvlans of containers may send and receive, decided in the host's network
// namespace for each direction of each parent. A container's own filter (filter.h) ends where
// somebody in the container's namespace has CAP_NET_RAW or CAP_NET_ADMIN. The border does not:
// every frame of a macvlan leaves and arrives by its parent.
//
// The rules are carried out by one of two parts of the kernel, with the same effect:
// - nftables: the table `netdev ipu-border`, from Linux 5.16 on. Each change is one transaction. It
//   ends with `nft flush ruleset`.
// - tc: an eBPF program for each direction on the clsact of the parent, from Linux 4.18 on. Needs
//   CAP_SYS_ADMIN, except for border_stands(). During a change a MAC may do less than before and
//   after, never more. It knows no sockets: what the host sends from its own MAC is judged by the
//   frame alone.
//
// A frame with the MAC of a container passes only if the parts of the frame at fixed places are:
// - TCP between the container's address and an endpoint of its peers, RoCE v2 (UDP 4791) or ICMP
//   between that address and a peer, over IPv4 without options or fragments, or over IPv6 without
//   extension headers;
// - ARP or IPv6 neighbour discovery that asks for a peer, or tells of the container's own address.
// All other frames of a container are dropped and counted: VLAN tags, other protocols, broadcasts.
//
// A frame with the MAC of the parent itself passes if a socket of the host sends it, and otherwise
// if it does not claim the address of a container. Others::kDrop drops what has neither a MAC of a
// container nor of the parent; Others::kPass lets it pass, unless it claims the address of a
// container, and remembers the MAC in the set `others`.
//
// The border does not see what a function (VF, SF) sends, nor RDMA in hardware. Broadcasts and
// multicasts that arrive are not filtered. Between two macvlans in bridge mode on one parent the
// kernel delivers broadcasts directly.
//
// The border belongs to the network namespace of the host, outlives its processes, and ends at
// boot. All calls of one host must exclude each other.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "netns/address.h"
#include "netns/namespace.h"
#include "netns/types.h"

namespace netns {

// A macvlan of a container.
struct BorderMember {
  std::string lease;  // for readers: the comment of its elements
  MacAddress mac;     // of one member only
  Address address;
  std::vector<Peer> peers;
};

// Returns whether a border that PLACE allows has exactly the rules of PARENTS. A parent that HOST
// does not have is ignored.
base::Result<bool> border_stands(const Namespace& host, FilterPlace place,
                                 const std::vector<BorderParent>& parents);

// As border_stands(); where it stands, also as admit() of MEMBERS.
base::Result<bool> admit_if_stands(const Namespace& host, FilterPlace place,
                                   const std::vector<BorderParent>& parents,
                                   const std::vector<BorderMember>& members);

// Makes the border anew with these members and no others, by the first way that PLACE allows and
// the kernel has. Then removes a border that was made the other way: at no moment is there none.
// Returns the way, kNftables or kTc; kUnsupported if the kernel has none, or if PLACE is
// kNamespace.
base::Result<FilterPlace> build_border(const Namespace& host, FilterPlace place,
                                       const std::vector<BorderParent>& parents,
                                       const std::vector<BorderMember>& members);

// Lets MEMBERS pass the border that stands. What they may pass already stays. Returns kNotFound if
// there is no border.
base::Status admit(const Namespace& host, const std::vector<BorderMember>& members);

// Takes from MACS all that MEMBERS do not need. Without members nothing of MACS passes any more. An
// absent border is not an error.
base::Result<base::Removed> retain(const Namespace& host, const std::vector<MacAddress>& macs,
                                   const std::vector<BorderMember>& members);

// A MAC that passes the border, and the lease that its comment names.
struct Admitted {
  MacAddress mac;
  std::string lease;
};
base::Result<std::vector<Admitted>> admitted(const Namespace& host);

// Returns the MACs that passed under Others::kPass.
base::Result<std::vector<MacAddress>> passed_others(const Namespace& host);

// How many frames a rule of the border has dropped since the border was made.
struct Dropped {
  std::string chain;  // "from-container", ..., or "egress-" and the name of a parent
  std::string rule;   // its comment
  uint64_t frames = 0;
};

// Returns all rules that drop, also those that have dropped nothing yet; nothing without a border.
base::Result<std::vector<Dropped>> dropped_frames(const Namespace& host);

// Removes the border.
base::Result<base::Removed> remove_border(const Namespace& host);

}  // namespace netns
