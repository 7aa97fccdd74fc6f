// SPDX-License-Identifier: Apache-2.0
#include "netns/session.h"

#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/names.h"
#include "base/text.h"
#include "netns/internal/nl.h"
#include "netns/internal/route_messages.h"

namespace netns {

using namespace base::names;
using base::Removed;
using nl::Attributes;
using nl::Message;

namespace {

// Number of requests in one datagram. The kernel may answer each with an error of some hundred
// bytes before the first answer is read, and all of them must fit the socket's buffer.
constexpr size_t kBatch = 64;

Message up_or_down(uint32_t index, unsigned flags) {
  Message message =
      link_message(RTM_SETLINK, 0, str("set link ", index, flags == 0 ? " down" : " up"));
  ifinfomsg& header = *static_cast<ifinfomsg*>(nlmsg_data(message.raw()));
  header.ifi_index = static_cast<int>(index);
  header.ifi_flags = flags;
  header.ifi_change = IFF_UP;
  return message;
}

}  // namespace

uint8_t address_family(const Address& address) { return address.is_ipv4() ? AF_INET : AF_INET6; }

void put_address(Message& message, int type, const Address& address) {
  message.put_bytes(type, address.raw().data(), address.raw().size());
}

std::optional<Address> read_address(const Attributes& attributes, int type) {
  return from_raw(attributes.bytes(type));
}

MacAddress read_mac(const Attributes& attributes, int type) {
  MacAddress mac;
  const std::span<const uint8_t> bytes = attributes.bytes(type);
  if (bytes.size() == mac.bytes.size()) std::copy(bytes.begin(), bytes.end(), mac.bytes.begin());
  return mac;
}

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
  const auto& header = *static_cast<const ifinfomsg*>(nlmsg_data(&reply));
  Link link;
  link.index = static_cast<uint32_t>(header.ifi_index);
  link.name = attributes.text(IFLA_IFNAME);
  link.mac = read_mac(attributes, IFLA_ADDRESS);
  link.mtu = attributes.u32(IFLA_MTU).value_or(0);
  link.parent = attributes.u32(IFLA_LINK).value_or(0);
  const std::optional<uint32_t> parent_netns = attributes.u32(IFLA_LINK_NETNSID);
  if (parent_netns) link.parent_netns = static_cast<int32_t>(*parent_netns);
  link.is_up = (header.ifi_flags & IFF_UP) != 0;
  link.is_ethernet = header.ifi_type == ARPHRD_ETHER && (header.ifi_flags & IFF_LOOPBACK) == 0;
  return link;
}

namespace {

Result<std::optional<Link>> get_link(nl::Socket& socket, Message message) {
  message.put_u32(IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS);
  std::optional<Link> link;
  const Status status =
      socket.exchange(message, [&](const nlmsghdr& reply) { link = parse_link(reply); });
  if (!status.ok() && status.error().sys_errno() == ENODEV) return std::optional<Link>();
  if (!status.ok()) return status.error();
  return link;
}

}  // namespace

Result<std::optional<Link>> find_link(nl::Socket& socket, const std::string& name,
                                      std::optional<int32_t> netns_id) {
  if (name.empty() || name.size() >= IFNAMSIZ) return std::optional<Link>();
  Message message = link_message(RTM_GETLINK, 0, str("look up link ", quote(name)));
  if (netns_id.has_value()) message.put_s32(IFLA_TARGET_NETNSID, *netns_id);
  message.put_text(IFLA_IFNAME, name);
  return get_link(socket, std::move(message));
}

Status exchange_all(nl::Socket& socket, std::vector<Message>& requests) {
  for (size_t first = 0; first < requests.size(); first += kBatch) {
    const size_t count = std::min(kBatch, requests.size() - first);
    const std::span<Message> batch = std::span(requests).subspan(first, count);
    batch.back().request_ack();
    TRY(socket.exchange(batch));
  }
  return {};
}

uint32_t group_of(const MacAddress& mac) {
  uint32_t group = 0;
  for (size_t i = 2; i < mac.bytes.size(); ++i) group = group << 8 | mac.bytes[i];
  return std::max(group, uint32_t{1});
}

