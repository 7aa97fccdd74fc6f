// SPDX-License-Identifier: Apache-2.0
// Route-netlink sessions: links, addresses and routes of one network namespace.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "netns/address.h"
#include "netns/namespace.h"

namespace netns {

namespace nl {
class Socket;
}

struct Link {
  uint32_t index = 0;
  std::string name;
  MacAddress mac;  // all zero if its hardware address has not six bytes
  uint32_t mtu = 0;
};

struct Macvlan {
  uint32_t parent = 0;  // index in the session's namespace
  std::string name;
  MacAddress mac;
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
  // Makes the link in TARGET, in place, from its parent here: private mode, down, the parent's MTU,
  // link group group_of(mac).
  base::Status create_macvlan(const Macvlan& macvlan, const Namespace& target);
  // Renames a link that is down and gives it the settings of a RoCE interface (see session.cc).
  base::Status configure(uint32_t index, const std::string& name);
  // EADDRINUSE if another link of the same parent is up with the same MAC.
  base::Status set_up(uint32_t index);
  base::Result<base::Removed> remove_link(uint32_t index);

  base::Status add_address(uint32_t index, Ipv4 address);  // as /32
  base::Result<std::vector<Ipv4>> addresses();
  // A host route each, by this link alone; kExists if there is another to one of them.
  base::Status add_host_routes(uint32_t index, Ipv4 source, const std::vector<Ipv4>& to);
  // Prohibit routes with kProhibitMetric. Those that are there, or not there, already are fine.
  base::Status ensure_prohibited(const std::vector<Ipv4Prefix>& prefixes);
  base::Status remove_prohibited(const std::vector<Ipv4Prefix>& prefixes);

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
