// SPDX-License-Identifier: Apache-2.0
// What the parts of Session share: link requests and replies.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "netns/internal/nl.h"
#include "netns/session.h"

namespace netns {

// A request about the link with this index; 0 if an attribute names it.
nl::Message link_message(int type, uint32_t index, std::string what);
Link parse_link(const nlmsghdr& reply);

// Here, or in the namespace that this one knows as NETNS_ID.
base::Result<std::optional<Link>> find_link(nl::Socket& socket, const std::string& name,
                                            std::optional<int32_t> netns_id);

}  // namespace netns
