// SPDX-License-Identifier: Apache-2.0
// What a container without IPUs, on an engine's bridge, reaches by the host's forwarding.
#include "netns/guard.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "base/text.h"
#include "netns/session.h"
#include "tests/kernel/netns/frames.h"
#include "tests/kernel/netns/world.h"

namespace netns {
namespace {

using base::Removed;
using base::str;

Prefix prefix(const char* text) { return parse_prefix(text).take(); }

class GuardTest : public World {
 protected:
  static void must_make(const Namespace& host, const Guard& guard) {
    EXPECT_EQ(must(ensure_guard(host, guard)), Ensured::kMade);
  }
  Namespace plain() {
    Namespace container = make_namespace();
    add_docker_network(container);
    return container;
  }
};

TEST_F(GuardTest, KeepsWhatIsForwardedFromTheFabric) {
  const Namespace container = plain();
  EXPECT_EQ(connect_tcp({container}, own_, peer_.port), 0) << "the host forwards";
  must_make(host(), {{}, {prefix("10.5.0.0/16")}, {}});
  EXPECT_EQ(connect_tcp({container}, own_, peer_.port, kQuiet), ETIMEDOUT);
  EXPECT_EQ(connect_tcp({host()}, own_, peer_.port), 0) << "the host itself";
  EXPECT_EQ(must(remove_guard(host())), Removed::kNow);
  EXPECT_EQ(connect_tcp({container}, own_, peer_.port), 0);
  EXPECT_EQ(must(remove_guard(host())), Removed::kWasAbsent);
}

TEST_F(GuardTest, KeepsWhatIsForwardedFromAnInterface) {
  const Namespace container = plain();
  must_make(host(), {{"host0"}, {}, {}});
  EXPECT_EQ(connect_tcp({container}, own_, peer_.port, kQuiet), ETIMEDOUT);
  EXPECT_EQ(connect_tcp({host()}, own_, peer_.port), 0);
}

TEST_F(GuardTest, LetsWhatIsAllowedPass) {
  const Namespace first = plain();
  const Namespace second = make_namespace();
  add_docker_network(second, 2);
  must_make(host(), {{"host0"}, {prefix("10.5.0.0/16")}, {prefix("172.30.1.0/24")}});
  EXPECT_EQ(connect_tcp({first}, own_, peer_.port), 0) << "from an allowed network";
  EXPECT_EQ(connect_tcp({second}, own_, peer_.port, kQuiet), ETIMEDOUT);
  must_make(host(), {{"host0"}, {prefix("10.5.0.0/16")}, {prefix("10.5.1.1/32")}});
  EXPECT_EQ(connect_tcp({second}, own_, peer_.port), 0) << "to an allowed address";
  EXPECT_EQ(connect_tcp({second}, other_, stranger_.port, kQuiet), ETIMEDOUT);
}

// As with a published port: the connection comes from the fabric.
TEST_F(GuardTest, LetsAnswersPass) {
  const Namespace container = plain();
  const Address address = ip("172.30.1.2");
  run_ip(fabric(), str("route replace 172.30.1.0/24 via ", to_string(host_address_)));
  const Service service = serve_tcp(container, address);
  must_make(host(), {{"host0"}, {prefix("10.5.0.0/16")}, {}});
  EXPECT_TRUE(echoes(fabric(), address, service));
  EXPECT_EQ(connect_tcp({container}, own_, peer_.port, kQuiet), ETIMEDOUT);
}

// A container with CAP_NET_RAW sends a datagram in the name of an endpoint to itself, by the host.
// What it sends to the endpoint would then be an answer.
TEST_F(GuardTest, TakesNoForgedDatagramForOneOfTheFabric) {
  constexpr uint16_t kPort = 40000;
  const Namespace container = plain();
  const Service endpoint = serve_udp(fabric(), own_);
  for (const char* name : {"all", "dock1"}) {
    write_in(host(), str("/proc/sys/net/ipv4/conf/", name, "/rp_filter"), "0");
  }
  must_make(host(), {{"host0"}, {prefix("10.5.0.0/16")}, {}});
  EXPECT_EQ(connect_tcp({container}, ip("172.30.1.1"), 9, kQuiet), ECONNREFUSED) << "finds its MAC";
  Session session = must(Session::open(host()));
  const MacAddress gateway = must(session.find_link("dock1")).value().mac;
  Session inside = must(Session::open(container));
  const MacAddress mac = must(inside.find_link("eth0")).value().mac;
  const RawSender sender(container, "eth0");
  sender.send(ethernet(gateway, mac, 0x0800) + ipv4_header(own_, ip("172.30.1.2"), 17) +
              udp(endpoint.port, kPort));
  try_send_udp({container, "", kPort}, own_, endpoint.port);
  EXPECT_FALSE(has_datagram(endpoint, kQuiet));
}

TEST_F(GuardTest, KeepsIpv6Too) {
  add_ipv6();
  const Namespace container = plain();
  run_ip(container, "-6 address add fd00:30::2/64 dev eth0 nodad");
  run_ip(container, "-6 route add default via fd00:30::1");
  run_ip(host(), "-6 address add fd00:30::1/64 dev dock1 nodad");
  write_in(host(), "/proc/sys/net/ipv6/conf/all/forwarding", "1");
  run_ip(host(), "-6 address replace fd00:5::9/64 dev host0 nodad");
  run_ip(fabric(), "-6 route add fd00:30::/64 via fd00:5::9");
  // A router asks for neighbours only when its link-local addresses are not tentative any more.
  const std::chrono::seconds patience(8);
  EXPECT_EQ(connect_tcp({container}, own_ipv6_, ipv6_peer_.port, patience), 0);
  must_make(host(), {{}, {prefix("fd00:5::/64")}, {}});
  EXPECT_EQ(connect_tcp({container}, own_ipv6_, ipv6_peer_.port, kQuiet), ETIMEDOUT);
}

TEST_F(GuardTest, IsMadeOnceAndFollowsAChange) {
  const Guard guard{{"host0"}, {prefix("10.5.0.0/16")}, {}};
  must_make(host(), guard);
  EXPECT_EQ(must(ensure_guard(host(), guard)), Ensured::kWasThere);
  Guard more = guard;
  more.prefixes.push_back(prefix("fd00:5::/64"));
  must_make(host(), more);
  EXPECT_EQ(must(ensure_guard(host(), more)), Ensured::kWasThere);
  must_make(host(), guard);
}

}  // namespace
}  // namespace netns
