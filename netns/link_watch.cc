// SPDX-License-Identifier: Apache-2.0
#include "netns/link_watch.h"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>

#include "base/names.h"
#include "netns/internal/events.h"
#include "netns/internal/route_messages.h"

namespace netns {

using namespace base::names;

Result<LinkWatch> LinkWatch::open(const Namespace& host) {
  LinkWatch watch(TRY(internal::open_events(host, NETLINK_ROUTE, RTNLGRP_LINK)));
  Session session = TRY(Session::open(host));
  for (const Link& link : TRY(session.links())) watch.known_[link.index] = {link.name, link.mac};
  return watch;
}

Result<LinkWatch::Seen> LinkWatch::read() {
  bool is_changed = false;
  const auto look = [&](const nlmsghdr& event) {
    if (nlmsg_datalen(&event) < static_cast<int>(sizeof(ifinfomsg))) return;
    const Link link = parse_link(event);
    if (event.nlmsg_type == RTM_DELLINK) known_.erase(link.index);
    if (event.nlmsg_type != RTM_NEWLINK) return;
    const std::pair now{link.name, link.mac};
    const auto [known, is_new] = known_.try_emplace(link.index, now);
    is_changed = is_changed || known->second != now;
    known->second = now;
  };
  const internal::Lost lost = TRY(internal::read_events(socket_, look));
  return is_changed || lost == internal::Lost::kSome ? Seen::kChange : Seen::kNothing;
}

}  // namespace netns
