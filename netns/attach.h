// SPDX-License-Identifier: Apache-2.0
// The RoCE interfaces of a container: macvlans made in place in its network namespace, or network
// functions (SR-IOV VFs, subfunctions) moved into it, with exactly the routes and the filter that
// the plan names; and their removal.
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
  uint32_t index = 0;  // of the interface in the container's namespace
  uint32_t mtu = 0;
};

// The number by which HOST knows TARGET (an nsid, see ip-netns(8)); assigned if it has none yet. It
// lasts as long as the namespace. Have it, and record it, before attach(): it is what detach()
// needs.
base::Result<int32_t> ensure_id(const Namespace& host, const Namespace& target);

// Makes PLAN true in TARGET: an interface that is up with the plan's name and MAC stays as it is
// and gets the plan's peers instead of those it had; one that an attach that was cut short left is
// replaced; one with another MAC is kExists. Filter and routes are never wider than the plan. On
// failure nothing that this call made remains. Not to be called by two at a time for one TARGET.
// kNotFound names a parent that is absent; kBusy a parent that something else uses whole (a bridge,
// an ipvlan, a passthru macvlan); kInvalid if TARGET is HOST.
base::Result<std::vector<Attachment>> attach(const NetworkPlan& plan, const Namespace& host,
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

// Whether detach() would find something to remove.
base::Result<Presence> find_attached(const Namespace& host, int32_t netns_id,
                                     const std::string& interface, const MacAddress& mac);

// Gives the function of RAIL back to HOST from TARGET: down, without addresses, under its own name;
// its RDMA device first. Where the namespace has ended the kernel has returned both, perhaps under
// another name: then TARGET is null, and what HOST has with that MAC is renamed. Absent if it is
// there already.
base::Result<base::Removed> give_back(const RailPlan& rail, const Namespace& host,
                                      const Namespace* target);

// All addresses of the interfaces of HOST, without IPv6 link-local ones.
base::Result<std::vector<Address>> addresses_of(const Namespace& host);

}  // namespace netns
