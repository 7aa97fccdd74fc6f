// SPDX-License-Identifier: Apache-2.0
#include "netns/attach.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

#include "base/clock.h"
#include "base/names.h"
#include "base/text.h"
#include "netns/filter.h"
#include "tests/kernel/netns/world.h"

namespace netns {
namespace {

using namespace base::names;
using base::Removed;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class AttachTest : public World {};

TEST_F(AttachTest, GivesTheLinkItsNameMacModeAndTheParentsMtu) {
  const Namespace container = make_namespace();
  const Attachment attachment = must(attach(plan(), host(), container))[0];
  const std::string link = run_ip(container, "-d -o link show dev roce0");
  EXPECT_THAT(link, AllOf(HasSubstr(" mtu 4200 "), HasSubstr("link/ether 02:00:0a:05:c8:01 "),
                          HasSubstr("macvlan mode private"), HasSubstr("state UP")));
  EXPECT_EQ(attachment.mtu, 4200U);
  EXPECT_THAT(link, testing::StartsWith(str(attachment.index, ": roce0@")));
}

TEST_F(AttachTest, GivesOneAddressAndExactlyTheRoutesOfThePlan) {
  const Namespace container = make_namespace();
  NetworkPlan two_ports = plan();
  two_ports.rails[0].peers.push_back(Peer{own_, 9});
  two_ports.rails[0].peers.push_back(Peer{ip("10.5.1.3"), 9});
  must(attach(two_ports, host(), container));
  EXPECT_THAT(run_ip(container, "-o -4 address show dev roce0"), HasSubstr("10.5.200.1/32 "));
  EXPECT_EQ(run_ip(container, "-4 route show"),
            "10.5.1.1 dev roce0 proto static scope link src 10.5.200.1 \n"
            "10.5.1.3 dev roce0 proto static scope link src 10.5.200.1 \n");
  EXPECT_EQ(run_ip(container, "-4 route show table 4791"),
            "prohibit 10.5.0.0/16 proto static metric 4791 \n");
  EXPECT_EQ(run_ip(container, "-4 rule show"),
            "0:\tfrom all lookup local\n"
            "32000:\tfrom all lookup main suppress_prefixlength 0\n"
            "32001:\tfrom all lookup 4791\n"
            "32766:\tfrom all lookup main\n"
            "32767:\tfrom all lookup default\n");
}

TEST_F(AttachTest, GivesNoIpv6Address) {
  const Namespace container = make_namespace();
  must(attach(plan(), host(), container));
  EXPECT_EQ(run_ip(container, "-6 address show dev roce0"), "");
}

TEST_F(AttachTest, SetsTheInterfacesSysctls) {
  const Namespace container = make_namespace();
  must(attach(plan(), host(), container));
  const auto setting = [&](const char* name) {
    return read_in(container, str("/proc/sys/net/ipv4/conf/roce0/", name));
  };
  EXPECT_EQ(setting("arp_ignore"), "1");
  EXPECT_EQ(setting("arp_announce"), "2");
  EXPECT_EQ(setting("arp_notify"), "1");
  EXPECT_EQ(setting("rp_filter"), "2");
  EXPECT_EQ(setting("accept_redirects"), "0");
  EXPECT_EQ(setting("send_redirects"), "0");
  EXPECT_EQ(setting("accept_source_route"), "0");
}

TEST_F(AttachTest, AnnouncesTheAddressToTheFabric) {
  const Namespace container = make_namespace();
  write_in(fabric(), "/proc/sys/net/ipv4/conf/fab0/arp_accept", "1");
  must(attach(plan(), host(), container));
  const auto deadline = base::Deadline::after(kPatience);
  std::string neighbours;
  while (neighbours.empty() && !deadline.passed()) {
    neighbours = run_ip(fabric(), "neighbour show to 10.5.200.1");
  }
  EXPECT_THAT(neighbours, HasSubstr("02:00:0a:05:c8:01"));
}

TEST_F(AttachTest, WorksWithALinkThatIsTooSmallForIpv6) {
  run_ip(host(), "link set host0 mtu 1200");
  const Namespace container = make_namespace();
  EXPECT_EQ(must(attach(plan(), host(), container))[0].mtu, 1200U);
}

TEST_F(AttachTest, WorksWithTheParentDown) {
  run_ip(host(), "link set host0 down");
  const Namespace container = make_namespace();
  must(attach(plan(), host(), container));
  run_ip(host(), "link set host0 up");
  EXPECT_EQ(connect_tcp({container}, own_, peer_.port), 0);
}

TEST_F(AttachTest, GivesTwoContainersAnInterfaceOfTheSameName) {
  const Namespace one = make_namespace();
  const Namespace two = make_namespace();
  must(attach(plan(1), host(), one));
  must(attach(plan(2), host(), two));
  EXPECT_EQ(connect_tcp({one}, own_, peer_.port), 0);
  EXPECT_EQ(connect_tcp({two}, own_, peer_.port), 0);
}

TEST_F(AttachTest, WorksWhenTheHostHasAnInterfaceOfThatNameToo) {
  add_spare_link(host(), "roce0", "02:00:00:00:00:07");
  const Namespace container = make_namespace();
  must(attach(plan(), host(), container));
  EXPECT_THAT(run_ip(host(), "-d -o link show dev roce0"), HasSubstr("veth"));
}

TEST_F(AttachTest, ChangesNothingInTheHostsNamespace) {
  const std::string before = snapshot(host());
  const Namespace container = make_namespace();
  must(attach(plan(), host(), container));
  EXPECT_EQ(snapshot(host()), before);
}

TEST_F(AttachTest, TwiceWithTheSamePlanIsHarmless) {
  const Namespace container = make_namespace();
  must(attach(plan(), host(), container));
  const std::string routes = run_ip(container, "-4 route show");
  must(attach(plan(), host(), container));
  EXPECT_EQ(run_ip(container, "-4 route show"), routes);
  EXPECT_EQ(connect_tcp({container}, own_, peer_.port), 0);
}

TEST_F(AttachTest, LeavesAnInterfaceWithAnotherMacAlone) {
  const Namespace container = make_namespace();
  add_spare_link(container, "roce0", "02:00:00:00:00:07");
  const std::string before = snapshot(container);
  const auto result = attach(plan(), host(), container);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code(), Code::kExists);
  EXPECT_THAT(result.error().message(),
              AllOf(HasSubstr("'roce0'"), HasSubstr("02:00:00:00:00:07")));
  EXPECT_EQ(snapshot(container), before);
  EXPECT_EQ(must(remove_filter(container)), Removed::kWasAbsent);
}

TEST_F(AttachTest, NamesAnAbsentParentAndWhereItIsConfigured) {
  const Namespace container = make_namespace();
  NetworkPlan absent = plan();
  absent.rails[0].parent = "ens9f9";
  const auto result = attach(absent, host(), container);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code(), Code::kNotFound);
  EXPECT_THAT(result.error().message(), AllOf(HasSubstr("'ens9f9'"), HasSubstr("network.rail")));
}

