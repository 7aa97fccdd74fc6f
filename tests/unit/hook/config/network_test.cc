// SPDX-License-Identifier: Apache-2.0
// The [network] of the configuration and its rails.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/names.h"
#include "base/text.h"
#include "hook/config/config.h"
#include "tests/support/outcome.h"

namespace hook::config {
namespace {

using namespace base::names;
using std::chrono::milliseconds;
using testing::ElementsAre;

constexpr const char* kIpv4Rail = R"(
[[network.rail]]
parent = "ens1f0np0"
subnet = "10.5.0.0/16"
range = "10.5.200.10-10.5.200.99"
)";
constexpr const char* kIpv6Rail = R"(
[[network.rail]]
parent = "ens1f1np1"
subnet = "fd00:5::/64"
range = "fd00:5::c8:10-fd00:5::c8:99"
)";

base::Result<NetworkConfig> parse_network(const std::string& text) {
  const HostFacts bare{{}, "/no/vipu-cli.hcl", "/no/dev", "/no/ipuof.conf.d"};
  const std::string pool = "[pool]\nname = \"a\"\nprovider = \"vipu\"\ncontroller = \"h:8090\"\n";
  const base::Result<Config> config = parse_config(pool + text, "/etc/x.toml", bare);
  if (!config.ok()) return config.error();
  return config.value().network;
}

base::Result<NetworkConfig> with_network(const std::string& line) {
  return parse_network(str("[network]\n", line, "\n", kIpv4Rail));
}

// A rail with this line in place of the one with the same key, or added.
base::Result<NetworkConfig> with_rail(const std::string& line, std::string rail = kIpv4Rail) {
  const size_t at = rail.find("\n" + line.substr(0, line.find('=')) + "=");
  if (at == std::string::npos) return parse_network(rail + line + "\n");
  return parse_network(rail.replace(at + 1, rail.find('\n', at + 1) - at - 1, line));
}

netns::Address ip(const char* text) { return netns::parse_address(text).take(); }

testing::AssertionResult is_refused(const base::Result<NetworkConfig>& network, const char* why) {
  return test::fails(network, Code::kInvalid, str("/etc/x.toml: network.", why));
}

TEST(NetworkConfig, HasDefaultsForWhatNeedNotBeSaid) {
  const base::Result<NetworkConfig> network = parse_network(kIpv4Rail);
  ASSERT_TRUE(test::succeeds(network));
  EXPECT_EQ(network.value().rdma, RdmaUse::kAuto);
  EXPECT_EQ(network.value().host_network, HostNetwork::kRefuse);
  EXPECT_EQ(network.value().gid_wait, milliseconds(2000));
  EXPECT_EQ(network.value().duplicate_probe, milliseconds(25));
  EXPECT_EQ(network.value().rdma_handles, std::nullopt);
  const RailConfig& rail = network.value().rails.at(0);
  EXPECT_EQ(rail.mode, netns::MacvlanMode::kPrivate);
  EXPECT_EQ(rail.machines, std::nullopt);
  EXPECT_EQ(rail.mtu, 0U);
  EXPECT_EQ(rail.max_gids, std::nullopt);
  EXPECT_EQ(rail.others, std::nullopt);
  EXPECT_EQ(network.value().filter, netns::FilterPlace::kAuto);
}

