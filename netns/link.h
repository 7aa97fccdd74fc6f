// SPDX-License-Identifier: Apache-2.0
// What an interface of the host is, as far as it matters to a rail on it. Reads, changes nothing.
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
  std::string name;  // which an alternative name was resolved to
  std::string kind;  // as `ip -d link` shows it: "bond", "macvlan", "veth"; empty for hardware
  MacAddress mac;
  uint32_t mtu = 0;
  uint32_t max_mtu = 0;  // that it could have; 0: not known
  bool is_ethernet = false;
  bool is_loopback = false;
  bool is_wireless = false;
  bool is_up = false;        // set up by the administrator
  bool has_carrier = false;  // and the other end is there
  std::string master;        // of what it is a part: a bridge, a bond; empty: of nothing
  std::string master_kind;   // "bridge", "bond", ...
  // What keeps a macvlan from being made on it: "an ipvlan", "a macvlan in mode passthru"; empty:
  // nothing.
  std::string taken_by;
};

enum class Taker { kLookFor, kSkip };

// By name or alternative name; kNotFound, with what to do, if there is none. Wireless is told by
// sysfs, which shows the namespace that SYSFS ("/sys") was mounted in. Who has taken it is looked
// for in all namespaces that HOST knows, which may be a thousand; making a macvlan tells it too.
base::Result<LinkFacts> inspect_link(const Namespace& host, const std::string& name,
                                     const std::string& sysfs, Taker taker);

// Why no macvlan of MTU (0: the parent's) can be made on it, or why nobody could be reached by it:
// one sentence with what to do; empty if nothing is in the way. A carrier that is missing is not:
// it may come back, and the containers' interfaces come back with it.
std::string why_no_rail(const LinkFacts& link, uint32_t mtu);
// The same for a VF or SF that is to be moved into a container.
std::string why_no_function(const LinkFacts& link, uint32_t mtu);

}  // namespace netns