TEST_F(AttachTest, RefusesTheHostsNamespaceByWhateverHandle) {
  const std::string before = snapshot(host());
  const Namespace same = must(Namespace::at(str("/proc/self/fd/", host().fd())));
  const auto result = attach(plan(), host(), same);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code(), Code::kInvalid);
  EXPECT_EQ(snapshot(host()), before);
}

TEST_F(AttachTest, RefusesNamesThatNoInterfaceCanHave) {
  const Namespace container = make_namespace();
  for (const char* name : {"", "sixteen-letters-", "a/b", "a b", "..", "roce%d"}) {
    NetworkPlan bad = plan();
    bad.rails[0].interface = name;
    const std::string before = snapshot(container);
    const auto result = attach(bad, host(), container);
    ASSERT_FALSE(result.ok()) << name;
    EXPECT_EQ(result.error().code(), Code::kInvalid) << result.error().message();
    EXPECT_EQ(snapshot(container), before);
  }
}

TEST_F(AttachTest, LeavesNothingWhenItsNameIsAnotherNameOfALink) {
  const Namespace container = make_namespace();
  add_spare_link(container, "eth0", "02:00:00:00:00:07");
  run_ip(container, "link property add dev eth0 altname roce0");
  const std::string before = snapshot(container);
  const auto result = attach(plan(), host(), container);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code(), Code::kExists) << result.error().message();
  EXPECT_EQ(snapshot(container), before);
  EXPECT_EQ(must(remove_filter(container)), Removed::kWasAbsent);
}

TEST_F(AttachTest, LeavesNothingWhenARouteIsTakenByAnother) {
  const Namespace container = make_namespace();
  add_spare_link(container, "eth0", "02:00:00:00:00:07");
  run_ip(container, "route add 10.5.1.1/32 dev eth0");
  const std::string before = snapshot(container);
  const auto result = attach(plan(), host(), container);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code(), Code::kExists);
  EXPECT_THAT(result.error().message(), HasSubstr("10.5.1.1"));
  EXPECT_EQ(snapshot(container), before);
  EXPECT_EQ(must(remove_filter(container)), Removed::kWasAbsent);
}