TEST(NetworkConfig, HasEveryKeyOfTheFile) {
  const base::Result<NetworkConfig> result = parse_network(str(R"(
[network]
rdma = "require"
host_network = "isolate"
filter = "host"
gid_wait = "5s"
duplicate_probe = "0s"
forbidden = ["10.2.0.0/16", "fd00:9::/32"]
guard_forwarding = true
forward_allowed = ["172.30.0.0/16"]
rdma_handles = 16
rdma_objects = 100000
)",
                                                               kIpv4Rail, R"(
machines = "10.5.0.0/20"
mode = "bridge"
shared_bridge = false
mtu = 4200
peers = ["10.5.0.9", "10.5.0.8:2049"]
max_gids = 120
others = "drop"
[[network.rail]]
functions = ["rnic1v0", "rnic1v1"]
subnet = "fd00:5::/64"
range = "fd00:5::10-fd00:5::99"
machines = "fd00:5::1:0/112"
mtu = 1280
peers = ["fd00:5::9", "[fd00:5::8]:2049"]
)"));
  ASSERT_TRUE(test::succeeds(result));
  const NetworkConfig& network = result.value();
  EXPECT_EQ(network.rdma, RdmaUse::kRequire);
  EXPECT_EQ(network.host_network, HostNetwork::kIsolate);
  EXPECT_EQ(network.filter, netns::FilterPlace::kHost);
  EXPECT_EQ(network.gid_wait, milliseconds(5000));
  EXPECT_EQ(network.duplicate_probe, milliseconds(0));
  EXPECT_EQ(network.guard_forwarding, true);
  EXPECT_THAT(network.forward_allowed, ElementsAre(netns::parse_prefix("172.30.0.0/16").take()));
  EXPECT_THAT(network.forbidden, ElementsAre(netns::parse_prefix("10.2.0.0/16").take(),
                                             netns::parse_prefix("fd00:9::/32").take()));
  EXPECT_EQ(network.rdma_handles, 16U);
  EXPECT_EQ(network.rdma_objects, 100'000U);
  ASSERT_EQ(network.rails.size(), 2U);
  EXPECT_EQ(network.rails[0].parent, "ens1f0np0");
  EXPECT_EQ(network.rails[0].mode, netns::MacvlanMode::kBridge);
  EXPECT_EQ(network.rails[0].shared_bridge, false);
  EXPECT_EQ(network.rails[0].machines, netns::parse_prefix("10.5.0.0/20").take());
  EXPECT_EQ(network.rails[0].mtu, 4200U);
  EXPECT_THAT(network.rails[0].peers,
              ElementsAre(netns::Peer{ip("10.5.0.9"), 0}, netns::Peer{ip("10.5.0.8"), 2049}));
  EXPECT_EQ(network.rails[0].max_gids, 120U);
  EXPECT_EQ(network.rails[0].others, netns::Others::kDrop);
  EXPECT_EQ(network.rails[1].parent, "");
  EXPECT_THAT(network.rails[1].functions, ElementsAre("rnic1v0", "rnic1v1"));
  EXPECT_EQ(network.rails[1].first, ip("fd00:5::10"));
  EXPECT_EQ(network.rails[1].machines, netns::parse_prefix("fd00:5::1:0/112").take());
  EXPECT_EQ(network.rails[1].last, ip("fd00:5::99"));
  EXPECT_THAT(network.rails[1].peers,
              ElementsAre(netns::Peer{ip("fd00:5::9"), 0}, netns::Peer{ip("fd00:5::8"), 2049}));
  EXPECT_EQ(name_of(network.rails[0]), "ens1f0np0");
  EXPECT_EQ(name_of(network.rails[1]), "rnic1v0,rnic1v1");
}

TEST(NetworkConfig, RefusesWrongValues) {
  EXPECT_TRUE(is_refused(with_network("rdma = \"maybe\""),
                         "rdma: 'maybe' is not one of \"auto\", \"require\", \"off\""));
  EXPECT_TRUE(is_refused(with_network("rdma = true"), "rdma must be"));
  EXPECT_TRUE(is_refused(with_network("host_network = \"allow\""),
                         "host_network: 'allow' is neither \"refuse\" nor \"isolate\""));
  EXPECT_TRUE(
      is_refused(with_network("filter = \"auto\""),
                 "filter: 'auto' is not one of \"host\", \"nftables\", \"tc\", \"namespace\""));
  EXPECT_TRUE(is_refused(with_network("gid_wait = 2"), "gid_wait must be a duration"));
  EXPECT_TRUE(is_refused(with_network("gid_wait = \"0s\""), "gid_wait must be longer than 0"));
  EXPECT_TRUE(is_refused(with_network("gid_wait = \"9s\""), "gid_wait must be"));
  EXPECT_TRUE(
      is_refused(with_network("duplicate_probe = \"2s\""), "duplicate_probe must be at most 1s"));
  EXPECT_TRUE(is_refused(with_network("forbidden = \"10.2.0.0/16\""), "forbidden must be a list"));
  EXPECT_TRUE(is_refused(with_network("guard_forwarding = 1"), "guard_forwarding must be"));
  EXPECT_TRUE(is_refused(with_network("forward_allowed = [\"x\"]"), "forward_allowed: "));
  EXPECT_TRUE(is_refused(with_network("forbidden = [\"10.2.0.1/16\"]"),
                         "forbidden: prefix '10.2.0.1/16' has host bits set"));
  EXPECT_TRUE(is_refused(with_network("rdma_handles = 0"), "rdma_handles must be a number from 1"));
  EXPECT_TRUE(is_refused(with_network("rdma_objects = -1"), "rdma_objects must be a number"));
  EXPECT_TRUE(test::fails(with_network("gids = 1"), Code::kInvalid, "unknown key 'network.gids'"));
}

TEST(RailConfig, RefusesInterfacesThatAreNone) {
  EXPECT_TRUE(is_refused(with_rail("parent = \"\""), "rail.parent must be"));
  EXPECT_TRUE(is_refused(with_rail("parent = \"abcdefghijklmnop\""),
                         "rail.parent: 'abcdefghijklmnop' is longer than 15 characters"));
  for (const char* name : {"a/b", "..", "a b", "a:0"}) {
    EXPECT_TRUE(is_refused(with_rail(str("parent = \"", name, "\"")), "rail.parent: ")) << name;
  }
  const std::string rest = "subnet = \"10.5.0.0/16\"\nrange = \"10.5.0.2-10.5.0.9\"\n";
  EXPECT_TRUE(is_refused(parse_network("[[network.rail]]\n" + rest), "rail.parent must be set"));
  const auto with_functions = [&](const std::string& functions) {
    return parse_network(str("[[network.rail]]\nfunctions = ", functions, "\n", rest));
  };
  EXPECT_TRUE(is_refused(with_functions("[]"), "rail.functions must be a list"));
  EXPECT_TRUE(is_refused(with_functions("[\"\"]"), "rail.functions: ''"));
  EXPECT_TRUE(is_refused(with_functions("[\"v0\", \"v1\", \"v0\"]"),
                         "rail.functions must be different interfaces; 'v0' appears twice"));
  EXPECT_TRUE(is_refused(with_rail("functions = [\"v0\"]"),
                         "rail.functions must be left out if 'parent' is set"));
  EXPECT_TRUE(is_refused(with_functions("[\"v0\"]\nmode = \"private\""),
                         "rail.mode must be left out if 'functions' is set"));
  EXPECT_TRUE(is_refused(with_functions("[\"v0\"]\nmax_gids = 2"), "rail.max_gids must be left"));
  EXPECT_TRUE(test::succeeds(with_functions("[\"v0\"]\nmtu = 4200")));
}

TEST(RailConfig, RefusesASubnetThatIsNone) {
  EXPECT_TRUE(is_refused(with_rail("subnet = \"10.5.0.1/16\""), "rail.subnet: "));
  EXPECT_TRUE(is_refused(with_rail("subnet = \"10.5.0.0\""), "rail.subnet: "));
  EXPECT_TRUE(is_refused(with_rail("subnet = \"0.0.0.0/0\""),
                         "rail.subnet: '0.0.0.0/0' overlaps 127.0.0.0/8"));
  for (const char* subnet : {"127.1.0.0/16", "239.0.0.0/8", "fe80::/64", "::/0", "ff02::/16"}) {
    EXPECT_TRUE(is_refused(with_rail(str("subnet = \"", subnet, "\"")), "rail.subnet: ")) << subnet;
  }
}

TEST(RailConfig, RefusesARangeThatIsNotOfTheSubnet) {
  const auto with_range = [](const char* range) {
    return with_rail(str("range = \"", range, "\""));
  };
  EXPECT_TRUE(is_refused(with_range("10.5.200.10"), "rail.range: '10.5.200.10' is not FIRST-LAST"));
  EXPECT_TRUE(is_refused(with_range("a-b"), "rail.range: "));
  EXPECT_TRUE(is_refused(with_range("10.5.200.9-10.5.200.8"),
                         "rail.range: '10.5.200.9-10.5.200.8' ends before it begins"));
  EXPECT_TRUE(is_refused(with_range("10.6.0.1-10.6.0.9"),
                         "rail.range must be inside the subnet 10.5.0.0/16"));
  EXPECT_TRUE(is_refused(with_range("10.5.255.1-10.6.0.9"), "rail.range must be inside"));
  EXPECT_TRUE(is_refused(with_range("10.4.255.1-10.5.0.9"), "rail.range must be inside"));
  EXPECT_TRUE(is_refused(with_range("10.5.0.1-fd00:5::9"), "rail.range: "));
  EXPECT_TRUE(is_refused(with_range("fd00:5::1-fd00:5::9"), "rail.range must be inside"));
  EXPECT_TRUE(is_refused(with_range("10.5.0.0-10.5.0.9"),
                         "rail.range must be without 10.5.0.0, the network address"));
  EXPECT_TRUE(is_refused(with_range("10.5.255.250-10.5.255.255"),
                         "rail.range must be without 10.5.255.255, the broadcast address"));
  EXPECT_TRUE(test::succeeds(with_range("10.5.0.1 - 10.5.0.1")));
  EXPECT_TRUE(test::succeeds(with_range("10.5.0.1-10.5.255.254")));
}

TEST(RailConfig, HasItsMachinesInTheSubnetAndApartFromTheRange) {
  const auto with_machines = [](const char* machines) {
    return with_rail(str("machines = \"", machines, "\""));
  };
  for (const char* machines : {"10.5.0.0", "10.5.0.0-10.5.0.9", "10.5.0.0/33", "a/8"}) {
    EXPECT_TRUE(is_refused(with_machines(machines), "rail.machines: ")) << machines;
  }
  EXPECT_TRUE(is_refused(with_machines(""), "rail.machines must be the subnet of"));
  EXPECT_TRUE(is_refused(with_rail("machines = 20"), "rail.machines must be the subnet of"));
  EXPECT_TRUE(is_refused(with_machines("10.5.0.1/20"),
                         "rail.machines: prefix '10.5.0.1/20' has host bits set"));
  for (const char* machines : {"10.6.0.0/20", "10.0.0.0/8", "10.4.0.0/15", "fd00:5::/112"}) {
    EXPECT_TRUE(is_refused(
        with_machines(machines),
        str("rail.machines must be inside the subnet 10.5.0.0/16; ", machines, " is not").c_str()));
  }
  EXPECT_TRUE(is_refused(with_rail("machines = \"10.5.0.0/20\"", kIpv6Rail),
                         "rail.machines must be inside the subnet fd00:5::/64"));
  for (const char* machines :
       {"10.5.0.0/16", "10.5.200.0/24", "10.5.200.10/32", "10.5.200.64/26"}) {
    EXPECT_TRUE(is_refused(with_machines(machines),
                           "rail.machines must be apart from the range 10.5.200.10-10.5.200.99"));
  }
  for (const char* machines : {"10.5.200.0/29", "10.5.200.100/30", "10.5.0.0/17"}) {
    EXPECT_TRUE(test::succeeds(with_machines(machines))) << machines;
  }
}

TEST(RailConfig, TakesBothAddressesOfAPointToPointSubnet) {
  const std::string rail =
      "[[network.rail]]\nparent = \"a\"\nsubnet = \"10.5.0.8/31\"\nrange = \"10.5.0.8-10.5.0.9\"\n";
  EXPECT_TRUE(test::succeeds(parse_network(rail)));
}

TEST(RailConfig, HasARangeOfAtMostAMillionAddresses) {
  const auto with_range = [](const char* range) {
    return with_rail(str("range = \"", range, "\""), kIpv6Rail);
  };
  EXPECT_TRUE(test::succeeds(with_range("fd00:5::1-fd00:5::10:0")));
  EXPECT_TRUE(is_refused(with_range("fd00:5::1-fd00:5::10:1"), "rail.range: "));
  EXPECT_TRUE(is_refused(with_range("fd00:5::1-fd00:5:0:0:ffff::"), "rail.range: "));
}

TEST(RailConfig, RefusesWhatNoLinkCanBe) {
  EXPECT_TRUE(is_refused(with_rail("mode = \"vepa\""), "rail.mode: 'vepa' is neither"));
  EXPECT_TRUE(is_refused(with_rail("shared_bridge = true"),
                         "rail.shared_bridge must be left out unless mode = \"bridge\""));
  EXPECT_TRUE(is_refused(with_rail("mtu = 67"), "rail.mtu must be a number from 68 to 65535"));
  EXPECT_TRUE(is_refused(with_rail("mtu = 65536"), "rail.mtu must be"));
  EXPECT_TRUE(
      is_refused(with_rail("mtu = 1279", kIpv6Rail), "rail.mtu must be a number from 1280"));
  EXPECT_TRUE(test::succeeds(with_rail("mtu = 68")));
  EXPECT_TRUE(is_refused(with_rail("max_gids = 0"), "rail.max_gids must be a number from 1"));
}

TEST(RailConfig, RefusesPeersThatNoContainerMayReach) {
  const auto with_peer = [](const char* peer) {
    return with_rail(str("peers = [\"10.5.0.9\", \"", peer, "\"]"));
  };
  EXPECT_TRUE(is_refused(with_peer("10.6.0.9"),
                         "rail.peers must be inside the subnet 10.5.0.0/16; '10.6.0.9' is not"));
  EXPECT_TRUE(is_refused(with_peer("fd00:5::9"), "rail.peers must be inside"));
  for (const char* port : {"8080", "8090", "2112"}) {
    EXPECT_TRUE(is_refused(
        with_peer(str("10.5.0.9:", port).c_str()),
        str("rail.peers: peer '10.5.0.9:", port, "': port ", port, " belongs to the management")
            .c_str()));
  }
  for (const char* peer : {"", "10.5.0.9:", "10.5.0.9:0", "10.5.0.9:65536", ":80", "host:80",
                           "[10.5.0.9:80", "fd00:5::9]:80", "[fd00:5::9]", "10.5.0.0/24"}) {
    EXPECT_TRUE(is_refused(with_peer(peer), "rail.peers: peer ")) << peer;
  }
  EXPECT_TRUE(is_refused(with_peer("10.5.0.9"), "rail.peers must be different"));
  EXPECT_TRUE(test::succeeds(with_peer("10.5.0.9:2049")));
}

TEST(RailConfig, IsApartFromAllOthers) {
  EXPECT_TRUE(test::succeeds(parse_network(str(kIpv4Rail, kIpv6Rail))));
  const std::string other = "[[network.rail]]\nparent = \"b\"\nsubnet = \"10.5.8.0/24\"\n";
  EXPECT_TRUE(
      is_refused(parse_network(str(kIpv4Rail, other, "range = \"10.5.8.1-10.5.8.9\"\n")),
                 "rail.subnet must be disjoint from all other subnets; 10.5.8.0/24 of b overlaps"
                 " 10.5.0.0/16 of ens1f0np0"));
  const std::string rest = "subnet = \"10.6.0.0/16\"\nrange = \"10.6.0.1-10.6.0.9\"\n";
  EXPECT_TRUE(
      is_refused(parse_network(str(kIpv4Rail, "[[network.rail]]\nparent = \"ens1f0np0\"\n", rest)),
                 "rail.parent must be in one rail only; 'ens1f0np0' is in two"));
  EXPECT_TRUE(
      is_refused(parse_network(str(
                     kIpv4Rail, "[[network.rail]]\nfunctions = [\"v0\", \"ens1f0np0\"]\n", rest)),
                 "rail.functions must be in one rail only; 'ens1f0np0' is in two"));
  EXPECT_TRUE(test::fails(with_rail("gids = 1"), Code::kInvalid,
                          "unknown key 'network.rail.gids'; accepted here: parent, functions"));
}

TEST(RailConfig, HasNoAddressOfTheHostInItsRange) {
  const NetworkConfig network = parse_network(str(kIpv4Rail, kIpv6Rail)).take();
  const auto check = [&](const char* address) {
    return check_host_addresses(network, {ip("10.5.0.9"), ip(address)});
  };
  for (const char* address : {"10.5.200.9", "10.5.200.100", "fd00:5::c8:9", "::ffff:10"}) {
    EXPECT_TRUE(test::succeeds(check(address))) << address;
  }
  EXPECT_TRUE(test::fails(check("10.5.200.10"), Code::kInvalid,
                          "10.5.200.10 is an address of this host, but lies in the range"
                          " 10.5.200.10-10.5.200.99 of rail 'ens1f0np0'"));
  EXPECT_TRUE(test::fails(check("10.5.200.99"), Code::kInvalid, "10.5.200.99 is"));
  EXPECT_TRUE(test::fails(check("fd00:5::c8:50"), Code::kInvalid, "rail 'ens1f1np1'"));
}

}  // namespace
}  // namespace hook::config
