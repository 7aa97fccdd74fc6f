// SPDX-License-Identifier: Apache-2.0
#include "netns/filter_watch.h"

#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>

#include "base/names.h"
#include "netns/internal/events.h"
#include "netns/internal/nft_table.h"
#include "netns/internal/nl.h"

namespace netns {

using namespace base::names;

namespace {

bool removes(const nlmsghdr& event) {
  if (NFNL_SUBSYS_ID(event.nlmsg_type) != NFNL_SUBSYS_NFTABLES) return false;
  switch (NFNL_MSG_TYPE(event.nlmsg_type)) {
    case NFT_MSG_DELTABLE:
    case NFT_MSG_DELCHAIN:
    case NFT_MSG_DELRULE:
    case NFT_MSG_DELSET:
    case NFT_MSG_DELSETELEM:
      break;
    default:
      return false;
  }
  // The table is attribute 1 of all of them: NFTA_TABLE_NAME, NFTA_CHAIN_TABLE, ...
  const std::string table = nl::Attributes(event, sizeof(nfgenmsg), 1).text(1);
  return table == nft::kBorderName || table == nft::kGuardName;
}

}  // namespace

Result<FilterWatch> FilterWatch::open(const Namespace& host) {
  return FilterWatch(TRY(internal::open_events(host, NETLINK_NETFILTER, NFNLGRP_NFTABLES)));
}

Result<FilterWatch::Seen> FilterWatch::read() {
  bool is_removed = false;
  const internal::Lost lost = TRY(internal::read_events(
      socket_, [&](const nlmsghdr& event) { is_removed = is_removed || removes(event); }));
  return is_removed || lost == internal::Lost::kSome ? Seen::kRemoval : Seen::kNothing;
}

}  // namespace netns
