// SPDX-License-Identifier: Apache-2.0
// Facts about a host interface that matter to a rail on it. These functions change nothing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "netns/address.h"
#include "netns/namespace.h"

namespace netns {

struct LinkFacts {
  uint32_t index = 0;
  std::string name;  // the real name, even if found by an alternative one
  std::string kind;  // as `ip -d link` shows it: "bond", "macvlan", "veth"; empty for hardware
  MacAddress mac;
  uint32_t mtu = 0;
  uint32_t max_mtu = 0;  // largest possible MTU; 0: unknown
  bool is_ethernet = false;
  bool is_loopback = false;
  bool is_wireless = false;
  bool is_up = false;        // set up by the administrator
  bool has_carrier = false;  // up, and the other end is there
  std::string master;        // bridge or bond that the link is part of; empty: none
  std::string master_kind;   // "bridge", "bond", ...
  // The interfaces of the host's namespace that carry the frames of a VLAN, macvlan, macvtap or
  // macsec, nearest first.
  std::vector<std::string> below;
  // What prevents a macvlan on the link: "an ipvlan", "a macvlan in mode passthru"; empty: nothing.
  std::string taken_by;
};

enum class Taker { kLookFor, kSkip };

// Inspects the link with this name or alternative name. Returns kNotFound, with what to do, if
// there is none. SYSFS ("/sys") tells whether the link is wireless; it shows the namespace in which
// it was mounted. The taker is looked for in all namespaces that HOST knows, perhaps a thousand;
// making a macvlan reports it too.
base::Result<LinkFacts> inspect_link(const Namespace& host, const std::string& name,
                                     const std::string& sysfs, Taker taker);

// Returns one sentence, with what to do, if no macvlan of MTU (0: the parent's) can be made on LINK
// or nobody could be reached through it; empty if nothing is in the way. A missing carrier is not
// in the way: it may come back, and the containers' interfaces come back with it.
std::string why_no_rail(const LinkFacts& link, uint32_t mtu);
// Returns one sentence, with what to do, if LINK and OTHER cannot both be parents of rails that
// have a border (border.h), because OTHER carries the frames of LINK; empty if they can.
std::string why_not_above(const LinkFacts& link, const LinkFacts& other);
// Returns the same as why_no_rail() for a VF or SF that is to be moved into a container.
std::string why_no_function(const LinkFacts& link, uint32_t mtu);

}  // namespace netns
