// SPDX-License-Identifier: Apache-2.0
// Values of the network: what an interface of a container is to be, and what may be reached by it.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "netns/address.h"

namespace netns {

// An endpoint that the container may use: TCP to its port, RoCE v2, ICMP.
struct Peer {
  Address address;
  uint16_t port = 0;  // 0: no TCP
  auto operator<=>(const Peer&) const = default;
};

enum class LinkKind {
  kMacvlan,   // a child of the RNIC's interface, which others share
  kFunction,  // a VF or SF, which belongs to the container as long as it runs
};

enum class MacvlanMode {
  kPrivate,  // containers of one parent do not reach each other
  kBridge,   // they do, where they are each other's peers
};

// One interface of the container.
struct RailPlan {
  LinkKind kind = LinkKind::kMacvlan;
  std::string parent;       // in the host's namespace: the RNIC's interface, or the function itself
  std::string rdma_device;  // of a function, moved with it where RDMA devices belong to namespaces;
                            // empty: none
  MacvlanMode mode = MacvlanMode::kPrivate;
  uint32_t mtu = 0;         // 0: the parent's
  std::string interface;    // its name in the container: "roce0"
  MacAddress mac;           // unique on the fabric; of a function the one that it has
  Address address;          // assigned as /32 or /128
  std::vector<Peer> peers;  // reached by this interface
};

// All that the product makes in one network namespace.
struct NetworkPlan {
  std::vector<RailPlan> rails;
  // Never reachable from the container, by whatever interface: the fabric's subnets, the
  // controller, management networks. A prohibit route each, and a filter rule. The peers of all
  // rails win over these.
  std::vector<Prefix> prohibited;
  // Not to be contacted by the container, which may still answer them: the host's own addresses.
  // (A published port of docker is a connection from there.) Filter rules only.
  std::vector<Prefix> guarded;
};

// Whether something that was made outside this process is there now.
enum class Presence { kThere, kGone };

}  // namespace netns
