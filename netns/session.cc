// SPDX-License-Identifier: Apache-2.0
#include "netns/session.h"

#include <linux/if_link.h>
#include <linux/ip.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "base/text.h"
#include "netns/internal/nl.h"
#include "netns/internal/route_messages.h"

namespace netns {

using base::quote;
using base::Removed;
using base::Result;
using base::Status;
using base::str;
using nl::Attributes;
using nl::Message;

namespace {

struct Setting {
  int number;  // IPV4_DEVCONF_*
  uint32_t value;
};

// What `/proc/sys/net/ipv4/conf/IF/` would hold. With several rails on one fabric the defaults
// answer ARP on the wrong port. arp_ignore is 1, not 2: 2 answers only senders in the address's own
// subnet, and a /32 has none.
constexpr std::array kSettings{
    Setting{IPV4_DEVCONF_ARP_IGNORE, 1},
    Setting{IPV4_DEVCONF_ARP_ANNOUNCE, 2},
    Setting{IPV4_DEVCONF_ARP_NOTIFY, 1},  // announces an address that is there when the link goes
                                          // up
    Setting{IPV4_DEVCONF_RP_FILTER, 2},
    Setting{IPV4_DEVCONF_ACCEPT_REDIRECTS, 0},
    Setting{IPV4_DEVCONF_SEND_REDIRECTS, 0},
    Setting{IPV4_DEVCONF_ACCEPT_SOURCE_ROUTE, 0},
};

Message rename_message(uint32_t index, const std::string& name) {
  Message message = link_message(RTM_SETLINK, index, str("rename and set up link ", quote(name)));
  message.put_text(IFLA_IFNAME, name);
  message.nest(IFLA_AF_SPEC, [&] {
    message.nest(AF_INET, [&] {
      message.nest(IFLA_INET_CONF, [&] {
        for (const Setting& setting : kSettings) message.put_u32(setting.number, setting.value);
      });
    });
  });
  message.request_ack();
  return message;
}

// Without an IPv6 link-local address: each costs two entries in the RNIC's GID table.
Message no_ipv6_message(uint32_t index, const std::string& name) {
  Message message = link_message(RTM_SETLINK, index, str("set up IPv6 of link ", quote(name)));
  message.nest(IFLA_AF_SPEC, [&] {
    message.nest(AF_INET6,
                 [&] { message.put_u8(IFLA_INET6_ADDR_GEN_MODE, IN6_ADDR_GEN_MODE_NONE); });
  });
  message.request_ack();
  return message;
}

}  // namespace

Message link_message(int type, uint32_t index, std::string what) {
  Message message(type, 0, std::move(what));
  ifinfomsg header{};
  header.ifi_family = AF_UNSPEC;
  header.ifi_index = static_cast<int>(index);
  message.header(header);
  return message;
}

Link parse_link(const nlmsghdr& reply) {
  const Attributes attributes(reply, sizeof(ifinfomsg), IFLA_MAX);
  Link link;
  link.index = static_cast<uint32_t>(static_cast<const ifinfomsg*>(nlmsg_data(&reply))->ifi_index);
  link.name = attributes.text(IFLA_IFNAME);
  link.mtu = attributes.u32(IFLA_MTU).value_or(0);
  const std::span<const uint8_t> mac = attributes.bytes(IFLA_ADDRESS);
  if (mac.size() == link.mac.bytes.size())
    std::copy(mac.begin(), mac.end(), link.mac.bytes.begin());
  return link;
}

Result<std::optional<Link>> find_link(nl::Socket& socket, const std::string& name,
                                      std::optional<int32_t> netns_id) {
  if (name.empty() || name.size() >= IFNAMSIZ) return std::optional<Link>();
  Message message = link_message(RTM_GETLINK, 0, str("look up link ", quote(name)));
  if (netns_id.has_value()) message.put_s32(IFLA_TARGET_NETNSID, *netns_id);
  message.put_text(IFLA_IFNAME, name);
  message.put_u32(IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS);
  message.request_ack();
  std::optional<Link> link;
  const Status status =
      socket.exchange(message, [&](const nlmsghdr& reply) { link = parse_link(reply); });
  if (!status.ok() && status.error().sys_errno() == ENODEV) return std::optional<Link>();
  if (!status.ok()) return status.error();
  return link;
}

uint32_t group_of(const MacAddress& mac) {
  uint32_t group = 0;
  for (size_t i = 2; i < mac.bytes.size(); ++i) group = group << 8 | mac.bytes[i];
  return std::max(group, uint32_t{1});
}

Session::Session(std::unique_ptr<nl::Socket> socket) : socket_(std::move(socket)) {}
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;
Session::~Session() = default;

Result<Session> Session::open(const Namespace& in) {
  nl::Socket socket = TRY(nl::Socket::open(in, NETLINK_ROUTE));
  return Session(std::make_unique<nl::Socket>(std::move(socket)));
}

Result<std::optional<Link>> Session::find_link(const std::string& name) {
  return netns::find_link(*socket_, name, std::nullopt);
}

Status Session::create_macvlan(const Macvlan& macvlan, const Namespace& target) {
  Message message = link_message(RTM_NEWLINK, 0, str("create macvlan ", quote(macvlan.name)));
  message.raw()->nlmsg_flags |= NLM_F_CREATE | NLM_F_EXCL;
  message.put_text(IFLA_IFNAME, macvlan.name);
  message.put_s32(IFLA_NET_NS_FD, target.fd());
  message.put_u32(IFLA_LINK, macvlan.parent);
  message.put_bytes(IFLA_ADDRESS, macvlan.mac.bytes.data(), macvlan.mac.bytes.size());
  message.put_u32(IFLA_GROUP, group_of(macvlan.mac));
  message.nest(IFLA_LINKINFO, [&] {
    message.put_text(IFLA_INFO_KIND, "macvlan");
    message.nest(IFLA_INFO_DATA, [&] { message.put_u32(IFLA_MACVLAN_MODE, MACVLAN_MODE_PRIVATE); });
  });
  message.request_ack();
  return socket_->exchange(message);
}

Status Session::configure(uint32_t index, const std::string& name) {
  Message rename = rename_message(index, name);
  TRY(socket_->exchange(rename));
  Message no_ipv6 = no_ipv6_message(index, name);
  Status status = socket_->exchange(no_ipv6);
  // The kernel, or a link whose MTU is below 1280, has no IPv6: nothing to set.
  if (!status.ok() && status.error().sys_errno() == EAFNOSUPPORT) return {};
  return status;
}

Status Session::set_up(uint32_t index) {
  Message message = link_message(RTM_SETLINK, 0, str("set link ", index, " up"));
  ifinfomsg& header = *static_cast<ifinfomsg*>(nlmsg_data(message.raw()));
  header.ifi_index = static_cast<int>(index);
  header.ifi_flags = IFF_UP;
  header.ifi_change = IFF_UP;
  message.request_ack();
  return socket_->exchange(message);
}

Result<Removed> Session::remove_link(uint32_t index) {
  Message message = link_message(RTM_DELLINK, index, str("remove link ", index));
  message.request_ack();
  const Status status = socket_->exchange(message);
  if (status.ok()) return Removed::kNow;
  if (status.error().sys_errno() == ENODEV) return Removed::kWasAbsent;
  return status.error();
}

}  // namespace netns
