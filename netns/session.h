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
  MacAddress mac;  // all zero if its hardware address has not six bytes
  uint32_t mtu = 0;
  bool is_up = false;        // set up by the administrator
  bool is_ethernet = false;  // and no loopback
};

struct Macvlan {
  uint32_t parent = 0;  // index in the session's namespace
  std::string name;
  MacAddress mac;
  MacvlanMode mode = MacvlanMode::kPrivate;
  uint32_t mtu = 0;  // 0: the parent's
};

// What bring_up() makes of a link.
struct Interface {
  std::string name;
  Address address;             // as /32 or /128
  std::vector<Address> peers;  // a host route each, by this link alone
};

enum class RouteKind { kUnicast, kProhibit, kOther };

struct Route {
  RouteKind kind = RouteKind::kOther;
  Prefix to;
  uint32_t link = 0;  // index; 0: of no link, or of several
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

// The metric of prohibit routes. Not 0, so that docker's route to the same prefix finds its place
// free whoever comes first; RoCE's port, so that a reader recognises them.
inline constexpr uint32_t kProhibitMetric = 4791;

// One route-netlink socket, bound to one namespace for life. Not thread-safe. Opening it in another
// namespace than the thread's needs CAP_SYS_ADMIN in both; changes need CAP_NET_ADMIN in the
// namespaces that they touch. Every error has the kernel's errno and names the object.
class Session {
 public:
  static base::Result<Session> open(const Namespace& in);
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  ~Session();

  // By name or alternative name.
  base::Result<std::optional<Link>> find_link(const std::string& name);
  base::Result<std::vector<Link>> links();
  // Makes the link in TARGET, in place, from its parent here: down, in link group group_of(mac).
  base::Status create_macvlan(const Macvlan& macvlan, const Namespace& target);
  // Moves a link to another namespace, where it has the name NAME, is down, and has no address.
  // Takes 16 ms in the kernel. When NAME is taken there, it may have moved under its old one.
  base::Status move_link(uint32_t index, const std::string& name, const Namespace& target);
  base::Status rename_link(uint32_t index, const std::string& name);  // sets it down first
  base::Status set_mtu(uint32_t index, uint32_t mtu);
  // Makes LINK, which is down or has that name already, what INTERFACE says, with the settings of a
  // RoCE interface (see session.cc); in one request to the kernel. EADDRINUSE if another link of
  // the same parent is up with the same MAC; then it may be called again. kExists if there is
  // another route to a peer.
  base::Status bring_up(const Link& link, const Interface& interface);
  base::Result<base::Removed> remove_link(uint32_t index);

  // All of them, without IPv6 link-local ones.
  base::Result<std::vector<Address>> addresses();

  // Of the table main.
  base::Result<std::vector<Route>> routes();
  // What is gone already is fine.
  base::Status remove_host_routes(uint32_t index, const std::vector<Address>& to);
  // Prohibit routes with kProhibitMetric. Those that are there, or not there, already are fine, and
  // IPv6 ones where the kernel has no IPv6.
  base::Status ensure_prohibited(const std::vector<Prefix>& prefixes);
  base::Status remove_prohibited(const std::vector<Prefix>& prefixes);

  // Of one link: who has which MAC.
  base::Result<std::vector<Neighbour>> neighbours(uint32_t index);
  base::Status ensure_neighbour(uint32_t index, const Neighbour& neighbour);
  base::Result<base::Removed> remove_neighbour(uint32_t index, const Address& address);

  // The id by which this namespace knows OTHER; a new one if it has none. It ends with OTHER.
  base::Result<int32_t> ensure_netns_id(const Namespace& other);
  // As find_link and remove_link, in the namespace that this one knows as NETNS_ID, without a
  // handle on it; absent too if there is no such namespace (any more). Removes by link group, which
  // one request compares and deletes: an id or an index could mean another object by then.
  base::Result<std::optional<Link>> find_link_in(int32_t netns_id, const std::string& name);
  base::Result<base::Removed> remove_group_in(int32_t netns_id, uint32_t group);

 private:
  explicit Session(std::unique_ptr<nl::Socket> socket);
  base::Result<std::optional<int32_t>> find_netns_id(const Namespace& other);
  std::unique_ptr<nl::Socket> socket_;
};

// The link group of an interface with this MAC: its last four bytes, which differ between any two
// leases of a host. Never 0, the group of all other links.
uint32_t group_of(const MacAddress& mac);

}  // namespace netns
