// SPDX-License-Identifier: Apache-2.0
#include "netns/filter_watch.h"

#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <sys/socket.h>

#include <cerrno>
#include <vector>

#include "base/names.h"
#include "netns/internal/nft_table.h"
#include "netns/internal/nl.h"
#include "netns/internal/scope.h"

namespace netns {

using namespace base::names;

namespace {

constexpr size_t kBytes = 32768;
constexpr int kMostDatagrams = 10'000;  // in one call

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
  base::Fd socket = TRY(
      internal::open_socket(host.fd(), AF_NETLINK, SOCK_RAW | SOCK_NONBLOCK, NETLINK_NETFILTER));
  sockaddr_nl address{};
  address.nl_family = AF_NETLINK;
  address.nl_groups = 1U << (NFNLGRP_NFTABLES - 1);
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return Error::from_errno(errno, "watch the packet filter of the host");
  }
  return FilterWatch(std::move(socket));
}

Result<FilterWatch::Seen> FilterWatch::read() {
  Seen seen = Seen::kNothing;
  std::vector<char> buffer(kBytes);
  for (int datagram = 0; datagram < kMostDatagrams; ++datagram) {
    sockaddr_nl sender{};
    socklen_t length = sizeof sender;
    const ssize_t size = ::recvfrom(socket_.get(), buffer.data(), buffer.size(), 0,
                                    reinterpret_cast<sockaddr*>(&sender), &length);
    if (size < 0 && errno == EAGAIN) break;
    if (size < 0 && errno == ENOBUFS) seen = Seen::kRemoval;
    if (size < 0 && errno != EINTR && errno != ENOBUFS) {
      return Error::from_errno(errno, "watch the packet filter of the host");
    }
    if (size < 0 || sender.nl_pid != 0) continue;  // only port 0 is the kernel
    int left = static_cast<int>(size);
    for (auto* event = reinterpret_cast<nlmsghdr*>(buffer.data()); nlmsg_ok(event, left) != 0;
         event = nlmsg_next(event, &left)) {
      if (removes(*event)) seen = Seen::kRemoval;
    }
  }
  return seen;
}

}  // namespace netns
