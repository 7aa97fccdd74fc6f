// SPDX-License-Identifier: Apache-2.0
#include "netns/link.h"

#include <linux/netlink.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "base/names.h"
#include "base/text.h"
#include "netns/internal/link_facts.h"
#include "netns/internal/nl.h"

namespace netns {

using namespace base::names;
using internal::LinkAnswer;

namespace {

// Checks the kernel's old and new wireless interface.
bool is_wireless(const std::string& sysfs, const std::string& name) {
  const std::string directory = str(sysfs, "/class/net/", name);
  std::error_code err;
  return std::filesystem::exists(str(directory, "/phy80211"), err) ||
         std::filesystem::exists(str(directory, "/wireless"), err);
}

// Returns why LINK cannot be used, either shared or as a whole.
std::string why_unusable(const LinkFacts& link) {
  const std::string name = quote(link.name);
  if (link.is_loopback) {
    return str(
        name, " is the loopback interface, which reaches no other host; name the RNIC's interface");
  }
  if (link.is_wireless) {
    return str(name,
               " is a wireless interface, which cannot carry RoCE; name the RNIC's interface");
  }
  if (!link.is_ethernet) {
    return str(name,
               " is not an Ethernet interface; name the RNIC's interface, and set its port to"
               " Ethernet");
  }
  // A VRF only routes for its members; every other master takes what they receive.
  if (!link.master.empty() && link.master_kind != "bond" && link.master_kind != "vrf") {
    const bool is_ovs = link.master_kind == "openvswitch";
    return str(name, " is a port of the ", link.master_kind, " ", quote(link.master),
               "; take it out: ",
               is_ovs ? str("ovs-vsctl del-port ", link.name)
                      : str("ip link set ", link.name, " nomaster"));
  }
  if (!link.taken_by.empty()) {
    return str(name, " is in exclusive use by ", link.taken_by, "; remove that interface first");
  }
  return "";
}

// Returns the names of the links from INDEX on downwards.
Result<std::vector<std::string>> find_below(nl::Socket& socket, uint32_t index) {
  constexpr size_t kMostLinks = 8;  // that the kernel stacks (MAX_NEST_DEV)
  std::vector<std::string> names;
  while (index != 0 && names.size() < kMostLinks) {
    const std::optional<LinkAnswer> link = TRY(internal::find_link_facts(socket, index));
    if (!link) break;
    names.push_back(link->facts.name);
    index = link->below;
  }
  return names;
}

}  // namespace

Result<LinkFacts> inspect_link(const Namespace& host, const std::string& name,
                               const std::string& sysfs, Taker taker) {
  nl::Socket socket = TRY(nl::Socket::open(host, NETLINK_ROUTE));
  std::optional<LinkAnswer> answer = TRY(internal::find_link_facts(socket, name));
  if (!answer) {
    return Error(Code::kNotFound,
                 str("there is no interface ", quote(name),
                     " on this host; if it was renamed, write its new name into the"
                     " configuration ('ip link' lists the interfaces)"));
  }
  LinkFacts& facts = answer->facts;
  facts.is_wireless = is_wireless(sysfs, facts.name);
  if (answer->master != 0) {
    const std::optional<LinkAnswer> master = TRY(internal::find_link_facts(socket, answer->master));
    if (master) {
      facts.master = master->facts.name;
      facts.master_kind = master->facts.kind;
    }
  }
  facts.below = TRY(find_below(socket, answer->below));
  if (taker == Taker::kSkip) return std::move(facts);
  facts.taken_by = TRY(internal::find_taker(socket, host, facts.index));
  return std::move(facts);
}

std::string why_no_rail(const LinkFacts& link, uint32_t mtu) {
  if (std::string why = why_unusable(link); !why.empty()) return why;
  // The kernel makes a macvlan of the interface below, where no border of this one sees its frames.
  if (link.kind == "macvlan" || link.kind == "macvtap") {
    return str(quote(link.name), " is a ", link.kind, "; name the interface below it instead",
               link.below.empty() ? "" : str(", ", quote(link.below.front())));
  }
  if (link.master_kind == "bond") {
    return str(quote(link.name), " is a part of the bond ", quote(link.master), "; name ",
               quote(link.master), " instead");
  }
  if (!link.is_up) {
    return str(quote(link.name), " is down; set it up: ip link set ", link.name, " up");
  }
  if (mtu > link.mtu) {
    return str("MTU ", mtu, " is above the MTU ", link.mtu, " of ", quote(link.name),
               "; lower 'mtu' of network.rail, or raise the MTU of the interface");
  }
  return "";
}

std::string why_not_above(const LinkFacts& link, const LinkFacts& other) {
  if (std::find(link.below.begin(), link.below.end(), other.name) == link.below.end()) return "";
  return str(quote(link.name), " is above ", quote(other.name),
             ", the parent of another rail, whose border drops its frames; remove one of the two"
             " rails from the configuration");
}

std::string why_no_function(const LinkFacts& link, uint32_t mtu) {
  if (std::string why = why_unusable(link); !why.empty()) return why;
  if (link.master_kind == "bond") {
    return str(quote(link.name), " is a part of the bond ", quote(link.master),
               "; take it out: ip link set ", link.name, " nomaster");
  }
  if (link.max_mtu != 0 && mtu > link.max_mtu) {
    return str("MTU ", mtu, " is above the largest MTU ", link.max_mtu, " of ", quote(link.name),
               "; lower 'mtu' of network.rail");
  }
  return "";
}

}  // namespace netns
