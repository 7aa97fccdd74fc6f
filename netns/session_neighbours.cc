// SPDX-License-Identifier: Apache-2.0
// The neighbours of a Session: the MAC of each address, as `ip neighbour` shows it.
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <cerrno>

#include "base/names.h"
#include "base/text.h"
#include "netns/internal/nl.h"
#include "netns/internal/route_messages.h"
#include "netns/session.h"

namespace netns {

using base::Removed;
using namespace base::names;
using nl::Attributes;
using nl::Message;

namespace {

Message neighbour_message(int type, int flags, uint32_t index, const Address& address,
                          std::string what) {
  Message message(type, flags, std::move(what));
  ndmsg header{};
  header.ndm_family = address_family(address);
  header.ndm_ifindex = static_cast<int>(index);
  header.ndm_state = NUD_REACHABLE;
  message.header(header);
  put_address(message, NDA_DST, address);
  message.request_ack();
  return message;
}

// Returns nothing for a neighbour of another link, or without an IP address.
std::optional<Neighbour> parse_neighbour(const nlmsghdr& reply, uint32_t index) {
  const auto& header = *static_cast<const ndmsg*>(nlmsg_data(&reply));
  const Attributes attributes(reply, sizeof header, NDA_MAX);
  const std::optional<Address> address = read_address(attributes, NDA_DST);
  const bool is_ip = header.ndm_family == AF_INET || header.ndm_family == AF_INET6;
  if (!is_ip || !address.has_value() || static_cast<uint32_t>(header.ndm_ifindex) != index) {
    return std::nullopt;
  }
  return Neighbour{*address, read_mac(attributes, NDA_LLADDR),
                   (header.ndm_state & NUD_PERMANENT) != 0};
}

}  // namespace

Result<std::vector<Neighbour>> Session::neighbours(uint32_t index) {
  Message message(RTM_GETNEIGH, NLM_F_DUMP, "list neighbours");
  message.header(ndmsg{});
  return list<Neighbour>(*socket_, message,
                         [index](const nlmsghdr& reply) { return parse_neighbour(reply, index); });
}

Status Session::ensure_neighbour(uint32_t index, const Neighbour& neighbour) {
  Message message =
      neighbour_message(RTM_NEWNEIGH, NLM_F_CREATE | NLM_F_REPLACE, index, neighbour.address,
                        str("set neighbour ", to_string(neighbour.address)));
  ndmsg& header = *static_cast<ndmsg*>(nlmsg_data(message.raw()));
  if (neighbour.is_permanent) header.ndm_state = NUD_PERMANENT;
  message.put_bytes(NDA_LLADDR, neighbour.mac.bytes.data(), neighbour.mac.bytes.size());
  return socket_->exchange(message);
}

Result<Removed> Session::remove_neighbour(uint32_t index, const Address& address) {
  Message message = neighbour_message(RTM_DELNEIGH, 0, index, address,
                                      str("remove neighbour ", to_string(address)));
  const Status status = socket_->exchange(message);
  if (status.ok()) return Removed::kNow;
  if (status.error().sys_errno() == ENOENT) return Removed::kWasAbsent;
  return status.error();
}

}  // namespace netns
