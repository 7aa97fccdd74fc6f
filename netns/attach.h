// SPDX-License-Identifier: Apache-2.0
// The RoCE interfaces of a container, with exactly the routes and the filter that the plan names:
// macvlans made in place in its network namespace, or network functions (SR-IOV VFs, subfunctions)
// moved into it. Also their removal.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "netns/address.h"
#include "netns/namespace.h"
#include "netns/types.h"

namespace netns {

struct Attachment {
  uint32_t index = 0;  // index of the interface in the container's namespace
  uint32_t mtu = 0;
};

// Returns the number by which HOST knows TARGET (an nsid, see ip-netns(8)), and assigns one if
// necessary. The number lasts as long as the namespace. Record it before attach(), because detach()
// needs it.
base::Result<int32_t> ensure_id(const Namespace& host, const Namespace& target);

// Makes PLAN true in TARGET. An interface that is up with the plan's name and MAC stays, and its
// peers become the plan's. A leftover of an interrupted attach is replaced. Filter and routes are
// never wider than the plan. After a failure, nothing that this call made remains. Only one call at
// a time may run for one TARGET. Returns kExists for an interface with another MAC, kNotFound if a
// parent is absent, kBusy if something else uses a whole parent (a bridge, an ipvlan, a passthru
// macvlan), and kInvalid if TARGET is HOST.
base::Result<std::vector<Attachment>> attach(const NetworkPlan& plan, const Namespace& host,
                                             const Namespace& target);

// Removes the interface with this name and MAC from the namespace that HOST knows as NETNS_ID.
// Returns after the kernel has confirmed the removal, which takes 15 to 20 ms; the MAC and the
// address are then free. Returns kWasAbsent if the namespace, the interface or its MAC is gone. An
// interface with another MAC is not touched. Needs neither a handle on the namespace nor the
// parent. An id that the kernel has since given to another namespace does no harm: the link is
// removed by its group, made from the MAC, which the kernel compares in the same step. When the
// namespace itself is gone, its link ends some 35 ms later; attach() waits for that.
base::Result<base::Removed> detach(const Namespace& host, int32_t netns_id,
                                   const std::string& interface, const MacAddress& mac);

// Returns whether detach() would find something to remove.
base::Result<Presence> find_attached(const Namespace& host, int32_t netns_id,
                                     const std::string& interface, const MacAddress& mac);

// Returns the function of RAIL, its RDMA device first, from TARGET to HOST: down, without
// addresses, under its own name. After the namespace has ended, TARGET is null: the kernel has
// returned both, perhaps under another name, and the function that HOST has with that MAC is
// renamed. Returns kWasAbsent if the function is already in HOST.
base::Result<base::Removed> give_back(const RailPlan& rail, const Namespace& host,
                                      const Namespace* target);

// Returns all addresses of the interfaces of HOST, except IPv6 link-local ones.
base::Result<std::vector<Address>> addresses_of(const Namespace& host);

// Returns the prefixes at which HOST may hear a packet that names none of its addresses: all
// multicast, 255.255.255.255, and the broadcast and anycast addresses of its subnets.
base::Result<std::vector<Prefix>> broadcasts_of(const Namespace& host);

}  // namespace netns
