// SPDX-License-Identifier: Apache-2.0
// Rails with IPv6 addresses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

#include "base/names.h"
#include "base/text.h"
#include "netns/attach.h"
#include "netns/filter.h"
#include "tests/kernel/netns/capture.h"
#include "tests/kernel/netns/world.h"

namespace netns {
namespace {

using namespace base::names;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class Ipv6Test : public World {
 protected:
  void SetUp() override {
    World::SetUp();
    if (!IsSkipped()) add_ipv6();
  }
};

TEST_F(Ipv6Test, GivesOneAddressAndExactlyTheRoutesOfThePlan) {
  const Namespace container = make_namespace();
  must(attach(ipv6_plan(), host(), container));
  const std::string addresses = run_ip(container, "-o address show dev roce0");
  EXPECT_THAT(addresses, AllOf(HasSubstr("inet6 fd00:5::c8:1/128 "), Not(HasSubstr("fe80")),
                               Not(HasSubstr("tentative")), Not(HasSubstr("inet "))));
  EXPECT_EQ(run_ip(container, "-6 route show"),
            "fd00:5::1 dev roce0 proto static src fd00:5::c8:1 metric 1024 pref medium\n");
  EXPECT_EQ(run_ip(container, "-6 route show table 4791"),
            "prohibit fd00:5::/64 dev lo proto static metric 4791 pref medium\n");
}

TEST_F(Ipv6Test, WorksWhereDockerHasTurnedIpv6Off) {
  const Namespace container = make_namespace();
  turn_off_ipv6(container);
  must(attach(ipv6_plan(), host(), container));
  EXPECT_EQ(connect_tcp({container}, own_ipv6_, ipv6_peer_.port), 0);
  EXPECT_NE(connect_tcp({container}, other_ipv6_, ipv6_stranger_.port, kQuiet), 0);
  EXPECT_EQ(read_in(container, "/proc/sys/net/ipv6/conf/all/disable_ipv6"), "1");
}

TEST_F(Ipv6Test, TakesNothingFromARouter) {
  const Namespace container = make_namespace();
  must(attach(ipv6_plan(), host(), container));
  for (const char* name : {"accept_ra", "autoconf", "accept_redirects", "disable_ipv6"}) {
    EXPECT_EQ(read_in(container, str("/proc/sys/net/ipv6/conf/roce0/", name)), "0") << name;
  }
  EXPECT_EQ(read_in(container, "/proc/sys/net/ipv6/conf/roce0/addr_gen_mode"), "1");
}

TEST_F(Ipv6Test, AnnouncesTheAddressToTheFabric) {
  const Namespace container = make_namespace();
  Capture wire(fabric(), "fab0");
  must(attach(ipv6_plan(), host(), container));
  const auto is_announcement = [](const Frame& frame) {
    return frame.icmp_type == 136 && frame.source == ip("fd00:5::c8:1");
  };
  EXPECT_THAT(wire.frames(kQuiet), testing::Contains(testing::ResultOf(is_announcement, true)));
}

TEST_F(Ipv6Test, HoldsTheContainerToItsPeers) {
  const Namespace container = make_namespace();
  allow_ping(container);
  NetworkPlan open_plan = ipv6_plan();
  open_plan.prohibited.clear();
  must(attach(open_plan, host(), container));
  const Service other_port = serve_tcp(fabric(), own_ipv6_);
  const Service roce = serve_udp(fabric(), own_ipv6_, 4791);
  const Service stranger = serve_udp(fabric(), other_ipv6_, 4791);
  const Client bound{container, "roce0"};
  EXPECT_EQ(connect_tcp(bound, own_ipv6_, ipv6_peer_.port), 0);
  EXPECT_EQ(connect_tcp(bound, own_ipv6_, other_port.port, kQuiet), ECONNREFUSED);
  EXPECT_TRUE(send_udp(bound, own_ipv6_, roce));
  EXPECT_EQ(ping(bound, own_ipv6_), 0);
  EXPECT_NE(connect_tcp(bound, other_ipv6_, ipv6_stranger_.port, kQuiet), 0);
  EXPECT_FALSE(send_udp(bound, other_ipv6_, stranger));
  EXPECT_NE(ping(bound, other_ipv6_, kQuiet), 0);
  EXPECT_NE(connect_tcp(bound, own_, peer_.port, kQuiet), 0);
}

TEST_F(Ipv6Test, IsFoundByTheFabricAndHearsPeersOnly) {
  const Namespace container = make_namespace();
  must(attach(ipv6_plan(), host(), container));
  const Address address = ipv6_plan().rails[0].address;
  const Service roce = serve_udp(container, address, 4791);
  const Service other = serve_udp(container, address, 4792);
  Client peer{fabric()};
  peer.source = own_ipv6_;
  Client stranger{fabric()};
  stranger.source = other_ipv6_;
  EXPECT_TRUE(send_udp(peer, address, roce));
  EXPECT_FALSE(send_udp(peer, address, other));
  EXPECT_FALSE(send_udp(stranger, address, roce));
  ASSERT_EQ(must(remove_filter(container)), base::Removed::kNow);
  EXPECT_TRUE(send_udp(stranger, address, roce));
}

TEST_F(Ipv6Test, UpdatesPeersAndRestoresWhatIsMissing) {
  const Namespace container = make_namespace();
  must(attach(ipv6_plan(), host(), container));
  NetworkPlan other = ipv6_plan();
  other.rails[0].peers = {Peer{other_ipv6_, ipv6_stranger_.port}};
  write_in(container, "/proc/sys/net/ipv6/conf/roce0/disable_ipv6", "1");
  must(attach(other, host(), container));
  EXPECT_EQ(connect_tcp({container}, other_ipv6_, ipv6_stranger_.port), 0);
  EXPECT_NE(connect_tcp({container}, own_ipv6_, ipv6_peer_.port, kQuiet), 0);
  EXPECT_THAT(run_ip(container, "-6 route show"), Not(HasSubstr("fd00:5::1 ")));
}

TEST_F(Ipv6Test, NeedsAnMtuThatIpv6Has) {
  const Namespace container = make_namespace();
  const std::string before = snapshot(container);
  NetworkPlan small = ipv6_plan();
  small.rails[0].mtu = 1279;
  const auto result = attach(small, host(), container);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code(), Code::kUnsupported);
  EXPECT_THAT(result.error().message(), HasSubstr("1280"));
  EXPECT_EQ(snapshot(container), before);
}

TEST_F(Ipv6Test, LeavesTheNeighbourDiscoveryOfOtherInterfacesAlone) {
  const Namespace container = make_namespace();
  add_docker_network(container);
  run_ip(host(), "-6 address add fd00:30::1/64 dev dock1 nodad");
  run_ip(container, "-6 address add fd00:30::2/64 dev eth0 nodad");
  NetworkPlan guarding = ipv6_plan();
  guarding.guarded = {host_prefix(ip("fd00:30::1"))};
  must(attach(guarding, host(), container));
  const Service published = serve_tcp(container, ip("fd00:30::2"));
  EXPECT_TRUE(echoes(host(), ip("fd00:30::2"), published));
  const Service on_host = serve_tcp(host(), ip("fd00:30::1"));
  EXPECT_EQ(connect_tcp({container}, ip("fd00:30::1"), on_host.port, kQuiet), ECONNREFUSED);
}

TEST_F(Ipv6Test, KeepsProhibitedAndGuardedPrefixesAwayFromAnIpv4Container) {
  const Namespace container = make_namespace();
  add_docker_network(container);
  run_ip(host(), "-6 address add fd00:30::1/64 dev dock1 nodad");
  run_ip(container, "-6 address add fd00:30::2/64 dev eth0 nodad");
  run_ip(container, "-6 route add default via fd00:30::1");
  run_ip(host(), "-6 address add fd00:5::9/64 dev host0 nodad");
  run_ip(fabric(), "-6 route add fd00:30::/64 via fd00:5::9");
  write_in(host(), "/proc/sys/net/ipv6/conf/all/forwarding", "1");
  // A router asks for neighbours with its link-local address, which it has after a second or two.
  constexpr std::chrono::seconds kRouterPatience{10};
  ASSERT_EQ(connect_tcp({container}, other_ipv6_, ipv6_stranger_.port, kRouterPatience), 0)
      << "the way must exist at first";
  NetworkPlan both = plan();
  both.prohibited.push_back(must(parse_prefix("fd00:5::/64")));
  must(attach(both, host(), container));
  EXPECT_EQ(connect_tcp({container}, other_ipv6_, ipv6_stranger_.port, kQuiet), EACCES);
  run_ip(container, "-6 route delete prohibit fd00:5::/64 table 4791 metric 4791");
  EXPECT_EQ(connect_tcp({container}, other_ipv6_, ipv6_stranger_.port, kQuiet), ECONNREFUSED);
}

}  // namespace
}  // namespace netns