Session::Session(nl::Socket socket) : socket_(std::make_unique<nl::Socket>(std::move(socket))) {}
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;
Session::~Session() = default;
nl::Socket Session::take_socket() && { return std::move(*socket_); }

Result<Session> Session::open(const Namespace& in) {
  return Session(TRY(nl::Socket::open(in, NETLINK_ROUTE)));
}

Result<std::optional<Link>> Session::find_link(const std::string& name) {
  return netns::find_link(*socket_, name, std::nullopt);
}

Result<std::optional<Link>> Session::find_link(uint32_t index) {
  if (index == 0) return std::optional<Link>();
  return get_link(*socket_, link_message(RTM_GETLINK, index, str("look up link ", index)));
}

Result<std::vector<Link>> Session::links() {
  Message message = link_message(RTM_GETLINK, 0, "list links");
  message.raw()->nlmsg_flags |= NLM_F_DUMP;
  message.put_u32(IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS);
  return list<Link>(*socket_, message,
                    [](const nlmsghdr& reply) { return std::optional(parse_link(reply)); });
}

Status Session::create_macvlan(const Macvlan& macvlan, const Namespace& target) {
  const bool is_private = macvlan.mode == MacvlanMode::kPrivate;
  Message message = link_message(RTM_NEWLINK, 0, str("create macvlan ", quote(macvlan.name)));
  message.raw()->nlmsg_flags |= NLM_F_CREATE | NLM_F_EXCL;
  message.put_text(IFLA_IFNAME, macvlan.name);
  message.put_s32(IFLA_NET_NS_FD, target.fd());
  message.put_u32(IFLA_LINK, macvlan.parent);
  message.put_bytes(IFLA_ADDRESS, macvlan.mac.bytes.data(), macvlan.mac.bytes.size());
  message.put_u32(IFLA_GROUP, group_of(macvlan.mac));
  if (macvlan.mtu != 0) message.put_u32(IFLA_MTU, macvlan.mtu);
  message.nest(IFLA_LINKINFO, [&] {
    message.put_text(IFLA_INFO_KIND, "macvlan");
    message.nest(IFLA_INFO_DATA, [&] {
      message.put_u32(IFLA_MACVLAN_MODE, is_private ? MACVLAN_MODE_PRIVATE : MACVLAN_MODE_BRIDGE);
    });
  });
  message.request_ack();
  return socket_->exchange(message);
}

Status Session::move_link(uint32_t index, const std::string& name, const Namespace& target) {
  Message message = link_message(
      RTM_SETLINK, index, str("move link ", index, " to another namespace as ", quote(name)));
  message.put_s32(IFLA_NET_NS_FD, target.fd());
  message.put_text(IFLA_IFNAME, name);
  message.request_ack();
  return socket_->exchange(message);
}

Status Session::rename_link(uint32_t index, const std::string& name) {
  std::vector<Message> batch;
  batch.push_back(up_or_down(index, 0));
  batch.push_back(
      link_message(RTM_SETLINK, index, str("rename link ", index, " to ", quote(name))));
  batch.back().put_text(IFLA_IFNAME, name);
  return exchange_all(*socket_, batch);
}

Status Session::set_mtu(uint32_t index, uint32_t mtu) {
  Message message = link_message(RTM_SETLINK, index, str("set MTU ", mtu, " of link ", index));
  message.put_u32(IFLA_MTU, mtu);
  message.request_ack();
  return socket_->exchange(message);
}

Status Session::bring_up(const Link& link, const Interface& interface) {
  std::vector<Message> batch;
  batch.push_back(settings_message(link, interface.name));
  batch.push_back(no_link_local_message(link.index));
  // The address comes before "up": the kernel announces (arp_notify) only an address that is there
  // then.
  batch.push_back(add_address_message(link.index, interface.address));
  batch.push_back(up_or_down(link.index, IFF_UP));
  for (const Address& peer : interface.peers) {
    batch.push_back(add_route_message(link.index, interface.address, peer));
  }
  return exchange_all(*socket_, batch);
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
