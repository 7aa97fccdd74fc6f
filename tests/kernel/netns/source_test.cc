// SPDX-License-Identifier: Apache-2.0
// What is on the wire while a process without capabilities tries everything to be somebody else:
// every frame at the other end of the parent is looked at.
#include <gtest/gtest.h>
#include <net/if.h>
#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <set>

#include "base/text.h"
#include "netns/attach.h"
#include "netns/filter.h"
#include "netns/internal/scope.h"
#include "netns/session.h"
#include "tests/kernel/netns/capture.h"
#include "tests/kernel/netns/world.h"

namespace netns {
namespace {

using base::str;

// What is tried: every source by every device to every destination, by every protocol.
struct Tries {
  std::vector<std::optional<Address>> sources;
  std::vector<std::string> devices;
  std::vector<Address> destinations;
};

// The result of a try does not matter, only what is on the wire.
template <typename Function>
void attempt(Function function) {
  try {
    function();
  } catch (const std::exception&) {
    return;
  }
}

// The kernel tells the routers of a link which groups it has joined.
void join_group(const Namespace& in, const Address& group) {
  const base::Fd fd = make_socket({in}, SOCK_DGRAM, group);
  group_req request{};
  request.gr_interface = if_nametoindex("roce0");
  const SocketAddress address = socket_address(group, 0);
  std::memcpy(&request.gr_group, &address.storage, address.size);
  const int level = group.is_ipv4() ? int{IPPROTO_IP} : int{IPPROTO_IPV6};
  if (setsockopt(fd.get(), level, MCAST_JOIN_GROUP, &request, sizeof request) != 0) _exit(250);
}

void try_all(const Namespace& in, const Tries& tries, uint16_t port) {
  constexpr std::chrono::milliseconds kNoWait{0};
  for (const auto& source : tries.sources) {
    for (const std::string& device : tries.devices) {
      for (const Address& to : tries.destinations) {
        Client client{in};
        client.device = device;
        client.source = source;
        attempt([&] { connect_tcp(client, to, port, kNoWait); });
        attempt([&] { connect_tcp(client, to, 8090, kNoWait); });
        attempt([&] { try_send_udp(client, to, 4791); });
        attempt([&] { try_send_udp(client, to, 53); });
        attempt([&] { ping(client, to, kNoWait); });
      }
    }
  }
}

// A datagram with one control message or none, by a socket that OPTION was set on.
struct Option {
  int level;
  int name;
  std::vector<uint8_t> value;
};

int send_with(const Namespace& in, const Address& to, const Option& option, const Option& control) {
  const base::Fd fd = make_socket({in, "roce0"}, SOCK_DGRAM, to);
  if (!option.value.empty() && setsockopt(fd.get(), option.level, option.name, option.value.data(),
                                          static_cast<socklen_t>(option.value.size())) != 0) {
    return errno;
  }
  SocketAddress address = socket_address(to, 4791);
  char byte = 'x';
  iovec part{.iov_base = &byte, .iov_len = 1};
  alignas(cmsghdr) std::array<uint8_t, 128> buffer{};
  msghdr message{};
  message.msg_name = &address.storage;
  message.msg_namelen = address.size;
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (!control.value.empty()) {
    message.msg_control = buffer.data();
    message.msg_controllen = CMSG_SPACE(control.value.size());
    cmsghdr& header = *CMSG_FIRSTHDR(&message);
    header.cmsg_level = control.level;
    header.cmsg_type = control.name;
    header.cmsg_len = CMSG_LEN(control.value.size());
    std::memcpy(CMSG_DATA(&header), control.value.data(), control.value.size());
  }
  return sendmsg(fd.get(), &message, 0) == 1 ? 0 : errno;
}

template <typename T>
std::vector<uint8_t> bytes_of(const T& value) {
  std::vector<uint8_t> bytes(sizeof value);
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

std::vector<uint8_t> loose_source_route(const Address& last) {
  std::vector<uint8_t> option{IPOPT_LSRR, 7, 4};
  option.insert(option.end(), last.raw().begin(), last.raw().end());
  option.push_back(IPOPT_END);
  return option;
}

// A segment routing header, which leads to LAST by the destination.
std::vector<uint8_t> segment_route(const Address& first, const Address& last) {
  std::vector<uint8_t> header{0, 4, 4, 1, 1, 0, 0, 0};
  header.insert(header.end(), last.raw().begin(), last.raw().end());
  header.insert(header.end(), first.raw().begin(), first.raw().end());
  return header;
}

in_pktinfo from_ipv4(const Address& source) {
  in_pktinfo info{};
  std::memcpy(&info.ipi_spec_dst, source.raw().data(), source.raw().size());
  return info;
}

in6_pktinfo from_ipv6(const Address& source) {
  in6_pktinfo info{};
  std::memcpy(&info.ipi6_addr, source.raw().data(), source.raw().size());
  return info;
}

class SourceTest : public World {
 protected:
  void SetUp() override {
    World::SetUp();
    if (IsSkipped()) return;
    container_ = make_namespace();
    add_docker_network(container());
    allow_ping(container());
  }
  [[nodiscard]] const Namespace& container() const { return *container_; }

  // Every frame is RAIL's, from its MAC, and goes to PEERS; the kinds of frames that were seen.
  static std::set<std::string> check_frames(const std::vector<Frame>& frames, const RailPlan& rail,
                                            const std::set<Address>& peers);

 private:
  std::optional<Namespace> container_;
};

bool is_discovery(const Frame& frame) {
  return frame.protocol == IPPROTO_ICMPV6 && frame.icmp_type >= ND_ROUTER_SOLICIT &&
         frame.icmp_type <= ND_NEIGHBOR_ADVERT;
}

std::string kind_of(const Frame& frame) {
  if (frame.kind == FrameKind::kArp) return "ARP";
  if (is_discovery(frame)) return "discovery";
  if (frame.protocol == IPPROTO_TCP) return "TCP";
  if (frame.protocol == IPPROTO_UDP) return "UDP";
  if (frame.protocol == IPPROTO_ICMP || frame.protocol == IPPROTO_ICMPV6) return "ICMP";
  return "other";
}

std::set<std::string> SourceTest::check_frames(const std::vector<Frame>& frames,
                                               const RailPlan& rail,
                                               const std::set<Address>& peers) {
  std::set<std::string> kinds;
  for (const Frame& frame : frames) {
    kinds.insert(kind_of(frame));
    EXPECT_EQ(frame.source_mac, rail.mac) << to_string(frame);
    EXPECT_EQ(frame.source, rail.address) << to_string(frame);
    if (frame.kind == FrameKind::kArp) {
      EXPECT_EQ(frame.arp_sender_mac, rail.mac) << to_string(frame);
      EXPECT_TRUE(peers.contains(frame.destination) || frame.destination == rail.address)
          << to_string(frame);
    } else if (!is_discovery(frame)) {
      EXPECT_TRUE(peers.contains(frame.destination)) << to_string(frame);
    }
    const bool is_udp = frame.protocol == IPPROTO_UDP;
    EXPECT_TRUE(!is_udp || frame.port == 4791) << to_string(frame);
  }
  return kinds;
}

TEST_F(SourceTest, IsAlwaysTheContainersOwn) {
  silence_the_wire();
  Capture wire(fabric(), "fab0");
  must(attach(plan(), host(), container()));
  const Tries tries{
      .sources = {std::nullopt, ip("10.5.200.1"), ip("172.30.1.2"), other_, host_address_,
                  ip("127.0.0.1")},
      .devices = {"roce0", ""},
      .destinations = {own_, other_, ip("10.5.1.77"), host_address_, ip("10.5.255.255"),
                       ip("255.255.255.255"), ip("224.0.0.251")},
  };
  EXPECT_EQ(confined(container(),
                     [&] {
                       join_group(container(), ip("224.0.0.251"));
                       try_all(container(), tries, peer_.port);
                       return 0;
                     }),
            0);
  const auto kinds =
      check_frames(wire.frames(std::chrono::milliseconds(1200)), plan().rails[0], {own_});
  EXPECT_EQ(kinds, (std::set<std::string>{"ARP", "ICMP", "TCP", "UDP"}));
}

TEST_F(SourceTest, IsItsOwnAlsoWhenTheLinkGoesDownAndUp) {
  silence_the_wire();
  must(attach(plan(), host(), container()));
  Capture wire(fabric(), "fab0");
  run_ip(container(), "link set roce0 down");
  run_ip(container(), "link set roce0 up");
  must(attach(plan(), host(), container()));
  run_ip(host(), "link set host0 down");
  run_ip(host(), "link set host0 up");
  EXPECT_EQ(connect_tcp({container()}, own_, peer_.port), 0);
  const auto kinds =
      check_frames(wire.frames(std::chrono::milliseconds(1200)), plan().rails[0], {own_});
  EXPECT_TRUE(kinds.contains("ARP"));
}

TEST_F(SourceTest, CannotBeChangedByControlMessagesAndOptions) {
  silence_the_wire();
  NetworkPlan open_plan = plan();
  open_plan.prohibited.clear();
  must(attach(open_plan, host(), container()));
  ASSERT_EQ(connect_tcp({container()}, own_, peer_.port), 0);
  Capture wire(fabric(), "fab0");
  const auto send = [&](const Option& option, const Option& control) {
    return confined(container(), [&] { return send_with(container(), own_, option, control); });
  };
  const Option none{0, 0, {}};
  const Option on_docker{IPPROTO_IP, IP_PKTINFO, bytes_of(from_ipv4(ip("172.30.1.2")))};
  const Option foreign{IPPROTO_IP, IP_PKTINFO, bytes_of(from_ipv4(other_))};
  const Option freebind{IPPROTO_IP, IP_FREEBIND, bytes_of(1)};
  const Option transparent{IPPROTO_IP, IP_TRANSPARENT, bytes_of(1)};
  const Option route{IPPROTO_IP, IP_OPTIONS, loose_source_route(other_)};
  EXPECT_EQ(send(none, on_docker), EPERM);
  EXPECT_NE(send(none, foreign), 0);
  EXPECT_NE(send(freebind, foreign), 0);
  EXPECT_EQ(send(transparent, foreign), EPERM);
  EXPECT_EQ(send(route, none), EPERM);
  EXPECT_TRUE(wire.frames(kQuiet).empty());
  ASSERT_EQ(must(remove_filter(container())), base::Removed::kNow);
  EXPECT_EQ(send(none, on_docker), 0);
  const std::vector<Frame> frames = wire.frames(kQuiet);
  ASSERT_FALSE(frames.empty()) << "the filter it was that held it";
  EXPECT_EQ(frames.front().source, ip("172.30.1.2")) << to_string(frames.front());
}

TEST_F(SourceTest, CannotBeChangedByIpv6ControlMessagesAndOptions) {
  add_ipv6();
  NetworkPlan open_plan = ipv6_plan();
  open_plan.prohibited.clear();
  must(attach(open_plan, host(), container()));
  ASSERT_EQ(connect_tcp({container()}, own_ipv6_, ipv6_peer_.port), 0);
  const Service peer = serve_udp(fabric(), own_ipv6_, 4791);
  const auto send = [&](const Option& option, const Option& control) {
    return confined(container(),
                    [&] { return send_with(container(), own_ipv6_, option, control); });
  };
  const Option none{0, 0, {}};
  const Option foreign{IPPROTO_IPV6, IPV6_PKTINFO, bytes_of(from_ipv6(other_ipv6_))};
  const Option freebind{IPPROTO_IPV6, IPV6_FREEBIND, bytes_of(1)};
  const Option route{IPPROTO_IPV6, IPV6_RTHDR, segment_route(own_ipv6_, other_ipv6_)};
  EXPECT_EQ(send(none, none), 0);
  EXPECT_TRUE(has_datagram(peer, kPatience));
  EXPECT_EQ(send(none, foreign), EINVAL);
  // The kernel lets everybody do this.
  EXPECT_EQ(send(freebind, foreign), EPERM);
  EXPECT_EQ(send(route, none), EPERM);
  EXPECT_FALSE(has_datagram(peer, kQuiet));
  ASSERT_EQ(must(remove_filter(container())), base::Removed::kNow);
  EXPECT_EQ(send(freebind, foreign), 0);
  EXPECT_TRUE(has_datagram(peer, kPatience)) << "the filter it was that held it";
  EXPECT_EQ(send(route, none), 0);
}

TEST_F(SourceTest, IsAlwaysTheContainersOwnByIpv6) {
  add_ipv6();
  run_ip(host(), "-6 address add fd00:30::1/64 dev dock1 nodad");
  run_ip(container(), "-6 address add fd00:30::2/64 dev eth0 nodad");
  const RailPlan rail = ipv6_plan().rails[0];
  Capture wire(fabric(), "fab0");
  must(attach(ipv6_plan(), host(), container()));
  ASSERT_EQ(connect_tcp({container()}, own_ipv6_, ipv6_peer_.port), 0);
  const Tries tries{
      .sources = {std::nullopt, rail.address, ip("fd00:30::2"), other_ipv6_, ip("fe80::7")},
      .devices = {"roce0", ""},
      .destinations = {own_ipv6_, other_ipv6_, ip("fd00:5::77"), ip("ff02::1"), ip("ff05::2"),
                       ip("fe80::1")},
  };
  EXPECT_EQ(confined(container(),
                     [&] {
                       join_group(container(), ip("ff05::2"));
                       try_all(container(), tries, ipv6_peer_.port);
                       return 0;
                     }),
            0);
  std::vector<Frame> frames = wire.frames(std::chrono::milliseconds(1200));
  // The host speaks IPv6 on its own account, with its own MAC.
  Session session = must(Session::open(host()));
  const MacAddress host_mac = must(session.find_link("host0")).value().mac;
  std::erase_if(frames, [&](const Frame& frame) { return frame.source_mac == host_mac; });
  EXPECT_EQ(check_frames(frames, rail, {own_ipv6_}),
            (std::set<std::string>{"ICMP", "TCP", "UDP", "discovery"}));
}

TEST_F(SourceTest, CannotBeSetWithoutCapabilities) {
  must(attach(plan(), host(), container()));
  const auto error_of_socket = [&](int domain, int type, int protocol) {
    return confined(container(), [&] {
      const base::Fd fd(socket(domain, type | SOCK_CLOEXEC, protocol));
      return fd.valid() ? 0 : errno;
    });
  };
  EXPECT_EQ(error_of_socket(AF_PACKET, SOCK_RAW, 0), EPERM);
  EXPECT_EQ(error_of_socket(AF_PACKET, SOCK_DGRAM, 0), EPERM);
  EXPECT_EQ(error_of_socket(AF_INET, SOCK_RAW, IPPROTO_RAW), EPERM);
  EXPECT_EQ(error_of_socket(AF_INET6, SOCK_RAW, IPPROTO_ICMPV6), EPERM);
  EXPECT_EQ(confined(container(),
                     [&] {
                       const base::Fd fd =
                           must(internal::open_socket(container().fd(), AF_INET, SOCK_DGRAM, 0));
                       ifreq request{};
                       std::strcpy(request.ifr_name, "roce0");
                       request.ifr_hwaddr.sa_family = 1;
                       return ioctl(fd.get(), SIOCSIFHWADDR, &request) == 0 ? 0 : errno;
                     }),
            EPERM);
  EXPECT_EQ(confined(container(),
                     [&] {
                       Session session = must(Session::open(container()));
                       const Link link = must(session.find_link("roce0")).value();
                       return session.ensure_neighbour(link.index, {other_, link.mac, true})
                           .error()
                           .sys_errno();
                     }),
            EPERM);
  EXPECT_EQ(confined(container(), [&] { return remove_filter(container()).error().sys_errno(); }),
            EPERM);
}

}  // namespace
}  // namespace netns
