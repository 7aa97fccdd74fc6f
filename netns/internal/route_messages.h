// SPDX-License-Identifier: Apache-2.0
// The requests, replies and lists that the parts of Session share.
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

// Returns AF_INET or AF_INET6.
uint8_t address_family(const Address& address);
void put_address(nl::Message& message, int type, const Address& address);
// Returns the address in an attribute, or nothing if the attribute is absent.
std::optional<Address> read_address(const nl::Attributes& attributes, int type);
// Returns the MAC in an attribute; all zero if it is not six bytes long.
MacAddress read_mac(const nl::Attributes& attributes, int type);

// Makes a request about the link with this index. INDEX 0 means that an attribute names the link.
nl::Message link_message(int type, uint32_t index, std::string what);
Link parse_link(const nlmsghdr& reply);
// Makes a request for the settings of a RoCE interface, and for its name if NAME differs.
nl::Message settings_message(const Link& link, const std::string& name);
// Makes a request for no IPv6 link-local address: each costs two entries in the RNIC's GID table.
nl::Message no_link_local_message(uint32_t index);
// Makes a request to add ADDRESS to a link. An address that is already there is not an error.
nl::Message add_address_message(uint32_t index, const Address& address);
// Makes a request about a route of the kind RTN_*. One that exists is not replaced.
nl::Message route_message(int type, uint8_t kind, uint32_t table, const Prefix& to,
                          std::string what);
// Makes a request for a host route through a link, from SOURCE.
nl::Message add_route_message(uint32_t index, const Address& source, const Address& to);

// Finds a link here, or in the namespace that this one knows as NETNS_ID.
base::Result<std::optional<Link>> find_link(nl::Socket& socket, const std::string& name,
                                            std::optional<int32_t> netns_id);

// Sends any number of requests, in order, until the first failure.
base::Status exchange_all(nl::Socket& socket, std::vector<nl::Message>& requests);

// The number of times that a list is read if it keeps changing meanwhile.
inline constexpr int kListAttempts = 8;

// Returns the answers to REQUEST, which asks for a list. PARSE returns an optional item for each
// reply.
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
