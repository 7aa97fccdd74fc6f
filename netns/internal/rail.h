// SPDX-License-Identifier: Apache-2.0
// One interface of a plan: found, made, brought up to date, taken away.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "netns/namespace.h"
#include "netns/session.h"
#include "netns/types.h"

namespace netns::internal {

// The two namespaces of an attachment.
struct Ends {
  static base::Result<Ends> open(const Namespace& host, const Namespace& target);
  const Namespace& host_namespace;
  const Namespace& target_namespace;
  Session host;
  Session target;
};

// The name of an interface that is not ready. Unique in both namespaces, because the MAC is: before
// Linux 6.15 the name of a new link must be free in the host's namespace too.
std::string temporary_name(const MacAddress& mac);

// What has MAC in the session's namespace and one of the names that attach() gives.
base::Result<std::optional<Link>> find_own(Session& session, const RailPlan& rail);

// Whether an interface of RAIL is in the target, ready. kExists if its name is another's there.
base::Result<std::optional<Link>> find_ready(Session& target, const RailPlan& rail);

// Makes the interface in the target, in place of one that is not ready. On failure a part of it may
// be there, which unmake_rail() takes away.
base::Result<Link> make_rail(const RailPlan& rail, Ends& ends);
// Absent is fine.
base::Status unmake_rail(const RailPlan& rail, Ends& ends);

// Gives LINK, which is ready, the settings, the address, and host routes to PEERS, which has none.
// The MTU, as far as the parent's allows.
base::Result<Link> refresh_rail(const RailPlan& rail, const Link& link,
                                const std::vector<Address>& peers, Ends& ends);

// The addresses of the peers, each once.
std::vector<Address> peer_addresses(const RailPlan& rail);

}  // namespace netns::internal
