// SPDX-License-Identifier: Apache-2.0
// The addresses and routes of a Session.
#include <arpa/inet.h>
#include <linux/if_addr.h>
#include <linux/rtnetlink.h>

#include <cerrno>
#include <cstring>

#include "base/text.h"
#include "netns/internal/nl.h"
#include "netns/session.h"

namespace netns {

using base::Result;
using base::Status;
using base::str;
using nl::Attributes;
using nl::Message;

namespace {

Message address_message(int type, int flags, uint32_t index, std::string what) {
  Message message(type, flags, std::move(what));
  ifaddrmsg header{};
  header.ifa_family = AF_INET;
  header.ifa_prefixlen = 32;
  header.ifa_index = index;
  message.header(header);
  return message;
}

Message host_route(uint32_t index, Ipv4 source, Ipv4 to) {
  Message message(RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL, str("add route to ", to_string(to)));
  rtmsg header{};
  header.rtm_family = AF_INET;
  header.rtm_dst_len = 32;
  header.rtm_table = RT_TABLE_MAIN;
  header.rtm_protocol = RTPROT_STATIC;
  header.rtm_scope = RT_SCOPE_LINK;
  header.rtm_type = RTN_UNICAST;
  message.header(header);
  message.put_be32(RTA_DST, to.value);
  message.put_be32(RTA_PREFSRC, source.value);
  message.put_u32(RTA_OIF, index);
  return message;
}

Message prohibit_route(int type, int flags, const Ipv4Prefix& prefix) {
  Message message(type, flags, str("prohibit route to ", to_string(prefix)));
  rtmsg header{};
  header.rtm_family = AF_INET;
  header.rtm_dst_len = prefix.length;
  header.rtm_table = RT_TABLE_MAIN;
  header.rtm_protocol = RTPROT_STATIC;
  header.rtm_scope = RT_SCOPE_UNIVERSE;
  header.rtm_type = RTN_PROHIBIT;
  message.header(header);
  message.put_be32(RTA_DST, prefix.address.value);
  message.put_u32(RTA_PRIORITY, kProhibitMetric);
  message.request_ack();
  return message;
}

// How often a list is read anew when something changed it meanwhile.
constexpr int kListAttempts = 8;

Result<std::vector<Ipv4>> list_addresses(nl::Socket& socket) {
  Message message = address_message(RTM_GETADDR, NLM_F_DUMP, 0, "list addresses");
  std::vector<Ipv4> addresses;
  TRY(socket.exchange(message, [&](const nlmsghdr& reply) {
    const Attributes attributes(reply, sizeof(ifaddrmsg), IFA_MAX);
    const std::optional<uint32_t> local = attributes.u32(IFA_LOCAL);
    if (local.has_value()) addresses.push_back(Ipv4{ntohl(*local)});
  }));
  return addresses;
}

}  // namespace

Status Session::add_address(uint32_t index, Ipv4 address) {
  Message message = address_message(RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, index,
                                    str("add address ", to_string(address)));
  message.put_be32(IFA_LOCAL, address.value);
  message.put_be32(IFA_ADDRESS, address.value);
  message.request_ack();
  return socket_->exchange(message);
}

Result<std::vector<Ipv4>> Session::addresses() {
  Result<std::vector<Ipv4>> list = list_addresses(*socket_);
  for (int i = 1; i < kListAttempts && !list.ok() && list.error().sys_errno() == EINTR; ++i) {
    list = list_addresses(*socket_);
  }
  return list;
}

Status Session::add_host_routes(uint32_t index, Ipv4 source, const std::vector<Ipv4>& to) {
  if (to.empty()) return {};
  std::vector<Message> batch;
  for (const Ipv4 address : to) batch.push_back(host_route(index, source, address));
  batch.back().request_ack();
  return socket_->exchange(batch);
}

Status Session::ensure_prohibited(const std::vector<Ipv4Prefix>& prefixes) {
  for (const Ipv4Prefix& prefix : prefixes) {
    Message message = prohibit_route(RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL, prefix);
    Status status = socket_->exchange(message);
    if (!status.ok() && status.error().sys_errno() != EEXIST) return status;
  }
  return {};
}

Status Session::remove_prohibited(const std::vector<Ipv4Prefix>& prefixes) {
  Status first_failure;
  for (const Ipv4Prefix& prefix : prefixes) {
    Message message = prohibit_route(RTM_DELROUTE, 0, prefix);
    Status status = socket_->exchange(message);
    if (!status.ok() && status.error().sys_errno() != ESRCH && first_failure.ok()) {
      first_failure = std::move(status);
    }
  }
  return first_failure;
}

}  // namespace netns
