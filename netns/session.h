// SPDX-License-Identifier: Apache-2.0
// Route-netlink sessions: links, addresses, routes and neighbours of one network namespace.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "netns/address.h"
#include "netns/namespace.h"
#include "netns/types.h"

namespace netns {

namespace nl {
class Socket;
}

struct Link {
  uint32_t index = 0;
  std::string name;
  MacAddress mac;  // all zero if the hardware address is not six bytes long
  uint32_t mtu = 0;
  uint32_t parent = 0;  // of a macvlan: the index of its parent, in the parent's namespace
  std::optional<int32_t> parent_netns;  // id of that namespace; unset: the link's own
  bool is_up = false;                   // set up by the administrator
  bool is_ethernet = false;             // and not loopback
};

struct Macvlan {
  uint32_t parent = 0;  // index in the session's namespace
  std::string name;
  MacAddress mac;
  MacvlanMode mode = MacvlanMode::kPrivate;
  uint32_t mtu = 0;  // 0: the parent's
};

// The state that bring_up() gives a link.
struct Interface {
  std::string name;
  Address address;             // assigned as /32 or /128
  std::vector<Address> peers;  // each gets a host route through this link alone
};

enum class RouteKind { kUnicast, kProhibit, kOther };

struct Route {
  uint32_t table = 0;
  RouteKind kind = RouteKind::kOther;
  Prefix to;
  uint32_t link = 0;  // index; 0: no link, or several
  uint32_t metric = 0;
  bool is_static = false;  // made by an administrator or a program, not by the kernel

  auto operator<=>(const Route&) const = default;
};

struct Neighbour {
  Address address;
  MacAddress mac;             // all zero: not resolved
  bool is_permanent = false;  // never asked for again

  auto operator<=>(const Neighbour&) const = default;
};

// Prohibit routes have a table of their own. Docker 28 sets up its interface after the hooks, and
// refuses an address that overlaps any route of the table main. Two rules lead there: 32000 looks
// up all of main but its default routes, 32001 this table. So a route of the engine to its own
// subnet wins, and what would leave by a default route is prohibited.
inline constexpr uint32_t kProhibitTable =
    4791;  // RoCE's port number, so that readers recognise it
// The metric of prohibit routes. Earlier versions had them in main, with this metric.
inline constexpr uint32_t kProhibitMetric = 4791;
// Returns true for a prohibit route of this or an earlier version.
bool is_prohibition(const Route& route);

// One route-netlink socket, bound to one namespace for life. Not thread-safe. Opening a session in
// a namespace other than the thread's needs CAP_SYS_ADMIN in both. Changes need CAP_NET_ADMIN in
// the namespaces that they touch. Every error has the kernel's errno and names the object.
class Session {
 public:
  static base::Result<Session> open(const Namespace& in);
  explicit Session(nl::Socket socket);  // of NETLINK_ROUTE
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  ~Session();
  nl::Socket take_socket() &&;

  // Find a link by name or alternative name, or by index.
  base::Result<std::optional<Link>> find_link(const std::string& name);
  base::Result<std::optional<Link>> find_link(uint32_t index);
  base::Result<std::vector<Link>> links();
  // Makes the link in TARGET, in place, from its parent here. The link is down, in link group
  // group_of(mac).
  base::Status create_macvlan(const Macvlan& macvlan, const Namespace& target);
  // Moves a link to TARGET, where it is named NAME, is down, and has no address. Takes 16 ms in the
  // kernel. If NAME is taken in TARGET, the link may have moved under its old name.
  base::Status move_link(uint32_t index, const std::string& name, const Namespace& target);
  base::Status rename_link(uint32_t index, const std::string& name);  // sets it down first
  base::Status set_mtu(uint32_t index, uint32_t mtu);
  // Gives LINK, which is down or already has the name, what INTERFACE says and the settings of a
  // RoCE interface (see session.cc), in one request to the kernel. Returns EADDRINUSE, after which
  // the call may be repeated, if another link of the same parent is up with the same MAC. Returns
  // kExists if another route to a peer exists.
  base::Status bring_up(const Link& link, const Interface& interface);
  base::Result<base::Removed> remove_link(uint32_t index);

  // Returns all addresses except IPv6 link-local ones.
  base::Result<std::vector<Address>> addresses();
  // Returns the addresses at which the kernel hears others on the subnets of its interfaces: of
  // IPv4 the broadcast addresses, also those with host bits of zero, of IPv6 the subnet routers'
  // anycast addresses (RFC 4291, 2.6.1).
  base::Result<std::vector<Address>> broadcasts();

  // Returns the routes of the tables main and kProhibitTable.
  base::Result<std::vector<Route>> routes();
  // Removes host routes. An absent route is not an error.
  base::Status remove_host_routes(uint32_t index, const std::vector<Address>& to);
  // Add and remove prohibit routes. None fails because a route already is, or is not, there, nor
  // for IPv6 prefixes on a kernel without IPv6. The first also adds the rules that lead to them,
  // and the last removes these too.
  base::Status ensure_prohibited(const std::vector<Prefix>& prefixes);
  base::Status remove_prohibited(const std::vector<Route>& routes);
  base::Status remove_all_prohibited();

  // Returns the neighbours of one link: which address has which MAC.
  base::Result<std::vector<Neighbour>> neighbours(uint32_t index);
  base::Status ensure_neighbour(uint32_t index, const Neighbour& neighbour);
  base::Result<base::Removed> remove_neighbour(uint32_t index, const Address& address);

  // Returns the id by which this namespace knows OTHER, assigned if there was none. It ends with
  // OTHER.
  base::Result<int32_t> ensure_netns_id(const Namespace& other);
  // Work as find_link and remove_link in the namespace that this one knows as NETNS_ID, without a
  // handle on it. A namespace that does not exist (any more) counts as absent. Links are removed by
  // group, which one request compares and deletes: by then, an id or an index could mean another
  // object.
  base::Result<std::optional<Link>> find_link_in(int32_t netns_id, const std::string& name);
  base::Result<base::Removed> remove_group_in(int32_t netns_id, uint32_t group);

 private:
  base::Result<std::optional<int32_t>> find_netns_id(const Namespace& other);
  std::unique_ptr<nl::Socket> socket_;
};

// Returns the link group for this MAC: the last four bytes, which differ between any two leases of
// a host. Never 0, the group of all other links.
uint32_t group_of(const MacAddress& mac);

}  // namespace netns
