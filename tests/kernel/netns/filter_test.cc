// SPDX-License-Identifier: Apache-2.0
#include "netns/filter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <iterator>

#include "base/text.h"
#include "netns/attach.h"
#include "tests/kernel/netns/world.h"

namespace netns {
namespace {

using base::Removed;
using base::str;
using testing::HasSubstr;
using testing::Not;

class FilterTest : public World {
 protected:
  // The errors of a refusal that comes at once.
  static constexpr std::chrono::milliseconds kAtOnce{300};
};

TEST_F(FilterTest, LetsTheContainerReachItsOwnEndpointOnly) {
  const Namespace container = make_namespace();
  must(attach(plan(), host(), container));
  const Service other_port = serve_tcp(fabric(), own_);
  EXPECT_EQ(connect_tcp({container}, own_, peer_.port), 0);
  EXPECT_EQ(connect_tcp({container}, own_, other_port.port, kAtOnce), ECONNREFUSED);
  EXPECT_EQ(connect_tcp({container}, other_, stranger_.port, kAtOnce), EACCES);
}

// A socket that is bound to the device takes any address as on-link and looks at no route. (The
// answer passes rp_filter because there is a default route, as docker sets one.)
TEST_F(FilterTest, HoldsASocketThatIsBoundToTheDevice) {
  const Namespace container = make_namespace();
  add_docker_network(container);
  NetworkPlan no_prohibit = plan();
  no_prohibit.prohibited.clear();
  must(attach(no_prohibit, host(), container));
  const Client bound{container, "roce0"};
  EXPECT_EQ(connect_tcp(bound, other_, stranger_.port, kAtOnce), ECONNREFUSED);
  EXPECT_EQ(connect_tcp(bound, own_, peer_.port), 0);
  ASSERT_EQ(must(remove_filter(container)), Removed::kNow);
  EXPECT_EQ(connect_tcp(bound, other_, stranger_.port), 0);
}

TEST_F(FilterTest, HoldsADatagramThatIsBoundToTheDevice) {
  const Namespace container = make_namespace();
  const Client bound{container, "roce0"};
  const Service service = serve_udp(fabric(), other_);
  for (const auto& prohibited : {plan().prohibited, std::vector<Prefix>()}) {
    NetworkPlan either = plan();
    either.prohibited = prohibited;
    must(attach(either, host(), container));
    EXPECT_FALSE(send_udp(bound, other_, service));
    ASSERT_EQ(must(remove_filter(container)), Removed::kNow);
    EXPECT_TRUE(send_udp(bound, other_, service));
  }
}

TEST_F(FilterTest, LetsRoceV2PassToThePeerAndToNobodyElse) {
  const Namespace container = make_namespace();
  NetworkPlan open_plan = plan();
  open_plan.prohibited.clear();
  must(attach(open_plan, host(), container));
  const Service peer = serve_udp(fabric(), own_, 4791);
  const Service stranger = serve_udp(fabric(), other_, 4791);
  const Service other_port = serve_udp(fabric(), own_, 4792);
  const Client bound{container, "roce0"};
  EXPECT_TRUE(send_udp(bound, own_, peer));
  EXPECT_FALSE(send_udp(bound, own_, other_port));
  EXPECT_FALSE(send_udp(bound, other_, stranger));
}

TEST_F(FilterTest, HearsThePeerByRoceV2Only) {
  const Namespace container = make_namespace();
  add_docker_network(container);
  NetworkPlan open_plan = plan();
  open_plan.prohibited.clear();
  must(attach(open_plan, host(), container));
  const Address address = open_plan.rails[0].address;
  const Service roce = serve_udp(container, address, 4791);
  const Service datagram = serve_udp(container, address);
  const Service listener = serve_tcp(container, address);
  // The kernel picks the fabric's first address, the peer's, as the source.
  EXPECT_TRUE(send_udp({fabric()}, address, roce));
  EXPECT_FALSE(send_udp({fabric()}, address, datagram));
  EXPECT_EQ(connect_tcp({fabric()}, address, listener.port, kAtOnce), ETIMEDOUT);
  // Now the first address is a stranger's.
  write_in(fabric(), "/proc/sys/net/ipv4/conf/fab0/promote_secondaries", "1");
  run_ip(fabric(), "address delete 10.5.1.1/16 dev fab0");
  EXPECT_FALSE(send_udp({fabric()}, address, roce));
  ASSERT_EQ(must(remove_filter(container)), Removed::kNow);
  EXPECT_TRUE(send_udp({fabric()}, address, roce));
}

TEST_F(FilterTest, HearsThePeerAtTheAddressOfTheInterfaceOnly) {
  const Namespace container = make_namespace();
  add_docker_network(container);
  must(attach(plan(), host(), container));
  const Service service = serve_udp(container, ip("172.30.1.2"), 4791);
  run_ip(fabric(), "route add 172.30.1.2/32 via 10.5.200.1 dev fab0 onlink");
  EXPECT_FALSE(send_udp({fabric()}, ip("172.30.1.2"), service));
  ASSERT_EQ(must(remove_filter(container)), Removed::kNow);
  EXPECT_TRUE(send_udp({fabric()}, ip("172.30.1.2"), service));
}

TEST_F(FilterTest, AcceptsNoConnectionFromAPeerAlsoNotFromItsOwnPort) {
  const Namespace container = make_namespace();
  NetworkPlan silent_peer = plan();
  silent_peer.rails[0].peers = {Peer{own_, 7777}};
  must(attach(silent_peer, host(), container));
  const Service listener = serve_tcp(container, silent_peer.rails[0].address);
  const Client peer{fabric(), "", 7777};
  EXPECT_EQ(connect_tcp(peer, silent_peer.rails[0].address, listener.port, kAtOnce), ETIMEDOUT);
  ASSERT_EQ(must(remove_filter(container)), Removed::kNow);
  EXPECT_EQ(connect_tcp(peer, silent_peer.rails[0].address, listener.port), 0);
}

TEST_F(FilterTest, KeepsTheProhibitedAwayAlsoByTheDefaultRoute) {
  const Namespace container = make_namespace();
  add_docker_network(container);
  ASSERT_EQ(connect_tcp({container}, other_, stranger_.port), 0) << "the way must exist at first";
  must(attach(plan(), host(), container));
  EXPECT_EQ(connect_tcp({container}, other_, stranger_.port, kAtOnce), EACCES);
  run_ip(container, "route delete prohibit 10.5.0.0/16 table 4791 metric 4791");
  EXPECT_EQ(connect_tcp({container}, other_, stranger_.port, kAtOnce), ECONNREFUSED);
  ASSERT_EQ(must(remove_filter(container)), Removed::kNow);
  EXPECT_EQ(connect_tcp({container}, other_, stranger_.port), 0);
}

// Docker 28 and later gives a container its eth0 when our hook has run already.
TEST_F(FilterTest, HoldsForAnInterfaceThatComesLater) {
  const Namespace container = make_namespace();
  NetworkPlan guarding = plan();
  const Address gateway = ip("172.30.1.1");
  guarding.guarded = {host_prefix(gateway)};
  must(attach(guarding, host(), container));
  add_docker_network(container);
  const Service on_host = serve_tcp(host(), gateway);
  EXPECT_EQ(connect_tcp({container}, own_, peer_.port), 0);
  EXPECT_EQ(connect_tcp({container}, other_, stranger_.port, kAtOnce), EACCES);
  EXPECT_EQ(connect_tcp({container, "eth0"}, other_, stranger_.port, kAtOnce), ECONNREFUSED);
  EXPECT_EQ(connect_tcp({container}, gateway, on_host.port, kAtOnce), ECONNREFUSED);
  const Service published = serve_tcp(container, ip("172.30.1.2"));
  EXPECT_TRUE(echoes(host(), ip("172.30.1.2"), published));
  ASSERT_EQ(must(remove_filter(container)), Removed::kNow);
  run_ip(container, "route delete prohibit 10.5.0.0/16 table 4791 metric 4791");
  EXPECT_EQ(connect_tcp({container}, other_, stranger_.port), 0);
  EXPECT_EQ(connect_tcp({container}, gateway, on_host.port), 0);
}

// Docker refuses an address that overlaps a route of the table main. Who is prohibited is not
// answered either.
TEST_F(FilterTest, HoldsForALaterInterfaceWhoseSubnetIsProhibited) {
  const Namespace container = make_namespace();
  const Address gateway = ip("172.30.1.1");
  NetworkPlan wide = plan();
  wide.guarded = {host_prefix(gateway)};
  wide.prohibited.push_back(must(parse_prefix("172.16.0.0/12")));
  must(attach(wide, host(), container));
  EXPECT_THAT(run_ip(container, "route show table main"), Not(HasSubstr("172.")));
  add_docker_network(container);
  const Service on_host = serve_tcp(host(), gateway);
  const Service published = serve_tcp(container, ip("172.30.1.2"));
  EXPECT_EQ(connect_tcp({container}, own_, peer_.port), 0);
  EXPECT_EQ(connect_tcp({container}, gateway, on_host.port, kAtOnce), ECONNREFUSED);
  EXPECT_EQ(connect_tcp({container, "eth0"}, gateway, on_host.port, kAtOnce), ECONNREFUSED);
  EXPECT_EQ(connect_tcp({host()}, ip("172.30.1.2"), published.port, kAtOnce), ETIMEDOUT);
  ASSERT_EQ(must(remove_filter(container)), Removed::kNow);
  EXPECT_EQ(connect_tcp({container}, gateway, on_host.port), 0);
  EXPECT_EQ(connect_tcp({host()}, ip("172.30.1.2"), published.port), 0);
}

TEST_F(FilterTest, KeepsTheContainerFromTheGuardedWhichMayCallIt) {
  const Namespace container = make_namespace();
  add_docker_network(container);
  const Address gateway = ip("172.30.1.1");
  const Service on_host = serve_tcp(host(), gateway);
  const Service datagram_on_host = serve_udp(host(), gateway);
  NetworkPlan guarding = plan();
  guarding.guarded = {host_prefix(gateway)};
  must(attach(guarding, host(), container));
  EXPECT_EQ(connect_tcp({container}, gateway, on_host.port, kAtOnce), ECONNREFUSED);
  EXPECT_FALSE(send_udp({container}, gateway, datagram_on_host));
  const Service published = serve_tcp(container, ip("172.30.1.2"));
  EXPECT_TRUE(echoes(host(), ip("172.30.1.2"), published));
  ASSERT_EQ(must(remove_filter(container)), Removed::kNow);
  EXPECT_EQ(connect_tcp({container}, gateway, on_host.port), 0);
  EXPECT_TRUE(send_udp({container}, gateway, datagram_on_host));
}

// A service of the host that answers a broadcast from its own address, as DHCP servers do, calls
// the container as a published port does.
TEST_F(FilterTest, SendsTheHostNothingByBroadcastMulticastAndAnycast) {
  const Namespace container = make_namespace();
  add_docker_network(container);
  run_ip(host(), "-6 address add fd00:30::1/64 dev dock1 nodad");
  run_ip(container, "-6 address add fd00:30::2/64 dev eth0 nodad");
  run_ip(container, "route add 224.0.0.0/4 dev eth0");
  run_ip(host(), "address add 10.1.3.1/24 dev host0");
  write_in(host(), "/proc/sys/net/ipv6/conf/all/forwarding",
           "1");  // then a router's anycast is heard
  const Service ipv4_service = serve_udp(host(), ip("0.0.0.0"));
  const Service ipv6_service = serve_udp(host(), ip("::"));
  const std::vector<std::pair<const char*, const Service*>> ways = {
      {"172.30.1.255", &ipv4_service}, {"255.255.255.255", &ipv4_service},
      {"10.1.3.255", &ipv4_service},   {"224.0.0.1", &ipv4_service},
      {"ff02::1", &ipv6_service},      {"fd00:30::", &ipv6_service}};
  const Client client{container, "eth0"};
  for (const auto& [way, service] : ways) {
    // Neighbour discovery of an anycast address takes up to a second.
    EXPECT_TRUE(try_send_udp(client, ip(way), service->port) == 0 &&
                has_datagram(*service, kPatience))
        << "the way must exist: " << way;
  }
  NetworkPlan guarding = plan();
  guarding.broadcasts = must(broadcasts_of(host()));
  must(attach(guarding, host(), container));
  for (const auto& [way, service] : ways) {
    EXPECT_FALSE(send_udp(client, ip(way), *service)) << way;
  }
}

// The host gets its address after the container has talked to somebody there, and answered.
TEST_F(FilterTest, EndsWhatTheContainerHasOpenedToTheGuarded) {
  const Namespace container = make_namespace();
  add_docker_network(container);
  must(attach(plan(), host(), container));
  const Address gateway = ip("172.30.1.1");
  const Service on_host = serve_udp(host(), gateway);
  const Service own = serve_udp(container, ip("172.30.1.2"));
  ASSERT_TRUE(sends(own, gateway, on_host));
  ASSERT_TRUE(sends(on_host, ip("172.30.1.2"), own));
  NetworkPlan guarding = plan();
  guarding.guarded = {host_prefix(gateway)};
  must(attach(guarding, host(), container));
  EXPECT_FALSE(sends(own, gateway, on_host));
}

TEST_F(FilterTest, LeavesOtherInterfacesAndLoopbackAlone) {
  const Namespace container = make_namespace();
  add_docker_network(container);
  must(attach(plan(), host(), container));
  const Service on_host = serve_tcp(host(), ip("172.30.1.1"));
  EXPECT_EQ(connect_tcp({container}, ip("172.30.1.1"), on_host.port), 0);
  for (const Address own : {ip("127.0.0.1"), plan().rails[0].address, ip("172.30.1.2")}) {
    const Service local = serve_tcp(container, own);
    EXPECT_EQ(connect_tcp({container}, own, local.port), 0) << to_string(own);
  }
}

TEST_F(FilterTest, ForwardsNothingToTheFabric) {
  const Namespace container = make_namespace();
  add_docker_network(container);
  must(attach(plan(), host(), container));
  write_in(container, "/proc/sys/net/ipv4/ip_forward", "1");
  write_in(container, "/proc/sys/net/ipv4/conf/all/rp_filter", "0");
  run_ip(host(), "route add 10.5.1.1/32 via 172.30.1.2 dev dock1");
  const Service service = serve_udp(fabric(), own_, 4791);
  EXPECT_FALSE(send_udp({host(), "dock1"}, own_, service));
  ASSERT_EQ(must(remove_filter(container)), Removed::kNow);
  EXPECT_TRUE(send_udp({host(), "dock1"}, own_, service));
}

TEST_F(FilterTest, ForwardsNothingFromTheFabric) {
  const Namespace container = make_namespace();
  add_docker_network(container);
  must(attach(plan(), host(), container));
  write_in(container, "/proc/sys/net/ipv4/ip_forward", "1");
  for (const char* name : {"all", "dock1"}) {
    write_in(host(), str("/proc/sys/net/ipv4/conf/", name, "/rp_filter"), "0");
  }
  run_ip(fabric(), "route add 172.30.1.1/32 via 10.5.200.1");
  const Service service = serve_udp(host(), ip("172.30.1.1"));
  EXPECT_FALSE(send_udp({fabric()}, ip("172.30.1.1"), service));
  ASSERT_EQ(must(remove_filter(container)), Removed::kNow);
  EXPECT_TRUE(send_udp({fabric()}, ip("172.30.1.1"), service));
}

TEST_F(FilterTest, LetsNoIpv6PassByAnIpv4Interface) {
  const Namespace container = make_namespace();
  must(attach(plan(), host(), container));
  run_ip(container, "-6 address add fd00::2/64 dev roce0 nodad");
  run_ip(fabric(), "-6 address add fd00::1/64 dev fab0 nodad");
  const Service service = serve_tcp(fabric(), ip("fd00::1"));
  EXPECT_NE(connect_tcp({container}, ip("fd00::1"), service.port, kAtOnce), 0);
  ASSERT_EQ(must(remove_filter(container)), Removed::kNow);
  EXPECT_EQ(connect_tcp({container}, ip("fd00::1"), service.port), 0);
}

TEST_F(FilterTest, HoldsAsManyPeersAsTheLargestPartitionHas) {
  const Namespace container = make_namespace();
  NetworkPlan large = plan();
  for (uint16_t i = 0; i < 128; ++i) {
    large.rails[0].peers.push_back(
        Peer{ip(str("10.5.2.", i).c_str()), static_cast<uint16_t>(8000 + i)});
    large.rails[0].peers.push_back(
        Peer{ip(str("10.5.2.", i).c_str()), static_cast<uint16_t>(9000 + i)});
  }
  must(attach(large, host(), container));
  EXPECT_EQ(connect_tcp({container}, own_, peer_.port), 0);
  run_ip(fabric(), "address add 10.5.2.127/16 dev fab0");
  const Service last = serve_tcp(fabric(), ip("10.5.2.127"), 9127);
  EXPECT_EQ(connect_tcp({container}, ip("10.5.2.127"), last.port), 0);
}

TEST_F(FilterTest, HoldsThousandsOfGuardedAddressesAndPrefixesThatOverlap) {
  const Namespace container = make_namespace();
  add_docker_network(container);
  const Address gateway = ip("172.30.1.1");
  const Service on_host = serve_tcp(host(), gateway);
  NetworkPlan large = plan();
  for (uint32_t i = 0; i < 5000; ++i) {
    large.guarded.push_back(host_prefix(ipv4(0x0a600000 + i)));
  }
  large.guarded.push_back(host_prefix(gateway));
  large.guarded.push_back(must(parse_prefix("10.96.0.0/12")));
  large.prohibited.push_back(must(parse_prefix("10.5.1.0/24")));
  must(attach(large, host(), container));
  EXPECT_EQ(connect_tcp({container}, gateway, on_host.port, kAtOnce), ECONNREFUSED);
  EXPECT_EQ(connect_tcp({container}, own_, peer_.port), 0);
}

// As on a kernel without nf_tables.
void refuse_netfilter_sockets() {
  sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_socket, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[2])),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, NETLINK_NETFILTER, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPROTONOSUPPORT),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog filter{.len = std::size(program), .filter = program};
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0) != 0) _exit(100);
}

