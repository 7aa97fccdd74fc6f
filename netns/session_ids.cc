// SPDX-License-Identifier: Apache-2.0
// The part of Session that reaches other namespaces through the ids of its own.
#include <linux/if_link.h>
#include <linux/net_namespace.h>
#include <linux/rtnetlink.h>

#include <cerrno>

#include "base/names.h"
#include "base/text.h"
#include "netns/internal/nl.h"
#include "netns/internal/route_messages.h"
#include "netns/session.h"

namespace netns {

using namespace base::names;
using base::Removed;
using nl::Attributes;
using nl::Message;

namespace {

Message id_message(int type, std::string what) {
  Message message(type, 0, std::move(what));
  message.header(rtgenmsg{.rtgen_family = AF_UNSPEC});
  message.request_ack();
  return message;
}

// The kernel answers EINVAL to a request about an unknown id, and to a malformed one. Only this
// request, RTM_GETNSID, has a distinct errno.
bool is_unknown_id(nl::Socket& socket, int32_t netns_id) {
  Message message = id_message(RTM_GETNSID, "look up a namespace id");
  message.put_s32(NETNSA_NSID, netns_id);
  const Status status = socket.exchange(message);
  return !status.ok() && status.error().sys_errno() == ENOENT;
}

}  // namespace

Result<std::optional<int32_t>> Session::find_netns_id(const Namespace& other) {
  Message message = id_message(RTM_GETNSID, "look up the id of a network namespace");
  message.put_s32(NETNSA_FD, other.fd());
  std::optional<int32_t> id;
  TRY(socket_->exchange(message, [&](const nlmsghdr& reply) {
    const auto value = Attributes(reply, sizeof(rtgenmsg), NETNSA_MAX).u32(NETNSA_NSID);
    if (value.has_value() && static_cast<int32_t>(*value) >= 0) id = static_cast<int32_t>(*value);
  }));
  return id;
}

Result<int32_t> Session::ensure_netns_id(const Namespace& other) {
  const std::optional<int32_t> known = TRY(find_netns_id(other));
  if (known.has_value()) return *known;
  Message message = id_message(RTM_NEWNSID, "give a network namespace an id");
  message.put_s32(NETNSA_NSID, NETNSA_NSID_NOT_ASSIGNED);
  message.put_s32(NETNSA_FD, other.fd());
  Status status = socket_->exchange(message);
  // Another process may have assigned one first.
  if (!status.ok() && status.error().sys_errno() != EEXIST) return std::move(status).error();
  const std::optional<int32_t> made = TRY(find_netns_id(other));
  if (!made.has_value()) return Error(Code::kInternal, "a network namespace got no id");
  return *made;
}

Result<std::optional<Link>> Session::find_link_in(int32_t netns_id, const std::string& name) {
  Result<std::optional<Link>> link = netns::find_link(*socket_, name, netns_id);
  if (!link.ok() && link.error().sys_errno() == EINVAL && is_unknown_id(*socket_, netns_id)) {
    return std::optional<Link>();
  }
  return link;
}

Result<Removed> Session::remove_group_in(int32_t netns_id, uint32_t group) {
  Message message = link_message(RTM_DELLINK, 0, str("remove links of group ", group));
  message.put_s32(IFLA_TARGET_NETNSID, netns_id);
  message.put_u32(IFLA_GROUP, group);
  message.request_ack();
  const Status status = socket_->exchange(message);
  if (status.ok()) return Removed::kNow;
  const int err = status.error().sys_errno();
  if (err == ENODEV || (err == EINVAL && is_unknown_id(*socket_, netns_id))) {
    return Removed::kWasAbsent;
  }
  return status.error();
}

}  // namespace netns
