// SPDX-License-Identifier: Apache-2.0
// The addresses and routes of a Session. The prohibit routes are in session_prohibited.cc.
#include <linux/if_addr.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <cerrno>
#include <set>

#include "base/names.h"
#include "base/text.h"
#include "netns/internal/nl.h"
#include "netns/internal/route_messages.h"
#include "netns/session.h"

namespace netns {

using namespace base::names;
using nl::Attributes;
using nl::Message;

namespace {

uint8_t full_length(const Address& address) { return host_prefix(address).length; }

bool is_link_local(const Address& address) {
  return !address.is_ipv4() && address.bytes[0] == 0xfe && (address.bytes[1] & 0xc0) == 0x80;
}

std::optional<Address> parse_own_address(const nlmsghdr& reply) {
  const Attributes attributes(reply, sizeof(ifaddrmsg), IFA_MAX);
  // IFA_ADDRESS is the other end of an IPv4 point-to-point link; elsewhere, IPv6 has no IFA_LOCAL.
  std::optional<Address> address = read_address(attributes, IFA_LOCAL);
  if (!address.has_value()) address = read_address(attributes, IFA_ADDRESS);
  if (address.has_value() && is_link_local(*address)) return std::nullopt;
  return address;
}

// The addresses with host bits of zero and of one, and the one that somebody has set.
std::optional<std::vector<Address>> broadcasts_of(const nlmsghdr& reply) {
  const auto& header = *static_cast<const ifaddrmsg*>(nlmsg_data(&reply));
  const Attributes attributes(reply, sizeof header, IFA_MAX);
  const std::optional<Address> on_link = read_address(attributes, IFA_ADDRESS);
  if (!on_link || header.ifa_prefixlen + 1 >= full_length(*on_link)) return std::nullopt;
  std::vector<Address> all{first_of({*on_link, header.ifa_prefixlen})};
  if (!on_link->is_ipv4()) return all;
  all.push_back(last_of({*on_link, header.ifa_prefixlen}));
  const std::optional<Address> broadcast = read_address(attributes, IFA_BROADCAST);
  if (broadcast) all.push_back(*broadcast);
  return all;
}

RouteKind kind_of(uint8_t type) {
  if (type == RTN_UNICAST) return RouteKind::kUnicast;
  return type == RTN_PROHIBIT ? RouteKind::kProhibit : RouteKind::kOther;
}

// Returns nothing for a route of another table, or of a family other than IP.
std::optional<Route> parse_route(const nlmsghdr& reply) {
  const auto& header = *static_cast<const rtmsg*>(nlmsg_data(&reply));
  const Attributes attributes(reply, sizeof header, RTA_MAX);
  if (header.rtm_family != AF_INET && header.rtm_family != AF_INET6) return std::nullopt;
  const uint32_t table = attributes.u32(RTA_TABLE).value_or(header.rtm_table);
  if (table != RT_TABLE_MAIN && table != kProhibitTable) return std::nullopt;
  Address any;
  any.family = header.rtm_family == AF_INET ? Family::kIpv4 : Family::kIpv6;
  Route route;
  route.table = table;
  route.kind = kind_of(header.rtm_type);
  route.to = Prefix{read_address(attributes, RTA_DST).value_or(any), header.rtm_dst_len};
  route.link = attributes.u32(RTA_OIF).value_or(0);
  route.metric = attributes.u32(RTA_PRIORITY).value_or(0);
  route.is_static = header.rtm_protocol == RTPROT_STATIC;
  return route;
}

Message host_route(int type, uint32_t index, const Address& to, const char* verb) {
  Message message = route_message(type, RTN_UNICAST, RT_TABLE_MAIN, host_prefix(to),
                                  str(verb, " route to ", to_string(to)));
  message.put_u32(RTA_OIF, index);
  return message;
}

}  // namespace

Message route_message(int type, uint8_t kind, uint32_t table, const Prefix& to, std::string what) {
  const int flags = type == RTM_NEWROUTE ? NLM_F_CREATE | NLM_F_EXCL : 0;
  Message message(type, flags, std::move(what));
  rtmsg header{};
  header.rtm_family = address_family(to.address);
  header.rtm_dst_len = to.length;
  header.rtm_protocol = RTPROT_STATIC;
  header.rtm_scope = kind == RTN_UNICAST ? RT_SCOPE_LINK : RT_SCOPE_UNIVERSE;
  header.rtm_type = kind;
  message.header(header);
  put_address(message, RTA_DST, to.address);
  message.put_u32(RTA_TABLE, table);
  return message;
}

Message add_address_message(uint32_t index, const Address& address) {
  Message message(RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, str("add address ", to_string(address)));
  ifaddrmsg header{};
  header.ifa_family = address_family(address);
  header.ifa_prefixlen = full_length(address);
  header.ifa_index = index;
  message.header(header);
  put_address(message, IFA_LOCAL, address);
  put_address(message, IFA_ADDRESS, address);
  // NODAD: usable at once, because the ledger and the probe prevent duplicates. NOPREFIXROUTE: only
  // our routes.
  if (!address.is_ipv4()) message.put_u32(IFA_FLAGS, IFA_F_NODAD | IFA_F_NOPREFIXROUTE);
  message.tolerate(EEXIST);
  return message;
}

Message add_route_message(uint32_t index, const Address& source, const Address& to) {
  Message message = host_route(RTM_NEWROUTE, index, to, "add");
  put_address(message, RTA_PREFSRC, source);
  return message;
}

Result<std::vector<Address>> Session::addresses() {
  Message message(RTM_GETADDR, NLM_F_DUMP, "list addresses");
  message.header(ifaddrmsg{});
  return list<Address>(*socket_, message, parse_own_address);
}

Result<std::vector<Address>> Session::broadcasts() {
  Message message(RTM_GETADDR, NLM_F_DUMP, "list broadcast addresses");
  message.header(ifaddrmsg{});
  std::set<Address> all;
  for (const std::vector<Address>& some :
       TRY(list<std::vector<Address>>(*socket_, message, broadcasts_of))) {
    all.insert(some.begin(), some.end());
  }
  return std::vector<Address>(all.begin(), all.end());
}

Result<std::vector<Route>> Session::routes() {
  Message message(RTM_GETROUTE, NLM_F_DUMP, "list routes");
  message.header(rtmsg{});
  return list<Route>(*socket_, message, parse_route);
}

Status Session::remove_host_routes(uint32_t index, const std::vector<Address>& to) {
  std::vector<Message> batch;
  for (const Address& address : to) {
    batch.push_back(host_route(RTM_DELROUTE, index, address, "remove"));
    batch.back().tolerate(ESRCH);
  }
  return exchange_all(*socket_, batch);
}

}  // namespace netns
