// SPDX-License-Identifier: Apache-2.0
// One interface of a plan: finding, making, updating and removing it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "netns/internal/nl.h"
#include "netns/namespace.h"
#include "netns/session.h"
#include "netns/types.h"

namespace netns::internal {

// The host's and the container's ends of an attachment.
struct Ends {
  static base::Result<Ends> open(const Namespace& host, const Namespace& target);
  const Namespace& host_namespace;
  const Namespace& target_namespace;
  Session host;
  Session target;
  nl::Socket target_filter;
};

// Returns the name of an interface that is not ready and cannot have its own name yet: a function,
// or a macvlan where a link of the host has that name, before Linux 6.15. It is unique in both
// namespaces, because the MAC is.
std::string temporary_name(const MacAddress& mac);

// Finds the link in the session's namespace with the MAC of RAIL and one of the names that attach()
// gives.
base::Result<std::optional<Link>> find_own(Session& session, const RailPlan& rail);

// What LINKS, those of the target, have of the interface of RAIL.
struct Found {
  std::optional<Link> ready;
  bool is_begun = false;  // but not ready: a leftover
};
// Returns kExists if the name of the interface belongs to another link.
base::Result<Found> find_rail(const std::vector<Link>& links, const RailPlan& rail);

// Makes the interface in the target, which has none of it. After a failure, parts of it may remain;
// unmake_rail() removes them.
base::Result<Link> make_rail(const RailPlan& rail, Ends& ends);
// Removes the interface and its parts. Absent parts are not an error.
base::Status unmake_rail(const RailPlan& rail, Ends& ends);

// Gives LINK, which is ready, the settings, the address, and host routes to PEERS, which have none
// yet. Sets the MTU as far as the parent's allows.
base::Result<Link> refresh_rail(const RailPlan& rail, const Link& link,
                                const std::vector<Address>& peers, Ends& ends);

// Returns the addresses of the peers, each once.
std::vector<Address> peer_addresses(const RailPlan& rail);

}  // namespace netns::internal
