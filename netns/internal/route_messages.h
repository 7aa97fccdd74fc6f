// SPDX-License-Identifier: Apache-2.0
// What the parts of Session share: requests, replies, and lists.
#pragma once

#include <cerrno>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "netns/address.h"
#include "netns/internal/nl.h"
#include "netns/session.h"

namespace netns {

// AF_INET or AF_INET6.
uint8_t address_family(const Address& address);
void put_address(nl::Message& message, int type, const Address& address);
// The address that an attribute holds; unset if it is absent.
std::optional<Address> read_address(const nl::Attributes& attributes, int type);
// The MAC that an attribute holds; all zero if it has not six bytes.
MacAddress read_mac(const nl::Attributes& attributes, int type);

// A request about the link with this index; 0 if an attribute names it.
nl::Message link_message(int type, uint32_t index, std::string what);
Link parse_link(const nlmsghdr& reply);
// The settings of a RoCE interface, and its name if it is another one.
nl::Message settings_message(const Link& link, const std::string& name);
// No IPv6 link-local address: each costs two entries in the GID table of the RNIC.
nl::Message no_link_local_message(uint32_t index);
// Adds ADDRESS to a link; done already is fine.
nl::Message add_address_message(uint32_t index, const Address& address);
// A host route by a link, from SOURCE.
nl::Message add_route_message(uint32_t index, const Address& source, const Address& to);

// Here, or in the namespace that this one knows as NETNS_ID.
base::Result<std::optional<Link>> find_link(nl::Socket& socket, const std::string& name,
                                            std::optional<int32_t> netns_id);

// Sends any number of requests, in order, until the first that fails.
base::Status exchange_all(nl::Socket& socket, std::vector<nl::Message>& requests);

// How often a list is read anew when something changed it meanwhile.
inline constexpr int kListAttempts = 8;

// The answers to REQUEST, which asks for a list. PARSE returns an optional item for each reply.
template <typename Item, typename Parse>
base::Result<std::vector<Item>> list(nl::Socket& socket, nl::Message& request, Parse parse) {
  for (int i = 1;; ++i) {
    std::vector<Item> items;
    base::Status status = socket.exchange(request, [&](const nlmsghdr& reply) {
      std::optional<Item> item = parse(reply);
      if (item.has_value()) items.push_back(std::move(*item));
    });
    if (status.ok()) return items;
    if (status.error().sys_errno() != EINTR || i == kListAttempts) return status.error();
  }
}

}  // namespace netns
