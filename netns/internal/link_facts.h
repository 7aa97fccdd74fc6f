// SPDX-License-Identifier: Apache-2.0
// The building blocks of inspect_link().
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "netns/internal/nl.h"
#include "netns/link.h"
#include "netns/namespace.h"

namespace netns::internal {

// The facts that one answer about a link contains: all but wireless, the master's name and kind,
// what is below, and taken_by. MASTER is the index of its master, and BELOW that of the interface
// which carries its frames; 0: none in this namespace.
struct LinkAnswer {
  LinkFacts facts;
  uint32_t master = 0;
  uint32_t below = 0;
};
LinkAnswer parse_link_facts(const nlmsghdr& reply);

// Finds a link by name or alternative name, or returns nothing.
base::Result<std::optional<LinkAnswer>> find_link_facts(nl::Socket& socket,
                                                        const std::string& name);
base::Result<std::optional<LinkAnswer>> find_link_facts(nl::Socket& socket, uint32_t index);

// Returns how the link of REPLY holds its parent, in the words of LinkFacts::taken_by; "" for a
// macvlan, which shares its parent. Returns nothing for a link that does not affect its parent.
std::optional<std::string> parse_hold(const nlmsghdr& reply);

// Returns what prevents a macvlan on the link INDEX of HOST, in the words of LinkFacts::taken_by.
// Also searches the namespaces that HOST has an id for, as far as this process may.
base::Result<std::string> find_taker(nl::Socket& socket, const Namespace& host, uint32_t index);

}  // namespace netns::internal
