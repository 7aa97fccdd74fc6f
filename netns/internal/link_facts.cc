// SPDX-License-Identifier: Apache-2.0
#include "netns/internal/link_facts.h"

#include <linux/if.h>
#include <linux/if_arp.h>
#include <linux/if_link.h>
#include <linux/net_namespace.h>
#include <linux/rtnetlink.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <functional>

#include "base/names.h"
#include "base/text.h"
#include "netns/internal/route_messages.h"

namespace netns::internal {

using namespace base::names;
using nl::Attributes;
using nl::Message;

namespace {

constexpr size_t kLongestAlternativeName = 127;  // ALTIFNAMSIZ - 1

// Returns the payload of the attribute at the end of PATH, a way through nests; empty if absent.
std::span<const uint8_t> find_nested(const Attributes& attributes, std::span<const int> path) {
  std::span<const uint8_t> data = attributes.bytes(path.front());
  for (const int type : path.subspan(1)) {
    const void* const nest = data.data();
    const nlattr* const found =
        nla_find(static_cast<const nlattr*>(nest), static_cast<int>(data.size()), type);
    if (found == nullptr) return {};
    data = {static_cast<const uint8_t*>(nla_data(found)), static_cast<size_t>(nla_len(found))};
  }
  return data;
}

constexpr std::array kKind{int{IFLA_LINKINFO}, int{IFLA_INFO_KIND}};
constexpr std::array kMacvlanMode{int{IFLA_LINKINFO}, int{IFLA_INFO_DATA}, int{IFLA_MACVLAN_MODE}};

std::string kind_of(const Attributes& attributes) {
  const std::span<const uint8_t> kind = find_nested(attributes, kKind);
  return {kind.begin(), std::find(kind.begin(), kind.end(), uint8_t{0})};
}

// Returns whether the frames of such a link leave by the link below it.
bool is_carried(const std::string& kind) {
  return kind == "vlan" || kind == "macvlan" || kind == "macvtap" || kind == "macsec";
}

// The number of attempts at a dump that the kernel reports as changed meanwhile.
constexpr int kDumps = 5;

Status dump(nl::Socket& socket, const std::function<Message()>& request,
            const nl::Socket::OnReply& on_reply) {
  Status status;
  for (int i = 0; i < kDumps; ++i) {
    Message message = request();
    message.raw()->nlmsg_flags |= NLM_F_DUMP;
    status = socket.exchange(message, on_reply);
    if (status.ok() || status.error().sys_errno() != EINTR) break;
  }
  return status;
}

Message id_request() {
  Message message(RTM_GETNSID, 0, "look up the ids of network namespaces");
  message.header(rtgenmsg{.rtgen_family = AF_UNSPEC});
  return message;
}

std::optional<int32_t> id_of(const nlmsghdr& reply) {
  const auto id = Attributes(reply, sizeof(rtgenmsg), NETNSA_MAX).u32(NETNSA_NSID);
  if (!id.has_value() || static_cast<int32_t>(*id) < 0) return std::nullopt;
  return static_cast<int32_t>(*id);
}

Result<std::vector<int32_t>> known_namespaces(nl::Socket& socket) {
  std::vector<int32_t> ids;
  TRY(dump(socket, id_request, [&](const nlmsghdr& reply) {
    if (const auto id = id_of(reply)) ids.push_back(*id);
  }));
  return ids;
}

// Returns the id by which OF knows itself. It has one after a foreign link that leads to it was
// seen.
std::optional<int32_t> own_id(nl::Socket& socket, const Namespace& of) {
  Message message = id_request();
  message.put_s32(NETNSA_FD, of.fd());
  message.request_ack();
  std::optional<int32_t> id;
  const Status status = socket.exchange(message, [&](const nlmsghdr& reply) { id = id_of(reply); });
  return status.ok() ? id : std::nullopt;
}

// A child's hold on a link, and the id of the link's namespace as seen from the socket's own;
// unset: the child's namespace.
struct Hold {
  std::string by;
  std::optional<uint32_t> parent_netns;
};

// Returns the holds of one namespace's links on a link INDEX: those of NETNS_ID, or the socket's
// own.
Result<std::vector<Hold>> holds_in(nl::Socket& socket, std::optional<int32_t> netns_id,
                                   uint32_t index) {
  const auto request = [&] {
    Message message = link_message(RTM_GETLINK, 0, "list links");
    if (netns_id.has_value()) message.put_s32(IFLA_TARGET_NETNSID, *netns_id);
    message.put_u32(IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS);
    return message;
  };
  std::vector<Hold> holds;
  TRY(dump(socket, request, [&](const nlmsghdr& reply) {
    const Attributes attributes(reply, sizeof(ifinfomsg), IFLA_MAX);
    if (attributes.u32(IFLA_LINK) != index) return;
    const std::optional<std::string> by = parse_hold(reply);
    if (by.has_value()) holds.push_back({*by, attributes.u32(IFLA_LINK_NETNSID)});
  }));
  return holds;
}

Result<std::optional<LinkAnswer>> get(nl::Socket& socket, Message message) {
  message.put_u32(IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS);
  message.request_ack();
  std::optional<LinkAnswer> found;
  const Status status =
      socket.exchange(message, [&](const nlmsghdr& reply) { found = parse_link_facts(reply); });
  if (!status.ok() && status.error().sys_errno() == ENODEV) return std::optional<LinkAnswer>();
  if (!status.ok()) return status.error();
  return found;
}

}  // namespace

LinkAnswer parse_link_facts(const nlmsghdr& reply) {
  const auto& header = *static_cast<const ifinfomsg*>(nlmsg_data(&reply));
  const Attributes attributes(reply, sizeof(ifinfomsg), IFLA_MAX);
  const Link link = parse_link(reply);
  LinkAnswer answer;
  answer.master = attributes.u32(IFLA_MASTER).value_or(0);
  LinkFacts& facts = answer.facts;
  facts.index = link.index;
  facts.name = link.name;
  facts.mac = link.mac;
  facts.mtu = link.mtu;
  facts.max_mtu = attributes.u32(IFLA_MAX_MTU).value_or(0);
  facts.kind = kind_of(attributes);
  const bool is_here = !attributes.u32(IFLA_LINK_NETNSID).has_value();
  if (is_carried(facts.kind) && is_here) answer.below = link.parent;
  facts.is_ethernet = header.ifi_type == ARPHRD_ETHER;
  facts.is_loopback = (header.ifi_flags & IFF_LOOPBACK) != 0;
  facts.is_up = (header.ifi_flags & IFF_UP) != 0;
  facts.has_carrier = (header.ifi_flags & IFF_LOWER_UP) != 0;
  return answer;
}

Result<std::optional<LinkAnswer>> find_link_facts(nl::Socket& socket, const std::string& name) {
  if (name.empty() || name.size() > kLongestAlternativeName) return std::optional<LinkAnswer>();
  Message message = link_message(RTM_GETLINK, 0, str("look up link ", base::quote(name)));
  message.put_text(name.size() < IFNAMSIZ ? IFLA_IFNAME : IFLA_ALT_IFNAME, name);
  return get(socket, std::move(message));
}

Result<std::optional<LinkAnswer>> find_link_facts(nl::Socket& socket, uint32_t index) {
  return get(socket, link_message(RTM_GETLINK, index, str("look up link ", index)));
}

std::optional<std::string> parse_hold(const nlmsghdr& reply) {
  const Attributes child(reply, sizeof(ifinfomsg), IFLA_MAX);
  const std::string kind = kind_of(child);
  if (kind == "ipvlan" || kind == "ipvtap") return str("an ", kind);
  if (kind == "macsec") return "a macsec";
  if (kind != "macvlan" && kind != "macvtap") return std::nullopt;
  const std::span<const uint8_t> data = find_nested(child, kMacvlanMode);
  uint32_t mode = 0;
  if (data.size() >= sizeof mode) std::memcpy(&mode, data.data(), sizeof mode);
  return mode == MACVLAN_MODE_PASSTHRU ? str("a ", kind, " in mode passthru") : "";
}

Result<std::string> find_taker(nl::Socket& socket, const Namespace& host, uint32_t index) {
  for (const Hold& hold : TRY(holds_in(socket, std::nullopt, index))) {
    if (!hold.parent_netns.has_value()) return hold.by;
  }
  for (const int32_t id : TRY(known_namespaces(socket))) {
    const Result<std::vector<Hold>> holds = holds_in(socket, id, index);
    if (!holds.ok()) continue;  // it has just ended, or is another party's
    for (const Hold& hold : holds.value()) {
      if (!hold.parent_netns.has_value()) continue;
      const std::optional<int32_t> own = own_id(socket, host);
      // All children hold a parent in the same way, so the first one decides.
      if (own.has_value() && static_cast<uint32_t>(*own) == *hold.parent_netns) return hold.by;
    }
  }
  return std::string();
}

}  // namespace netns::internal
