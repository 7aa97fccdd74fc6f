// SPDX-License-Identifier: Apache-2.0
// Network values: what a container's interfaces are to be, and what the container may reach.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "netns/address.h"

namespace netns {

// An endpoint that the container may use, by TCP to its port, RoCE v2 and ICMP.
struct Peer {
  Address address;
  uint16_t port = 0;  // 0: no TCP
  auto operator<=>(const Peer&) const = default;
};

enum class LinkKind {
  kMacvlan,   // a child of the RNIC's interface, which containers share
  kFunction,  // a VF or SF, owned by the container as long as it runs
};

enum class MacvlanMode {
  kPrivate,  // containers of one parent do not reach each other
  kBridge,   // containers reach those of their peers that share the parent
};

// One interface of the container.
struct RailPlan {
  LinkKind kind = LinkKind::kMacvlan;
  std::string parent;       // name in the host's namespace: the RNIC's interface, or the function
  std::string rdma_device;  // empty: none; moves with its function where RDMA
                            // devices belong to namespaces
  MacvlanMode mode = MacvlanMode::kPrivate;
  uint32_t mtu = 0;         // 0: the parent's
  std::string interface;    // its name in the container: "roce0"
  MacAddress mac;           // unique on the fabric; a function keeps its own
  Address address;          // assigned as /32 or /128
  std::vector<Peer> peers;  // the endpoints that this interface may reach
};

// Where the frames of containers are filtered.
enum class FilterPlace {
  kAuto,       // as kHost where the kernel can, else as kNamespace
  kHost,       // in the host's namespace as well (border.h), or the container does not start
  kNftables,   // as kHost, by nftables
  kTc,         // as kHost, by tc
  kNamespace,  // in the container's namespace alone (filter.h)
};

// What happens to frames of a parent that are neither the host's nor of a container of ours.
enum class Others { kPass, kDrop };

// A parent of macvlans, as the border filters it.
struct BorderParent {
  std::string name;
  Others others = Others::kDrop;
  auto operator<=>(const BorderParent&) const = default;
};

// Everything that the product makes in one network namespace.
struct NetworkPlan {
  std::vector<RailPlan> rails;
  // Prefixes that the container can reach by no interface: the fabric's subnets, the controller,
  // management networks. Each gets a prohibit route and a filter rule. The peers of all rails
  // override these.
  std::vector<Prefix> prohibited;
  // Prefixes that the container may answer but not contact: the host's own addresses. (Connections
  // to a published port of docker come from there.) Each gets filter rules only.
  std::vector<Prefix> guarded;
  // Prefixes that the container may not send to, because the host may hear it there: broadcast,
  // multicast and anycast addresses. What the host answers would count as a connection from there.
  // Each gets filter rules only. The group membership of IPv4 and IPv6 is not filtered.
  std::vector<Prefix> broadcasts;
};

// Tells whether an object made outside this process exists now.
enum class Presence { kThere, kGone };

}  // namespace netns
