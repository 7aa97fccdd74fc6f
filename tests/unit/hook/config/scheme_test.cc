// SPDX-License-Identifier: Apache-2.0
// Addresses that follow from IPUs.
#include "hook/config/scheme.h"

#include <gtest/gtest.h>

#include <set>

#include "base/names.h"
#include "base/text.h"
#include "tests/support/outcome.h"

namespace hook::config {
namespace {

using namespace base::names;

// A rail whose containers get their addresses by their IPUs: 10.5.64.0 to 10.5.79.255.
constexpr const char* kByIpu = R"(
[[network.rail]]
parent = "rnic0"
subnet = "10.5.0.0/16"
scheme = "ipu"
base = "10.5.64.0"
machines = "10.5.0.0/22"
)";

base::Result<NetworkConfig> parse_rails(const std::string& rails) {
  const char* cards = "[pool]\nname = \"a\"\nprovider = \"pcie\"\n";
  return TRY(parse_config(cards + rails, "/etc/x.toml")).network;
}

// A rail with a range, and MORE.
base::Result<NetworkConfig> with_range(const std::string& more) {
  return parse_rails(
      "[[network.rail]]\nparent = \"a\"\nsubnet = \"10.5.0.0/16\"\n"
      "range = \"10.5.200.10-10.5.200.99\"\n" +
      more);
}

netns::Address address(const char* text) { return netns::parse_address(text).take(); }

testing::AssertionResult refuses(const base::Result<NetworkConfig>& network, const char* why) {
  return test::fails(network, Code::kInvalid, str("/etc/x.toml: network.", why));
}

TEST(Scheme, IsTheRangeByDefault) {
  const RailConfig rail = with_range("").take().rails.at(0);
  EXPECT_TRUE(rail.has_range);
  EXPECT_FALSE(span_of(rail));
  EXPECT_TRUE(test::succeeds(with_range("scheme = \"range\"")));
  EXPECT_TRUE(refuses(with_range("scheme = \"dhcp\""), "rail.scheme must be \"range\" or \"ipu\""));
  EXPECT_TRUE(refuses(with_range("base = \"10.5.64.0\""),
                      "rail.base must be left out unless scheme = \"ipu\""));
}

TEST(Scheme, GivesEachIpuOfTheMachinesAnAddressOfItsOwn) {
  const RailConfig rail = parse_rails(kByIpu).take().rails.at(0);
  EXPECT_FALSE(rail.has_range);
  EXPECT_EQ(to_string(*span_of(rail)), "10.5.64.0-10.5.79.255");
  std::set<netns::Address> given;
  for (uint32_t machine = 0; machine < 1024; ++machine) {
    for (uint32_t device = 0; device < 4; ++device) {
      const auto found = address_by_ipu(rail, *later(address("10.5.0.0"), machine), device);
      ASSERT_TRUE(test::succeeds(found));
      EXPECT_TRUE(span_of(rail)->contains(found.value()));
      EXPECT_TRUE(given.insert(found.value()).second) << netns::to_string(found.value());
    }
  }
  EXPECT_EQ(address_by_ipu(rail, address("10.5.1.1"), 2).take(), address("10.5.68.6"));
}

TEST(Scheme, GivesNoAddressForAnIpuThatItCannotCount) {
  const RailConfig rail = parse_rails(kByIpu).take().rails.at(0);
  EXPECT_TRUE(test::fails(address_by_ipu(rail, address("10.5.4.0"), 0), Code::kUnsupported,
                          "enlarge 'machines' of network.rail"));
  EXPECT_TRUE(test::fails(address_by_ipu(rail, address("10.5.1.1"), 4), Code::kUnsupported,
                          "IPU 4 of IPU-Machine 10.5.1.1 gives no address by scheme = \"ipu\""));
}

TEST(Scheme, NeedsBaseAndMachines) {
  const std::string text = kByIpu;
  const auto without = [&](const std::string& line) {
    std::string less = text;
    return parse_rails(less.erase(less.find(line), line.size()));
  };
  EXPECT_TRUE(
      refuses(without("base = \"10.5.64.0\"\n"), "rail.base must be set with scheme = \"ipu\""));
  EXPECT_TRUE(refuses(without("machines = \"10.5.0.0/22\"\n"),
                      "rail.machines must be set with scheme = \"ipu\""));
  EXPECT_TRUE(refuses(without("scheme = \"ipu\"\n"), "rail.base must be left out"));
  EXPECT_TRUE(refuses(parse_rails("[[network.rail]]\nparent = \"a\"\nsubnet = \"10.5.0.0/16\"\n"),
                      "rail.range must be set"));
}

TEST(Scheme, KeepsItsAddressesApartFromAllOthers) {
  const auto with = [](const char* base, const char* machines, const char* more = "") {
    return parse_rails(
        str("[[network.rail]]\nparent = \"a\"\nsubnet = \"10.5.0.0/16\"\n"
            "scheme = \"ipu\"\nbase = \"",
            base, "\"\nmachines = \"", machines, "\"\n", more));
  };
  EXPECT_TRUE(refuses(with("10.5.8.0", "10.5.0.0/20"), "rail.base must be apart from 'machines'"));
  EXPECT_TRUE(refuses(with("10.5.64.0", "10.5.0.0/22", "range = \"10.5.79.255-10.5.80.9\"\n"),
                      "rail.base must be apart from 'range': 10.5.64.0-10.5.79.255, the"
                      " addresses of 'base' with four for each of 'machines', overlap"
                      " 10.5.79.255-10.5.80.9"));
  EXPECT_TRUE(
      test::succeeds(with("10.5.64.0", "10.5.0.0/22", "range = \"10.5.80.0-10.5.80.9\"\n")));
  EXPECT_TRUE(refuses(with("10.5.250.0", "10.5.0.0/22"),
                      "rail.base must be inside the subnet 10.5.0.0/16;"
                      " 10.5.250.0-10.6.9.255 is not"));
  EXPECT_TRUE(refuses(with("10.5.240.0", "10.5.0.0/22"),
                      "rail.base must be without 10.5.255.255, the broadcast address"));
  EXPECT_TRUE(refuses(with("fd00:5::", "10.5.0.0/22"), "rail.base must be inside the subnet"));
  // The bases of two rails cannot overlap, because the subnets of two rails never do.
  EXPECT_TRUE(refuses(with("10.5.64.0", "10.5.0.0/22",
                           "[[network.rail]]\nparent = \"b\"\nsubnet = \"10.6.0.0/16\"\n"
                           "scheme = \"ipu\"\nbase = \"10.5.64.0\"\n"
                           "machines = \"10.6.0.0/22\"\n"),
                      "rail.base must be inside the subnet 10.6.0.0/16"));
}

TEST(Scheme, CountsAtMostAMillionIpus) {
  const auto with = [](const char* machines) {
    return parse_rails(
        str("[[network.rail]]\nparent = \"a\"\nsubnet = \"fd00:5::/64\"\n"
            "scheme = \"ipu\"\nbase = \"fd00:5::1:0:0\"\nmachines = \"",
            machines, "\"\n"));
  };
  EXPECT_TRUE(refuses(with("fd00:5::/109"), "rail.machines must be a prefix of at most 262144"));
  const RailConfig rail = with("fd00:5::/110").take().rails.at(0);
  EXPECT_EQ(address_by_ipu(rail, address("fd00:5::1:2"), 3).take(), address("fd00:5::1:4:b"));
}

TEST(Scheme, KeepsMachinesAndTheHostFromTheAddressesOfContainers) {
  const NetworkConfig network = parse_rails(kByIpu).take();
  EXPECT_EQ(why_no_machine(network.rails[0], address("10.5.64.0")),
            "it lies in the base 10.5.64.0-10.5.79.255 of rail 'rnic0', from which containers get"
            " their addresses");
  EXPECT_EQ(why_no_machine(network.rails[0], address("10.5.1.1")), "");
  EXPECT_TRUE(test::succeeds(check_host_addresses(network, {address("10.5.80.0")})));
  EXPECT_TRUE(test::fails(check_host_addresses(network, {address("10.5.79.255")}), Code::kInvalid,
                          "exclude it from 'base' of network.rail"));
}

}  // namespace
}  // namespace hook::config
