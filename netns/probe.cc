// SPDX-License-Identifier: Apache-2.0
#include "netns/probe.h"

#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/fd.h"
#include "base/names.h"
#include "base/text.h"
#include "netns/internal/link_facts.h"
#include "netns/internal/neighbour_packets.h"
#include "netns/internal/nl.h"
#include "netns/internal/scope.h"

namespace netns {

using namespace base::names;
using base::Fd;

namespace {

constexpr int kProbes = 3;  // PROBE_NUM of RFC 5227: a frame or its answer may be lost

// A packet socket on one interface, for the frames that show which host has an address.
class ProbeSocket {
 public:
  static Result<ProbeSocket> open(const Namespace& host, const LinkFacts& parent,
                                  const Address& address) {
    // Protocol 0 prevents packets from arriving before the filter is in place.
    ProbeSocket socket(TRY(internal::open_socket(host.fd(), AF_PACKET, SOCK_RAW, 0)), parent);
    TRY(socket.listen(address));
    return socket;
  }

  Status send(const std::vector<uint8_t>& frame) {
    if (::send(fd_.get(), frame.data(), frame.size(), 0) < 0) return failed("send a probe");
    return {};
  }

  // Returns the next frame; empty at DEADLINE.
  Result<std::span<const uint8_t>> receive(const Deadline& deadline) {
    pollfd ready{.fd = fd_.get(), .events = POLLIN, .revents = 0};
    const int count = poll(&ready, 1, static_cast<int>(deadline.left().count()));
    if (count < 0 && errno != EINTR) return failed("wait for an answer to a probe");
    if (count <= 0) return std::span<const uint8_t>();
    sockaddr_ll from{};
    socklen_t from_size = sizeof from;
    void* const generic = &from;
    const ssize_t size = recvfrom(fd_.get(), buffer_.data(), buffer_.size(), MSG_DONTWAIT,
                                  static_cast<sockaddr*>(generic), &from_size);
    if (size < 0 && errno != EAGAIN && errno != EINTR) return failed("receive answers to a probe");
    // Skips a frame for another host, or of a VLAN, which is another network.
    if (size < 0 || from.sll_pkttype == PACKET_OTHERHOST) return std::span<const uint8_t>();
    return std::span<const uint8_t>(buffer_).first(static_cast<size_t>(size));
  }

  Fd take_fd() && { return std::move(fd_); }

 private:
  ProbeSocket(Fd fd, const LinkFacts& parent) : fd_(std::move(fd)), parent_(parent) {}
  [[nodiscard]] Error failed(std::string_view what) const {
    return Error::from_errno(errno, str(what, " on ", quote(parent_.name)));
  }

  Status listen(const Address& address) {
    if (!address.is_ipv4()) TRY(keep_neighbour_discovery());
    TRY(join(address));
    sockaddr_ll at{};
    at.sll_family = AF_PACKET;
    at.sll_protocol = htons(address.is_ipv4() ? ETH_P_ARP : ETH_P_IPV6);
    at.sll_ifindex = static_cast<int>(parent_.index);
    const void* const generic = &at;
    if (bind(fd_.get(), static_cast<const sockaddr*>(generic), sizeof at) != 0) {
      return failed("listen for answers to a probe");
    }
    return {};
  }

  // Keeps only solicitations and advertisements: all IPv6 packets of the interface could overrun
  // the socket.
  Status keep_neighbour_discovery() {
    constexpr uint32_t kProtocolAt = 20;
    constexpr uint32_t kTypeAt = 54;
    constexpr uint32_t kWhole = 0xffff;
    std::array<sock_filter, 7> program{{
        BPF_STMT(BPF_LD | BPF_B | BPF_ABS, kProtocolAt),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IPPROTO_ICMPV6, 0, 3),
        BPF_STMT(BPF_LD | BPF_B | BPF_ABS, kTypeAt),
        BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, 136, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 135, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, 0),
        BPF_STMT(BPF_RET | BPF_K, kWhole),
    }};
    const sock_fprog filter{.len = program.size(), .filter = program.data()};
    if (setsockopt(fd_.get(), SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof filter) != 0) {
      return failed("filter answers to a probe");
    }
    return {};
  }

  // Makes the interface receive what is sent to these groups, as long as the socket is open.
  Status join(const Address& address) {
    for (const MacAddress& group : internal::groups_of(address)) {
      packet_mreq member{};
      member.mr_ifindex = static_cast<int>(parent_.index);
      member.mr_type = PACKET_MR_MULTICAST;
      member.mr_alen = ETH_ALEN;
      std::copy(group.bytes.begin(), group.bytes.end(), std::begin(member.mr_address));
      if (setsockopt(fd_.get(), SOL_PACKET, PACKET_ADD_MEMBERSHIP, &member, sizeof member) != 0) {
        return failed("listen for answers to a probe");
      }
    }
    return {};
  }

  Fd fd_;
  LinkFacts parent_;
  std::array<uint8_t, 2048> buffer_{};
};

Status ask(ProbeSocket& socket, const LinkFacts& parent, const Address& address,
           const Deadline& deadline, std::optional<MacAddress>& claimant) {
  for (int to_send = kProbes; to_send > 0; --to_send) {
    TRY(socket.send(internal::probe_frame(parent.mac, address)));
    const auto next = deadline.capped(deadline.left() / to_send);
    while (!next.passed()) {
      const std::span<const uint8_t> frame = TRY(socket.receive(next));
      claimant = internal::find_claimant(frame, address, parent.mac);
      if (claimant) return {};
    }
  }
  return {};
}

}  // namespace

Result<Probed> probe_address(const Namespace& host, const std::string& parent,
                             const Address& address, const Deadline& deadline) {
  nl::Socket links = TRY(nl::Socket::open(host, NETLINK_ROUTE));
  const auto answer = TRY(internal::find_link_facts(links, parent));
  if (!answer) return Error(Code::kNotFound, str("there is no interface ", quote(parent)));
  if (!answer->facts.is_ethernet) {
    return Error(Code::kInvalid, str(quote(parent), " is not an Ethernet interface"));
  }
  Probed probed;
  if (!answer->facts.has_carrier) return probed;
  Result<ProbeSocket> socket = ProbeSocket::open(host, answer->facts, address);
  const Status asked = socket.ok()
                           ? ask(socket.value(), answer->facts, address, deadline, probed.claimant)
                           : Status(socket.error());
  if (!asked.ok() && asked.error().sys_errno() != ENETDOWN) return asked.error();
  if (socket.ok()) probed.socket = std::move(socket.value()).take_fd();
  return probed;
}

}  // namespace netns
