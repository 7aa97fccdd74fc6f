// SPDX-License-Identifier: Apache-2.0
// The RoCE interface of a container: a macvlan made in place in its network namespace, with exactly
// the routes and the filter that its plan names, and its removal.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "netns/address.h"
#include "netns/namespace.h"

namespace netns {

// A TCP endpoint that the container may use.
struct Peer {
  Ipv4 address;
  uint16_t port = 0;
  auto operator<=>(const Peer&) const = default;
};

struct AttachPlan {
  std::string parent;     // the RNIC's interface in the host's namespace
  std::string interface;  // its name in the container: "roce0"
  MacAddress mac;         // locally administered, unique on the fabric
  Ipv4 address;           // assigned as /32
  std::vector<Peer> peers;
  // Never reachable from the container, by whatever interface: the fabric's subnets, the
  // controller. A prohibit route each, and a filter rule. Peers win over these.
  std::vector<Ipv4Prefix> prohibited;
  // Not to be contacted by the container, which may still answer them: the host's own addresses.
  // (A published port of docker is a connection from there.) Filter rules only.
  std::vector<Ipv4Prefix> guarded;
};

struct Attachment {
  uint32_t index = 0;  // of the interface in the container's namespace
  uint32_t mtu = 0;    // the parent's
  Identity identity;   // of the container's namespace
};

// The number by which HOST knows TARGET (an nsid, see ip-netns(8)); assigned if it has none yet. It
// lasts as long as the namespace. Have it, and record it, before attach(): it is what detach()
// needs.
base::Result<int32_t> ensure_id(const Namespace& host, const Namespace& target);

// Makes PLAN true in TARGET and leaves the interface up. On failure nothing of it remains in
// TARGET. An interface with the plan's name and MAC that is there already is replaced; one with
// another MAC is kExists. kNotFound names a parent that is absent; kInvalid if TARGET is HOST.
base::Result<Attachment> attach(const AttachPlan& plan, const Namespace& host,
                                const Namespace& target);

// Removes the interface that has this name and MAC from the namespace that HOST knows as NETNS_ID,
// and returns when the kernel has confirmed it: from then on the MAC and the address are free.
// Absent when the namespace, the interface, or one with that MAC is gone; an interface with another
// MAC is not touched. Takes 15 to 20 ms in the kernel. Needs neither a handle on the namespace nor
// the parent. An id that the kernel gave to another namespace meanwhile does no harm: the link is
// removed by its group, which is made from the MAC, and the kernel compares and removes in one
// step. When the namespace itself is gone, its link ends some 35 ms later; attach() waits for that.
base::Result<base::Removed> detach(const Namespace& host, int32_t netns_id,
                                   const std::string& interface, const MacAddress& mac);

// All IPv4 addresses of the interfaces of HOST.
base::Result<std::vector<Ipv4>> addresses_of(const Namespace& host);

// Whether HOST has an interface of this name, and its MTU; kNotFound otherwise.
base::Result<uint32_t> mtu_of(const Namespace& host, const std::string& interface);

}  // namespace netns