TEST_F(AttachTest, LeavesNothingWhenTheKernelRefusesTheLink) {
  run_ip(host(), "link add br0 type bridge");
  run_ip(host(), "link set host0 master br0");
  const Namespace container = make_namespace();
  const std::string before = snapshot(container);
  const auto result = attach(plan(), host(), container);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code(), Code::kBusy) << result.error().message();
  EXPECT_EQ(snapshot(container), before);
  EXPECT_EQ(must(remove_filter(container)), Removed::kWasAbsent);
}

TEST_F(AttachTest, LeavesNothingWhenTheMacIsInUse) {
  const Namespace one = make_namespace();
  const Namespace two = make_namespace();
  must(attach(plan(1), host(), one));
  const std::string before = snapshot(two);
  const auto result = attach(plan(1), host(), two);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().sys_errno(), EADDRINUSE) << result.error().message();
  EXPECT_EQ(snapshot(two), before);
  EXPECT_EQ(connect_tcp({one}, own_, peer_.port), 0);
}

TEST_F(AttachTest, SucceedsWithTheMacOfANamespaceThatJustDied) {
  for (int i = 0; i < 5; ++i) {
    std::optional<Namespace> dead = make_namespace();
    must(attach(plan(), host(), *dead));
    dead.reset();
    const Namespace next = make_namespace();
    const Attachment attachment = must(attach(plan(), host(), next))[0];
    must(detach(host(), must(ensure_id(host(), next)), "roce0", plan().rails[0].mac));
    EXPECT_GT(attachment.index, 0U);
  }
}

TEST_F(AttachTest, LeavesARouteOfDockersToTheProhibitedPrefixInPlace) {
  const Namespace container = make_namespace();
  add_spare_link(container, "eth0", "02:00:00:00:00:07");
  run_ip(container, "route add 10.5.0.0/16 dev eth0");
  must(attach(plan(), host(), container));
  EXPECT_THAT(run_ip(container, "-4 route show"), HasSubstr("10.5.0.0/16 dev eth0"));
  EXPECT_THAT(run_ip(container, "-4 route show table 4791"), HasSubstr("prohibit 10.5.0.0/16"));
  EXPECT_EQ(connect_tcp({container}, own_, peer_.port), 0);
  EXPECT_EQ(connect_tcp({container}, other_, stranger_.port), ECONNREFUSED);
}

// Docker 28 does so after the hooks, and refuses an address if a route of the table main overlaps.
TEST_F(AttachTest, LeavesRoomForAnInterfaceThatComesLater) {
  const Namespace container = make_namespace();
  NetworkPlan wide = plan();
  wide.prohibited.push_back(must(parse_prefix("172.16.0.0/12")));
  must(attach(wide, host(), container));
  EXPECT_EQ(run_ip(container, "-4 route show match 172.17.0.0/16"), "");
  EXPECT_EQ(run_ip(container, "-4 route show root 172.17.0.0/16"), "");
  EXPECT_EQ(connect_tcp({container}, ip("172.17.0.1"), 9), EACCES);
  add_spare_link(container, "eth0", "02:00:00:00:00:07");
  run_ip(container, "address add 172.17.0.2/16 dev eth0");
  run_ip(container, "route add default via 172.17.0.1");
  EXPECT_THAT(run_ip(container, "-4 route get 172.17.0.1"), HasSubstr("dev eth0"));
  EXPECT_THAT(run_ip(container, "-4 route get 192.0.2.1"), HasSubstr("via 172.17.0.1"));
  EXPECT_EQ(connect_tcp({container}, ip("172.18.0.1"), 9), EACCES);
}

TEST_F(AttachTest, MovesTheProhibitRoutesOfEarlierVersionsFromTheTableMain) {
  const Namespace container = make_namespace();
  must(attach(plan(), host(), container));
  run_ip(container, "route add prohibit 10.5.0.0/16 proto static metric 4791");
  run_ip(container, "-4 rule delete pref 32000");
  run_ip(container, "-4 rule delete pref 32001");
  must(attach(plan(), host(), container));
  EXPECT_EQ(run_ip(container, "-4 route show type prohibit"), "");
  EXPECT_EQ(connect_tcp({container}, other_, stranger_.port), EACCES);
}

class HostTest : public World {};

TEST_F(HostTest, ListsTheAddressesOfBothFamiliesButLinkLocalOnes) {
  run_ip(host(), "address add 192.0.2.1/24 dev host0");
  run_ip(host(), "-6 address add fd00:5::9/64 dev host0");
  run_ip(host(), "-6 address add fe80::9/64 dev host0");
  const std::vector<Address> addresses = must(addresses_of(host()));
  EXPECT_THAT(addresses, testing::UnorderedElementsAre(ip("127.0.0.1"), ip("::1"), ip("192.0.2.1"),
                                                       ip("fd00:5::9"), host_address_));
}

}  // namespace
}  // namespace netns
