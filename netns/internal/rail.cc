// SPDX-License-Identifier: Apache-2.0
#include "netns/internal/rail.h"

#include <linux/if_ether.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

#include "base/clock.h"
#include "base/names.h"
#include "base/text.h"
#include "netns/attach.h"
#include "netns/filter.h"
#include "netns/internal/ipv6_settings.h"
#include "netns/internal/nl.h"
#include "netns/rdma.h"

namespace netns::internal {

using namespace base::names;

namespace {

// When a namespace dies, its links keep their MACs until the kernel has dismantled it: measured as
// 33 to 37 ms, and more when many die together. Nothing else holds a MAC for long, because no two
// leases share one. So a longer wait delays no start that could succeed.
constexpr std::chrono::milliseconds kMacInUse{2000};
constexpr std::chrono::milliseconds kRetry{5};

Result<Link> find_parent(Session& host, const std::string& name) {
  const std::optional<Link> parent = TRY(host.find_link(name));
  if (!parent.has_value()) {
    return Error(Code::kNotFound, str("RoCE interface ", quote(name),
                                      " is not on the host; set 'parent' of network.rail "
                                      "to one that 'ip link' shows"));
  }
  return *parent;
}

// The kernel has one errno for several reasons, and rarely a text.
Error explain_refusal(const Error& error, const RailPlan& rail, const Link& parent) {
  const int err = error.sys_errno();
  const std::string name = quote(rail.parent);
  if (err == EBUSY) {
    return Error(
        Code::kBusy,
        str(name,
            " cannot carry a macvlan while it is part of a bridge, a bond or an Open "
            "vSwitch, or the parent of an ipvlan; take it out of there ('ip -d link show dev ",
            rail.parent, "' shows what uses it), or set another 'parent' of network.rail (",
            error.message(), ')'));
  }
  const bool is_tiny = rail.mtu != 0 && rail.mtu < ETH_MIN_MTU;  // and the kernel's text says so
  if (err != EINVAL || is_tiny) return error;
  if (rail.mtu > parent.mtu) {
    return Error(Code::kInvalid, str("MTU ", rail.mtu, " of interface ", quote(rail.interface),
                                     " is above the MTU ", parent.mtu, " of its parent ", name,
                                     "; set 'mtu' of network.rail to at most ", parent.mtu,
                                     ", or raise the MTU of the parent"));
  }
  if (!parent.is_ethernet) {
    return Error(Code::kInvalid,
                 str(name, " is not an Ethernet interface and cannot carry a macvlan"));
  }
  return Error(
      Code::kBusy,
      str(name,
          " already carries a macvlan in mode passthru, perhaps in another namespace, and can "
          "carry no other; remove that macvlan, or set another 'parent' of network.rail (",
          error.message(), ')'));
}

// Returns the name under which it was made. A rename costs an RCU grace period, so it is the last
// name already, unless that is taken.
Result<std::string> create(const RailPlan& rail, Ends& ends) {
  const Link parent = TRY(find_parent(ends.host, rail.parent));
  Macvlan macvlan{parent.index, rail.interface, rail.mac, rail.mode, rail.mtu};
  Status status = ends.host.create_macvlan(macvlan, ends.target_namespace);
  if (!status.ok() && status.error().sys_errno() == EEXIST) {
    macvlan.name = temporary_name(rail.mac);
    status = ends.host.create_macvlan(macvlan, ends.target_namespace);
  }
  if (!status.ok()) return explain_refusal(status.error(), rail, parent);
  return macvlan.name;
}

Status move_rdma(const RailPlan& rail, Ends& ends) {
  if (rail.rdma_device.empty()) return {};
  const std::optional<RdmaMode> mode = TRY(rdma_mode(ends.host_namespace));
  if (mode != RdmaMode::kExclusive) return {};
  return move_rdma_device(ends.host_namespace, rail.rdma_device, ends.target_namespace);
}

Result<std::string> move_in(const RailPlan& rail, Ends& ends) {
  const Link function = TRY(find_parent(ends.host, rail.parent));
  if (function.mac != rail.mac) {
    return Error(Code::kInvalid, str("function ", quote(rail.parent), " has MAC ",
                                     to_string(function.mac), " instead of ", to_string(rail.mac)));
  }
  const std::string name = temporary_name(rail.mac);
  TRY(ends.host.move_link(function.index, name, ends.target_namespace));
  TRY(move_rdma(rail, ends));
  return name;
}

Result<Link> find_made(const RailPlan& rail, const std::string& name, Ends& ends) {
  const std::optional<Link> link = TRY(ends.target.find_link(name));
  if (!link.has_value()) return Error(Code::kNotFound, str("interface ", quote(name), " vanished"));
  if (link->mac == rail.mac) return *link;
  if (rail.kind == LinkKind::kMacvlan) TRY(ends.target.remove_link(link->index));
  return Error(Code::kInternal, str("the kernel gave interface ", quote(rail.interface), " MAC ",
                                    to_string(link->mac), " instead of ", to_string(rail.mac)));
}

Status bring_up(Session& target, const Link& link, const Interface& interface) {
  const auto deadline = Deadline::after(kMacInUse);
  Status status = target.bring_up(link, interface);
  while (!status.ok() && status.error().sys_errno() == EADDRINUSE && !deadline.passed()) {
    base::sleep_for(kRetry, deadline);
    status = target.bring_up(link, interface);
  }
  return status;
}

Status apply(const RailPlan& rail, const Link& link, const std::vector<Address>& peers,
             Ends& ends) {
  if (!rail.address.is_ipv4()) TRY(enable_ipv6(ends.target_namespace, link.name));
  return bring_up(ends.target, link, Interface{rail.interface, rail.address, peers});
}

// Returns the MTU that RAIL needs; 0: its present one.
Result<uint32_t> wanted_mtu(const RailPlan& rail, Session& host) {
  if (rail.mtu != 0 || rail.kind == LinkKind::kFunction) return rail.mtu;
  const std::optional<Link> parent = TRY(host.find_link(rail.parent));
  return parent.has_value() ? parent->mtu : 0;
}

}  // namespace

Result<Ends> Ends::open(const Namespace& host, const Namespace& target) {
  Session host_session = TRY(Session::open(host));
  Result<std::vector<nl::Socket>> opened =
      nl::Socket::open_all(target, {NETLINK_ROUTE, NETLINK_NETFILTER});
  if (!opened.ok()) return explain_filter(opened.error());
  std::vector<nl::Socket> sockets = std::move(opened).take();
  return Ends{host, target, std::move(host_session), Session(std::move(sockets[0])),
              std::move(sockets[1])};
}

std::string temporary_name(const MacAddress& mac) {
  std::string name = "ipu";
  for (const char c : to_string(mac)) {
    if (c != ':') name += c;
  }
  return name;
}

Result<std::optional<Link>> find_own(Session& session, const RailPlan& rail) {
  for (const std::string& name : {rail.interface, temporary_name(rail.mac)}) {
    std::optional<Link> link = TRY(session.find_link(name));
    if (link.has_value() && link->mac == rail.mac) return link;
  }
  return std::optional<Link>();
}

Result<Found> find_rail(const std::vector<Link>& links, const RailPlan& rail) {
  const std::string temporary = temporary_name(rail.mac);
  Found found;
  for (const Link& link : links) {
    const bool has_name = link.name == rail.interface;
    if (has_name && link.mac != rail.mac) {
      return Error(Code::kExists, str("interface ", quote(rail.interface),
                                      " exists in the container already, with MAC ",
                                      to_string(link.mac), " instead of ", to_string(rail.mac)));
    }
    if (has_name && link.is_up) {
      found.ready = link;
    } else if (link.mac == rail.mac && (has_name || link.name == temporary)) {
      found.is_begun = true;
    }
  }
  return found;
}

Result<Link> make_rail(const RailPlan& rail, Ends& ends) {
  const std::string name =
      TRY(rail.kind == LinkKind::kMacvlan ? create(rail, ends) : move_in(rail, ends));
  Link link = TRY(find_made(rail, name, ends));
  if (rail.kind == LinkKind::kFunction && rail.mtu != 0) {
    TRY(ends.target.set_mtu(link.index, rail.mtu));
    link.mtu = rail.mtu;
  }
  TRY(apply(rail, link, peer_addresses(rail), ends));
  return link;
}

Status unmake_rail(const RailPlan& rail, Ends& ends) {
  const std::optional<Link> link = TRY(find_own(ends.target, rail));
  if (!link.has_value()) return {};
  if (rail.kind == LinkKind::kFunction) {
    TRY(give_back(rail, ends.host_namespace, &ends.target_namespace));
  } else {
    TRY(ends.target.remove_link(link->index));
  }
  return {};
}

Result<Link> refresh_rail(const RailPlan& rail, const Link& link, const std::vector<Address>& peers,
                          Ends& ends) {
  Link current = link;
  const uint32_t mtu = TRY(wanted_mtu(rail, ends.host));
  if (mtu != 0 && mtu != link.mtu) {
    const Status status = ends.target.set_mtu(link.index, mtu);
    // The parent's MTU has since been lowered below this one: the container keeps its own.
    if (!status.ok() && status.error().sys_errno() != EINVAL) return status.error();
    if (status.ok()) current.mtu = mtu;
  }
  TRY(apply(rail, link, peers, ends));
  return current;
}

std::vector<Address> peer_addresses(const RailPlan& rail) {
  std::vector<Address> addresses;
  for (const Peer& peer : rail.peers) addresses.push_back(peer.address);
  std::sort(addresses.begin(), addresses.end());
  addresses.erase(std::unique(addresses.begin(), addresses.end()), addresses.end());
  return addresses;
}

}  // namespace netns::internal
