// SPDX-License-Identifier: Apache-2.0
// What passes the border when the container's own filter is gone, as after CAP_NET_ADMIN in the
// container's namespace.
#include "netns/border.h"

#include <gtest/gtest.h>
#include <net/ethernet.h>
#include <netinet/in.h>

#include <cerrno>

#include "base/text.h"
#include "netns/attach.h"
#include "netns/filter.h"
#include "netns/session.h"
#include "tests/kernel/netns/capture.h"
#include "tests/kernel/netns/frames.h"
#include "tests/kernel/netns/world.h"

namespace netns {
namespace {

using base::Removed;
using base::str;

constexpr uint16_t kVlan = 0x8100;

class BorderTest : public World, public ::testing::WithParamInterface<FilterPlace> {
 protected:
  static BorderMember member_of(const NetworkPlan& plan, uint8_t n = 1) {
    const RailPlan& rail = plan.rails[0];
    return {str("lease-", n), rail.mac, rail.address, rail.peers};
  }
  BorderMember member(uint8_t n = 1) const { return member_of(plan(n), n); }

  // A container whose namespace has no filter, and routes to all of the fabric.
  Namespace unguarded(const NetworkPlan& plan) {
    Namespace container = make_namespace();
    must(attach(plan, host(), container));
    must(remove_filter(container));
    for (const Prefix& prefix : plan.prohibited) {
      const char* family = prefix.address.is_ipv4() ? "-4" : "-6";
      run_ip(container, str(family, " route replace ", to_string(prefix), " dev roce0 metric 1"));
    }
    allow_ping(container);
    return container;
  }
  void build(const std::vector<BorderMember>& members, Others others = Others::kDrop) {
    EXPECT_EQ(must(build_border(host(), GetParam(), {{"host0", others}}, members)), GetParam());
  }
  static void must_do(const base::Status& status) {
    if (!status.ok()) throw std::runtime_error(status.error().message());
  }
  MacAddress fabric_mac() { return mac_in(fabric(), "fab0"); }
  MacAddress host_mac() { return mac_in(host(), "host0"); }
  static MacAddress mac_in(const Namespace& in, const std::string& interface) {
    Session session = must(Session::open(in));
    return must(session.find_link(interface)).value().mac;
  }
};

TEST_P(BorderTest, LetsAContainerReachItsPeerOnly) {
  const Namespace container = unguarded(plan());
  EXPECT_EQ(connect_tcp({container}, other_, stranger_.port), 0) << "the world has no border";
  build({member()});
  const Service other_port = serve_tcp(fabric(), own_);
  const Service roce = serve_udp(fabric(), own_, 4791);
  const Service roce_of_other = serve_udp(fabric(), other_, 4791);
  EXPECT_EQ(connect_tcp({container}, own_, peer_.port), 0);
  EXPECT_TRUE(send_udp({container}, own_, roce));
  EXPECT_EQ(ping({container}, own_), 0);
  EXPECT_EQ(connect_tcp({container}, own_, other_port.port, kQuiet), ETIMEDOUT);
  EXPECT_EQ(connect_tcp({container}, other_, stranger_.port, kQuiet), ETIMEDOUT);
  EXPECT_NE(ping({container}, other_, kQuiet), 0);
  try_send_udp({container}, other_, 4791);
  EXPECT_FALSE(has_datagram(roce_of_other, kQuiet));
}

TEST_P(BorderTest, LetsAContainerReachItsIpv6PeerOnly) {
  add_ipv6();
  const Namespace container = unguarded(ipv6_plan());
  EXPECT_EQ(connect_tcp({container}, other_ipv6_, ipv6_stranger_.port), 0);
  build({member_of(ipv6_plan())});
  EXPECT_EQ(connect_tcp({container}, own_ipv6_, ipv6_peer_.port), 0);
  EXPECT_EQ(ping({container}, own_ipv6_), 0);
  EXPECT_EQ(connect_tcp({container}, other_ipv6_, ipv6_stranger_.port, kQuiet), ETIMEDOUT);
  EXPECT_NE(ping({container}, other_ipv6_, kQuiet), 0);
  run_ip(container, "-6 neighbour flush dev roce0");
  run_ip(fabric(), "-6 neighbour flush dev fab0");
  EXPECT_EQ(connect_tcp({container}, own_ipv6_, ipv6_peer_.port), 0)
      << "neighbours are found again";
}

// Frames that no container may send, one after the other, and at last one that this one may.
TEST_P(BorderTest, DropsWhateverElseAContainerSends) {
  silence_the_wire();
  const NetworkPlan own_plan = plan();
  const RailPlan& rail = own_plan.rails[0];
  const RailPlan neighbour = plan(2).rails[0];
  const Namespace container = unguarded(own_plan);
  build({member(), member(2)});
  const MacAddress mac = rail.mac;
  const MacAddress to = fabric_mac();
  const MacAddress unknown{{2, 0, 0, 0, 0, 0x77}};
  const MacAddress group{{1, 0, 0x5e, 0, 0, 0x63}};
  const Bytes own_ip = ethernet(to, mac, ETHERTYPE_IP);
  const Bytes syn = tcp_syn(40000, peer_.port);
  const auto tcp = [&](const Address& from, const Address& at) {
    return ipv4_header(from, at, IPPROTO_TCP) + syn;
  };
  const std::vector<std::pair<std::string, Bytes>> refused = {
      {"SYN to a stranger", own_ip + tcp(rail.address, other_)},
      {"source of the neighbour", own_ip + tcp(neighbour.address, own_)},
      {"source of nobody", own_ip + tcp(ip("10.5.77.1"), own_)},
      {"source of the host", own_ip + tcp(host_address_, own_)},
      {"MAC of nobody", ethernet(to, unknown, ETHERTYPE_IP) + tcp(rail.address, own_)},
      {"MAC of the host", ethernet(to, host_mac(), ETHERTYPE_IP) + tcp(rail.address, own_)},
      {"MAC of the neighbour", ethernet(to, neighbour.mac, ETHERTYPE_IP) + tcp(rail.address, own_)},
      {"another port", own_ip + ipv4_header(rail.address, own_, IPPROTO_TCP) +
                           tcp_syn(peer_.port, static_cast<uint16_t>(peer_.port + 1))},
      {"first fragment", own_ip + ipv4_header(rail.address, own_, IPPROTO_TCP, 0x2000) + syn},
      {"later fragment", own_ip + ipv4_header(rail.address, own_, IPPROTO_TCP, 3) + syn},
      {"UDP to a port of the host",
       own_ip + ipv4_header(rail.address, own_, IPPROTO_UDP) + udp(4791, 53)},
      {"GRE", own_ip + ipv4_header(rail.address, own_, 47) + Bytes(20)},
      {"UDP to all",
       own_ip + ipv4_header(rail.address, ip("255.255.255.255"), IPPROTO_UDP) + udp(4791, 4791)},
      {"VLAN", ethernet(to, mac, kVlan) + Bytes{0, 7, 8, 0} + tcp(rail.address, own_)},
      {"QinQ", ethernet(to, mac, 0x88a8) + Bytes{0, 7, 8, 0} + tcp(rail.address, own_)},
      {"RoCE v1", ethernet(to, mac, 0x8915) + Bytes(60)},
      {"LLDP", ethernet(to, mac, 0x88cc) + Bytes(60)},
      {"802.3 length", ethernet(to, mac, 60) + Bytes(60)},
      {"nothing but a header", ethernet(kBroadcast, mac, ETHERTYPE_IP)},
      {"ARP: asks for a stranger",
       ethernet(kBroadcast, mac, ETHERTYPE_ARP) + arp(1, mac, rail.address, other_)},
      {"ARP: is the neighbour",
       ethernet(kBroadcast, mac, ETHERTYPE_ARP) + arp(2, mac, neighbour.address, own_)},
      {"ARP: is a stranger", ethernet(kBroadcast, mac, ETHERTYPE_ARP) + arp(1, mac, other_, own_)},
      {"ARP: gives another MAC",
       ethernet(kBroadcast, mac, ETHERTYPE_ARP) + arp(2, unknown, rail.address, own_)},
      {"ARP: the neighbour, MAC of the host", ethernet(kBroadcast, host_mac(), ETHERTYPE_ARP) +
                                                  arp(2, host_mac(), neighbour.address, own_)},
      {"ARP: nobody's, MAC of the host outside, of a group inside",
       ethernet(kBroadcast, host_mac(), ETHERTYPE_ARP) + arp(2, group, ip("10.5.77.1"), own_)},
      {"ARP: the neighbour, with VLAN 0 and the MAC of the host",
       ethernet(kBroadcast, host_mac(), kVlan) + Bytes{0, 0, 8, 6} +
           arp(2, host_mac(), neighbour.address, own_)},
      {"IPv6", ethernet(to, mac, ETHERTYPE_IPV6) +
                   ipv6_header(ip("fd00:5::c8:1"), ip("fd00:5::1"), IPPROTO_TCP) + syn},
      {"router advertisement", ethernet(kBroadcast, mac, ETHERTYPE_IPV6) +
                                   ipv6_header(ip("fe80::1"), ip("ff02::1"), IPPROTO_ICMPV6) +
                                   discovery(134, ip("::"))},
  };
  for (const bool bypass : {false, true}) {
    Capture wire(fabric(), "fab0");
    const RawSender sender(container, "roce0", bypass);
    for (const auto& [what, frame] : refused) {
      sender.send(frame);
      const std::vector<Frame> seen = wire.frames(std::chrono::milliseconds(20));
      EXPECT_TRUE(seen.empty()) << what << ": " << to_string(seen.empty() ? Frame() : seen[0]);
    }
    sender.send(own_ip + tcp(rail.address, own_));
    EXPECT_EQ(wire.frames(kQuiet).size(), 1U) << "what a container may send";
  }
}

TEST_P(BorderTest, DropsDiscoveryInTheNameOfOthers) {
  add_ipv6();
  const NetworkPlan own_plan = ipv6_plan();
  const RailPlan& rail = own_plan.rails[0];
  const RailPlan neighbour = ipv6_plan(2).rails[0];
  const Namespace container = unguarded(own_plan);
  build({member_of(own_plan), member_of(ipv6_plan(2), 2)});
  const Bytes ethernet_header = ethernet(fabric_mac(), rail.mac, ETHERTYPE_IPV6);
  const auto icmp = [&](const Address& from, const Address& to, uint8_t type, const Address& of) {
    return ethernet_header + ipv6_header(from, to, IPPROTO_ICMPV6) + discovery(type, of);
  };
  const Address all = ip("ff02::1");
  const std::vector<std::pair<std::string, Bytes>> refused = {
      {"is the neighbour", icmp(rail.address, own_ipv6_, 136, neighbour.address)},
      {"is its own peer", icmp(rail.address, own_ipv6_, 136, own_ipv6_)},
      {"is the neighbour, to all", icmp(rail.address, all, 136, neighbour.address)},
      {"asks for a stranger", icmp(rail.address, ip("ff02::1:ff00:2"), 135, other_ipv6_)},
      {"asks a stranger", icmp(rail.address, other_ipv6_, 135, own_ipv6_)},
      {"asks as the neighbour", icmp(neighbour.address, ip("ff02::1:ff00:1"), 135, own_ipv6_)},
      {"redirects", icmp(rail.address, own_ipv6_, 137, other_ipv6_)},
      {"extension header", ethernet_header + ipv6_header(rail.address, own_ipv6_, 43) + Bytes(40)},
      {"fragment", ethernet_header + ipv6_header(rail.address, own_ipv6_, 44) + Bytes(40)},
  };
  Capture wire(fabric(), "fab0");
  const RawSender sender(container, "roce0");
  for (const auto& [what, frame] : refused) {
    sender.send(frame);
    for (const Frame& seen : wire.frames(std::chrono::milliseconds(20))) {
      EXPECT_NE(seen.source_mac, rail.mac) << what << ": " << to_string(seen);
    }
  }
  sender.send(icmp(rail.address, own_ipv6_, 136, rail.address));
  bool passed = false;
  for (const Frame& seen : wire.frames(kQuiet)) passed = passed || seen.source_mac == rail.mac;
  EXPECT_TRUE(passed) << "tells of its own address";
}

TEST_P(BorderTest, DropsWhatAStrangerSendsToAContainer) {
  silence_the_wire();
  const NetworkPlan own_plan = plan();
  const RailPlan& rail = own_plan.rails[0];
  const Namespace container = unguarded(own_plan);
  build({member()});
  Capture inside(container, "roce0");
  const RawSender sender(fabric(), "fab0");
  const Bytes to_container = ethernet(rail.mac, fabric_mac(), ETHERTYPE_IP);
  const auto answer = [&](const Address& from, uint16_t port) {
    return to_container + ipv4_header(from, rail.address, IPPROTO_TCP) + tcp_syn(port, 40000);
  };
  sender.send(answer(other_, stranger_.port));
  sender.send(answer(own_, static_cast<uint16_t>(peer_.port + 1)));
  sender.send(to_container + ipv4_header(other_, rail.address, IPPROTO_UDP) + udp(4791, 4791));
  sender.send(ethernet(rail.mac, fabric_mac(), ETHERTYPE_ARP) +
              arp(1, fabric_mac(), other_, rail.address));
  // The kernel takes these tags off the frame, and keeps them beside it.
  for (const uint8_t id : {uint8_t{0}, uint8_t{7}}) {
    sender.send(ethernet(rail.mac, fabric_mac(), kVlan) + Bytes{0, id, 8, 0} +
                ipv4_header(own_, rail.address, IPPROTO_TCP) + tcp_syn(peer_.port, 40000));
  }
  EXPECT_TRUE(inside.frames(kQuiet).empty());
  sender.send(answer(own_, peer_.port));
  EXPECT_EQ(inside.frames(kQuiet).size(), 1U);
}

TEST_P(BorderTest, LeavesTheHostAlone) {
  build({member()});
  allow_ping(host());
  EXPECT_EQ(connect_tcp({host()}, other_, stranger_.port), 0);
  EXPECT_EQ(ping({host()}, other_), 0);
  const Service on_host = serve_tcp(host(), host_address_);
  EXPECT_EQ(connect_tcp({fabric()}, host_address_, on_host.port), 0);
  run_ip(host(), "neighbour flush dev host0");
  EXPECT_EQ(connect_tcp({host()}, own_, peer_.port), 0);
}

TEST_P(BorderTest, LetsOthersPassIfToldToAndRemembersThem) {
  const MacAddress other_mac{{2, 0, 0, 0, 0, 0x42}};
  const Namespace foreign = make_namespace();
  run_ip(host(), str("link add foreign0 link host0 address ", to_string(other_mac),
                     " type macvlan mode bridge"));
  run_ip(host(), str("link set foreign0 netns ", path_of(foreign)));
  run_ip(foreign, "address add 10.5.77.1/16 dev foreign0");
  run_ip(foreign, "link set foreign0 up");
  build({member()}, Others::kPass);
  EXPECT_EQ(connect_tcp({foreign}, other_, stranger_.port), 0);
  const std::vector<MacAddress> passed = must(passed_others(host()));
  EXPECT_NE(std::find(passed.begin(), passed.end(), other_mac), passed.end());
  // Not in the name of a container.
  silence_the_wire();
  Capture wire(fabric(), "fab0");
  (void)wire.frames(kQuiet);
  const RawSender sender(foreign, "foreign0");
  const Address claimed = member().address;
  sender.send(ethernet(fabric_mac(), other_mac, ETHERTYPE_IP) +
              ipv4_header(claimed, own_, IPPROTO_TCP) + tcp_syn(40000, peer_.port));
  sender.send(ethernet(kBroadcast, other_mac, ETHERTYPE_ARP) + arp(2, other_mac, claimed, own_));
  for (const Frame& seen : wire.frames(kQuiet)) EXPECT_NE(seen.source, claimed);
  build({member()}, Others::kDrop);
  EXPECT_EQ(connect_tcp({foreign}, other_, stranger_.port, kQuiet), ETIMEDOUT);
  EXPECT_TRUE(must(passed_others(host())).empty());
}

TEST_P(BorderTest, AdmitsAndForgetsContainers) {
  const Namespace first = unguarded(plan());
  NetworkPlan second_plan = plan(2);
  second_plan.rails[0].peers = {Peer{other_, stranger_.port}};
  const Namespace second = unguarded(second_plan);
  build({member()});
  EXPECT_EQ(connect_tcp({second}, other_, stranger_.port, kQuiet), ETIMEDOUT);
  must_do(admit(host(), {member_of(second_plan, 2)}));
  must_do(admit(host(), {member_of(second_plan, 2)}));
  EXPECT_EQ(connect_tcp({second}, other_, stranger_.port), 0);
  EXPECT_EQ(must(admitted(host())).size(), 2U);
  EXPECT_EQ(must(admitted(host()))[0].lease.substr(0, 6), "lease-");

  EXPECT_EQ(must(retain(host(), {member().mac}, {})), Removed::kNow);
  EXPECT_EQ(must(retain(host(), {member().mac}, {})), Removed::kWasAbsent);
  EXPECT_EQ(connect_tcp({first}, own_, peer_.port, kQuiet), ETIMEDOUT);
  EXPECT_EQ(connect_tcp({second}, other_, stranger_.port), 0);
  ASSERT_EQ(must(admitted(host())).size(), 1U);
  EXPECT_EQ(must(admitted(host()))[0].mac, second_plan.rails[0].mac);
}

TEST_P(BorderTest, KeepsWhatAMemberStillNeeds) {
  NetworkPlan both = plan();
  both.rails[0].peers.push_back(Peer{other_, stranger_.port});
  const Namespace container = unguarded(both);
  build({member_of(both)});
  EXPECT_EQ(connect_tcp({container}, other_, stranger_.port), 0);
  EXPECT_EQ(must(retain(host(), {member().mac}, {member()})), Removed::kNow);
  EXPECT_EQ(connect_tcp({container}, other_, stranger_.port, kQuiet), ETIMEDOUT);
  EXPECT_EQ(connect_tcp({container}, own_, peer_.port), 0);
}

// More than one default send buffer holds, in one transaction.
TEST_P(BorderTest, HoldsAThousandContainers) {
  std::vector<BorderMember> members(1000, member());
  for (uint32_t n = 0; n < members.size(); ++n) {
    members[n].address = ipv4(0x0a056400 + n);  // 10.5.100.0 and on
    std::copy_n(members[n].address.raw().begin(), 4, members[n].mac.bytes.begin() + 2);
  }
  build(members);
  EXPECT_EQ(must(admitted(host())).size(), members.size());
  std::vector<MacAddress> macs;
  for (const BorderMember& member : members) macs.push_back(member.mac);
  EXPECT_EQ(must(retain(host(), macs, {})), Removed::kNow);
  EXPECT_TRUE(must(admitted(host())).empty());
}

TEST_P(BorderTest, TellsWhetherItStands) {
  const std::vector<BorderParent> parents{{"host0", Others::kDrop}};
  EXPECT_FALSE(must(border_stands(host(), GetParam(), parents)));
  build({member()});
  EXPECT_TRUE(must(border_stands(host(), GetParam(), parents)));
  EXPECT_TRUE(must(border_stands(host(), GetParam(), {parents[0], {"absent0", Others::kDrop}})));
  EXPECT_FALSE(must(border_stands(host(), GetParam(), {{"host0", Others::kPass}})));
  run_ip(host(), "link set host0 address 02:00:00:00:00:55");
  EXPECT_FALSE(must(border_stands(host(), GetParam(), parents))) << "the host has another MAC";
  build({member()});
  EXPECT_TRUE(must(border_stands(host(), GetParam(), parents)));
  EXPECT_EQ(must(remove_border(host())), Removed::kNow);
  EXPECT_EQ(must(remove_border(host())), Removed::kWasAbsent);
  EXPECT_FALSE(must(border_stands(host(), GetParam(), parents)));
  EXPECT_EQ(must(retain(host(), {member().mac}, {})), Removed::kWasAbsent);
  EXPECT_TRUE(must(admitted(host())).empty());
}

TEST_P(BorderTest, StandsForSeveralParents) {
  add_second_fabric();
  const std::vector<BorderParent> both{{"host0", Others::kDrop}, {"host1", Others::kPass}};
  must(build_border(host(), GetParam(), {both[0]}, {}));
  EXPECT_FALSE(must(border_stands(host(), GetParam(), both)));
  must(build_border(host(), GetParam(), both, {member()}));
  EXPECT_TRUE(must(border_stands(host(), GetParam(), both)));
  const Namespace container = unguarded(plan());
  EXPECT_EQ(connect_tcp({container}, own_, peer_.port), 0);
  EXPECT_EQ(connect_tcp({host()}, second_, second_peer_.port, kQuiet), ENETUNREACH);
}

// A macvlan in mode bridge hands its unicast to the parent's ingress.
// From Linux 6.16 on, nftables leaves an interface that gets another name.
TEST_P(BorderTest, IsOnARenamedParentWhenItIsBuiltAgain) {
  const Namespace container = unguarded(plan());
  build({member()});
  run_ip(host(), "link set host0 name host9");
  if (GetParam() == FilterPlace::kTc) {
    EXPECT_EQ(connect_tcp({container}, other_, stranger_.port, kQuiet), ETIMEDOUT) << "at once";
  }
  must(build_border(host(), GetParam(), {{"host9", Others::kDrop}}, {member()}));
  EXPECT_EQ(connect_tcp({container}, other_, stranger_.port, kQuiet), ETIMEDOUT);
  EXPECT_EQ(connect_tcp({container}, own_, peer_.port), 0);
  run_ip(host(), "link set host9 name host0");
  run_ip(host(), "link set host0 name host9");
  EXPECT_TRUE(must(border_stands(host(), GetParam(), {{"host9", Others::kDrop}})));
  EXPECT_EQ(connect_tcp({container}, other_, stranger_.port, kQuiet), ETIMEDOUT) << "and back";
}

// Therefore why_no_rail() refuses such a parent.
TEST_P(BorderTest, SeesNothingOnAParentThatIsAMacvlan) {
  run_ip(host(), "link add mac0 link host0 type macvlan mode private");
  run_ip(host(), "link set mac0 up");
  NetworkPlan on_macvlan = plan();
  on_macvlan.rails[0].parent = "mac0";
  const Namespace container = unguarded(on_macvlan);
  must(build_border(host(), GetParam(), {{"mac0", Others::kDrop}}, {member()}));
  EXPECT_EQ(connect_tcp({container}, other_, stranger_.port), 0);
  build({member()});
  EXPECT_EQ(connect_tcp({container}, other_, stranger_.port, kQuiet), ETIMEDOUT);
}

TEST_P(BorderTest, StopsUnicastBetweenMacvlansInModeBridge) {
  NetworkPlan first_plan = plan();
  NetworkPlan second_plan = plan(2);
  for (NetworkPlan* each : {&first_plan, &second_plan}) {
    each->rails[0].mode = MacvlanMode::kBridge;
  }
  const Namespace first = unguarded(first_plan);
  const Namespace second = unguarded(second_plan);
  const Service service = serve_tcp(second, second_plan.rails[0].address);
  EXPECT_EQ(connect_tcp({first}, second_plan.rails[0].address, service.port), 0);
  build({member(), member(2)});
  EXPECT_EQ(connect_tcp({first}, second_plan.rails[0].address, service.port, kQuiet), ETIMEDOUT);
}

INSTANTIATE_TEST_SUITE_P(Carriers, BorderTest,
                         ::testing::Values(FilterPlace::kNftables, FilterPlace::kTc),
                         [](const auto& way) {
                           return way.param == FilterPlace::kTc ? "Tc" : "Nftables";
                         });

}  // namespace
}  // namespace netns