TEST_F(FilterTest, IsNeverMissingWithoutAnError) {
  const Namespace container = make_namespace();
  const std::string before = snapshot(container);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    refuse_netfilter_sockets();
    const auto result = attach(plan(), host(), container);
    const bool said = !result.ok() && result.error().code() == base::Code::kUnsupported &&
                      result.error().message().find("nf_tables") != std::string::npos;
    _exit(said ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(snapshot(container), before);
}

// Networks within others and next to others, and the last of a family.
TEST_F(FilterTest, RefusesEachNetworkUpToItsEdges) {
  const Namespace container = make_namespace();
  add_docker_network(container);
  NetworkPlan refusing = plan();
  for (const char* network : {"10.9.0.0/16", "10.8.0.0/16", "10.9.1.0/24", "10.12.0.0/16",
                              "10.12.255.255/32", "224.0.0.0/3", "255.255.255.255/32"}) {
    refusing.broadcasts.push_back(must(parse_prefix(network)));
  }
  ASSERT_TRUE(install_filter(refusing, container).ok());
  for (const char* inside : {"10.8.0.0", "10.8.255.255", "10.9.0.0", "10.9.1.7", "10.9.2.0",
                             "10.9.255.255", "10.12.0.0", "10.12.255.255", "224.0.0.1"}) {
    EXPECT_NE(try_send_udp({container}, ip(inside), 9), 0) << inside;
  }
  for (const char* outside : {"10.7.255.255", "10.10.0.0", "10.11.255.255", "10.13.0.0"}) {
    EXPECT_EQ(try_send_udp({container}, ip(outside), 9), 0) << outside;
  }
}

TEST_F(FilterTest, IsRemovedOnce) {
  const Namespace container = make_namespace();
  ASSERT_TRUE(install_filter(plan(), container).ok());
  EXPECT_EQ(must(remove_filter(container)), Removed::kNow);
  EXPECT_EQ(must(remove_filter(container)), Removed::kWasAbsent);
}

}  // namespace
}  // namespace netns
