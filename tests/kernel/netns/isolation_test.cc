// SPDX-License-Identifier: Apache-2.0
// Who reaches what: every container, every address that matters, every way to send. All of it is
// tried without capabilities, and printed as a table.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <iostream>

#include "base/text.h"
#include "netns/attach.h"
#include "tests/kernel/netns/world.h"

namespace netns {
namespace {

using base::str;

constexpr uint16_t kRoce = 4791;
constexpr uint16_t kOtherPort = 5353;
constexpr std::chrono::milliseconds kWait{120};

enum class Way { kTcp, kRoceV2, kUdp, kPing, kTcpByDevice, kUdpFromForeign };
constexpr std::array kWays{Way::kTcp,  Way::kRoceV2,      Way::kUdp,
                           Way::kPing, Way::kTcpByDevice, Way::kUdpFromForeign};

const char* name_of(Way way) {
  switch (way) {
    case Way::kTcp:
      return "TCP";
    case Way::kRoceV2:
      return "UDP 4791";
    case Way::kUdp:
      return "UDP other";
    case Way::kPing:
      return "ping";
    case Way::kTcpByDevice:
      return "TCP by roce0";
    case Way::kUdpFromForeign:
      return "foreign source";
  }
  return "";
}

// Something that might be reached, which listens by every way.
struct Target {
  const char* name;
  Address address;
  uint16_t port;
  Service tcp;
  Service roce;
  Service udp;
};

Target listen_at(const char* name, const Namespace& in, const Address& address, uint16_t port) {
  return {name,
          address,
          port,
          serve_tcp(in, address, port),
          serve_udp(in, address, kRoce),
          serve_udp(in, address, kOtherPort)};
}

struct Tenant {
  const char* name;
  const Namespace& in;
  Address foreign;  // an address that its interface does not have
};

class IsolationTest : public World {
 protected:
  // Whether TENANT gets something to TARGET.
  static bool reaches(const Tenant& tenant, const Target& target, Way way);
  // Tries everything, prints it, and compares each cell with what EXPECTED(tenant, target, way)
  // says.
  template <typename Expected>
  static void try_all(const std::vector<Tenant>& tenants, const std::vector<Target>& targets,
                      Expected expected);
  // Management network, default gateway, and the world outside: on another link of the host, which
  // forwards to it.
  void add_management();
  std::vector<Target> all_targets(const Namespace& one, const Namespace& two);
};

bool IsolationTest::reaches(const Tenant& tenant, const Target& target, Way way) {
  const Client plain{tenant.in};
  Client by_device{tenant.in};
  by_device.device = "roce0";
  Client foreign{tenant.in};
  foreign.source = tenant.foreign;
  const Address& to = target.address;
  switch (way) {
    case Way::kTcp:
      return confined(tenant.in, [&] { return connect_tcp(plain, to, target.port, kWait); }) == 0;
    case Way::kTcpByDevice:
      return confined(tenant.in, [&] { return connect_tcp(by_device, to, target.port, kWait); }) ==
             0;
    case Way::kRoceV2:
      confined(tenant.in, [&] { return try_send_udp(plain, to, kRoce); });
      return has_datagram(target.roce, kWait);
    case Way::kUdp:
      confined(tenant.in, [&] { return try_send_udp(plain, to, kOtherPort); });
      return has_datagram(target.udp, kWait);
    case Way::kUdpFromForeign:
      if (tenant.foreign.family != to.family) return false;
      confined(tenant.in, [&] { return try_send_udp(foreign, to, kRoce); });
      return has_datagram(target.roce, kWait);
    case Way::kPing:
      return confined(tenant.in, [&] { return ping(plain, to, kWait); }) == 0;
  }
  return false;
}

std::string cell(std::string_view text, size_t width) {
  return str(text, std::string(width - std::min(width, text.size()), ' '));
}

template <typename Expected>
void IsolationTest::try_all(const std::vector<Tenant>& tenants, const std::vector<Target>& targets,
                            Expected expected) {
  std::string header = str(cell("from", 12), cell("to", 34));
  for (const Way way : kWays) header += cell(name_of(way), 16);
  std::cout << header << '\n';
  for (const Tenant& tenant : tenants) {
    for (const Target& target : targets) {
      std::string line = str(cell(tenant.name, 12), cell(target.name, 34));
      for (const Way way : kWays) {
        const bool does = reaches(tenant, target, way);
        line += cell(does ? "reached" : "-", 16);
        EXPECT_EQ(does, expected(tenant, target, way))
            << tenant.name << " to " << target.name << " by " << name_of(way);
      }
      std::cout << line << '\n';
    }
  }
}

void IsolationTest::add_management() {
  run_ip(host(), str("link add mgmt0 type veth peer name far0 netns ", path_of(fabric())));
  run_ip(host(), "address add 192.168.50.9/16 dev mgmt0");
  run_ip(host(), "link set mgmt0 up");
  for (const char* address : {"192.168.50.2", "192.168.50.11", "192.168.51.11", "192.168.99.7"}) {
    run_ip(fabric(), str("address add ", address, "/16 dev far0"));
  }
  run_ip(fabric(), "link set far0 up");
  for (const char* address : {"10.5.1.3", "10.5.0.1"}) {
    run_ip(fabric(), str("address add ", address, "/16 dev fab0"));
  }
}

std::vector<Target> IsolationTest::all_targets(const Namespace& one, const Namespace& two) {
  std::vector<Target> targets;
  const auto add = [&](const char* name, const Namespace& in, const char* address, uint16_t port) {
    targets.push_back(listen_at(name, in, ip(address), port));
  };
  add("endpoint of A", fabric(), "10.5.1.1", 50001);
  add("endpoint of B", fabric(), "10.5.1.2", 50001);
  add("endpoint of C", fabric(), "10.5.1.3", 50001);
  add("container A", one, "10.5.200.1", 50001);
  add("container B", two, "10.5.200.2", 50001);
  add("default gateway of the fabric", fabric(), "10.5.0.1", 80);
  add("host on the fabric", host(), "10.5.0.9", 22);
  add("host on the bridge of C", host(), "172.30.3.1", 22);
  add("host on the management network", host(), "192.168.50.9", 22);
  add("V-IPU controller", fabric(), "192.168.50.2", 8090);
  add("management of an IPU-Machine", fabric(), "192.168.50.11", 8080);
  add("BMC of an IPU-Machine", fabric(), "192.168.51.11", 443);
  add("outside", fabric(), "192.168.99.7", 443);
  return targets;
}

TEST_F(IsolationTest, EachReachesItsOwnEndpointsAndNothingElseByTheFabric) {
  const Namespace one = make_namespace();
  const Namespace two = make_namespace();
  const Namespace three = make_namespace();
  add_management();
  add_docker_network(three, 3);
  for (const Namespace* container : {&one, &two, &three}) allow_ping(*container);
  run_ip(host(), "route add 10.5.200.1/32 dev host0");
  for (const char* way : {"192.168.50.2", "192.168.99.7", "10.5.1.2", "10.5.0.9"}) {
    const Service service = serve_tcp(ip(way) == host_address_ ? host() : fabric(), ip(way));
    ASSERT_EQ(connect_tcp({three}, ip(way), service.port), 0) << "the way must exist: " << way;
  }
  for (uint8_t n = 1; n <= 3; ++n) {
    NetworkPlan tenant = plan(n);
    tenant.rails[0].peers = {Peer{ip(str("10.5.1.", n).c_str()), 50001}};
    for (const char* prefix : {"192.168.50.0/24", "192.168.51.0/24"}) {
      tenant.prohibited.push_back(must(parse_prefix(prefix)));
    }
    for (const Address& address : must(addresses_of(host()))) {
      tenant.guarded.push_back(host_prefix(address));
    }
    must(attach(tenant, host(), n == 1 ? one : n == 2 ? two : three));
  }
  const std::vector<Tenant> tenants = {
      {"A", one, ip("10.5.200.2")}, {"B", two, ip("10.5.1.1")}, {"C", three, ip("172.30.3.2")}};
  try_all(tenants, all_targets(one, two), [](const Tenant& from, const Target& to, Way way) {
    const std::string own = str("endpoint of ", from.name);
    const std::string itself = str("container ", from.name);
    // Loopback is not ours to filter.
    if (to.name == itself) return way != Way::kUdpFromForeign;
    if (to.name == own) return way != Way::kUdp && way != Way::kUdpFromForeign;
    // The foreign address of C is that of its eth0.
    const bool is_outside = std::string_view(to.name) == "outside";
    return is_outside && std::string_view(from.name) == "C" && way != Way::kTcpByDevice;
  });
}

TEST_F(IsolationTest, EachReachesTheOwnPortsOfItsIpuMachineOnly) {
  const Namespace container = make_namespace();
  must(attach(plan(), host(), container));
  const Client bound{container, "roce0"};
  constexpr std::array<uint16_t, 5> kPorts{8080, 8090, 2112, 22, 443};
  for (const uint16_t port : kPorts) {
    const Service service = serve_tcp(fabric(), own_, port);
    const Service datagrams = serve_udp(fabric(), own_, port);
    for (const Client& client : {Client{container}, bound}) {
      EXPECT_EQ(confined(container, [&] { return connect_tcp(client, own_, port, kWait); }),
                ECONNREFUSED)
          << port;
      EXPECT_EQ(confined(container, [&] { return try_send_udp(client, own_, port); }), EPERM)
          << port;
      EXPECT_FALSE(has_datagram(datagrams, kWait)) << port;
    }
  }
  EXPECT_EQ(confined(container, [&] { return connect_tcp(bound, own_, peer_.port); }), 0);
}

TEST_F(IsolationTest, HoldsByIpv6Too) {
  add_ipv6();
  const Namespace one = make_namespace();
  const Namespace two = make_namespace();
  run_ip(host(), "-6 address add fd00:5::9/64 dev host0 nodad");
  for (uint8_t n = 1; n <= 2; ++n) {
    NetworkPlan tenant = ipv6_plan(n);
    tenant.rails[0].peers = {Peer{n == 1 ? own_ipv6_ : other_ipv6_, 50001}};
    must(attach(tenant, host(), n == 1 ? one : two));
    allow_ping(n == 1 ? one : two);
  }
  std::vector<Target> targets;
  targets.push_back(listen_at("endpoint of A", fabric(), own_ipv6_, 50001));
  targets.push_back(listen_at("endpoint of B", fabric(), other_ipv6_, 50001));
  targets.push_back(listen_at("container B", two, ip("fd00:5::c8:2"), 50001));
  targets.push_back(listen_at("host on the fabric", host(), ip("fd00:5::9"), 22));
  targets.push_back(listen_at("IPv4 endpoint", fabric(), own_, 50001));
  // The kernel makes an address its own some milliseconds after the link is up, and what it asked
  // for before then it asks for again after a second.
  ASSERT_EQ(connect_tcp({one}, own_ipv6_, 50001), 0);
  const std::vector<Tenant> tenants = {{"A", one, ip("fd00:5::c8:2")}};
  try_all(tenants, targets, [](const Tenant&, const Target& to, Way way) {
    return to.address == ip("fd00:5::1") && way != Way::kUdp && way != Way::kUdpFromForeign;
  });
}

}  // namespace
}  // namespace netns
