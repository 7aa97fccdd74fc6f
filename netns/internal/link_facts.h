// SPDX-License-Identifier: Apache-2.0
// The parts that inspect_link() is made of.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "netns/internal/nl.h"
#include "netns/link.h"
#include "netns/namespace.h"

namespace netns::internal {

// What one link answer says of the link itself: all but wireless, the master's name and kind, and
// taken_by. MASTER is the index of its master; 0: none.
struct LinkAnswer {
  LinkFacts facts;
  uint32_t master = 0;
};
LinkAnswer parse_link_facts(const nlmsghdr& reply);

// By name or alternative name; absent if there is none.
base::Result<std::optional<LinkAnswer>> find_link_facts(nl::Socket& socket,
                                                        const std::string& name);
base::Result<std::optional<LinkAnswer>> find_link_facts(nl::Socket& socket, uint32_t index);

// How the link of REPLY holds its parent, as LinkFacts::taken_by says it; "" for a macvlan, which
// shares it with others. Absent for a link whose parent does not notice.
std::optional<std::string> parse_hold(const nlmsghdr& reply);

// What keeps a macvlan from being made on the link INDEX of HOST, as LinkFacts::taken_by says it.
// Looks into the namespaces that HOST has an id for as well, where this process may.
base::Result<std::string> find_taker(nl::Socket& socket, const Namespace& host, uint32_t index);

}  // namespace netns::internal
