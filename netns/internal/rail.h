// SPDX-License-Identifier: Apache-2.0
// One interface of a plan: finding, making, updating and removing it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
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
};

// Returns the name of an interface that is not ready. It is unique in both namespaces, because the
// MAC is: before Linux 6.15, the name of a new link must be free in the host's namespace too.
std::string temporary_name(const MacAddress& mac);

// Finds the link in the session's namespace with the MAC of RAIL and one of the names that attach()
// gives.
base::Result<std::optional<Link>> find_own(Session& session, const RailPlan& rail);

// Finds the interface of RAIL in the target if it is ready. Returns kExists if its name belongs to
// another link.
base::Result<std::optional<Link>> find_ready(Session& target, const RailPlan& rail);

// Makes the interface in the target and replaces one that is not ready. After a failure, parts of
// it may remain; unmake_rail() removes them.
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
