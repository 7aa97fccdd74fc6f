// SPDX-License-Identifier: Apache-2.0
// Which rails a container can use, and why not.
#include "hook/lifecycle/network/rails.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/names.h"
#include "tests/support/hook_host.h"

namespace hook::lifecycle::network {
namespace {

using namespace base::names;
using test::fails;
using test::HookHost;
using test::succeeds;

class HostRailsTest : public testing::Test {
 protected:
  Result<std::vector<HostRail>> inspect() {
    return inspect_rails(host_.env, host_.config.network, host_.env.host.addresses().take());
  }
  config::RailConfig& rail() { return host_.config.network.rails[0]; }
  // As the rail's parent is, but for what CHANGE makes of it.
  template <typename Change>
  void with_parent(Change change) {
    netns::LinkFacts facts = host_.env.host.link("rnic0").take();
    change(facts);
    host_.links["rnic0"] = facts;
  }
  void add_second_rail() {
    host_.config.network.rails.push_back(
        HookHost::rail("rnic1", "10.6.0.0/16", "10.6.200.10", "10.6.200.99"));
  }
  static ledger::LeasedIpu ipu(const char* address) {
    return {netns::parse_address(address).take(), 0, 50052, 50152};
  }
  HookHost host_;
};

TEST_F(HostRailsTest, AreUsableOnAnInterfaceThatIsUp) {
  const auto rails = inspect();
  ASSERT_TRUE(succeeds(rails));
  EXPECT_TRUE(succeeds(rails.value()[0].usable));
  EXPECT_EQ(rails.value()[0].request.interface, "roce0");
}

TEST_F(HostRailsTest, AreRefusedWithWhatToDo) {
  with_parent([](netns::LinkFacts& link) { link.is_up = false; });
  EXPECT_TRUE(fails(inspect(), Code::kUnsupported, "ip link set rnic0 up"));
  with_parent([](netns::LinkFacts& link) { link.is_up = link.is_loopback = true; });
  EXPECT_TRUE(fails(inspect(), Code::kUnsupported, "loopback"));
  with_parent([](netns::LinkFacts& link) {
    link.is_loopback = false;
    link.is_wireless = true;
  });
  EXPECT_TRUE(fails(inspect(), Code::kUnsupported, "wireless"));
  with_parent([](netns::LinkFacts& link) {
    link.is_wireless = false;
    link.master = "br0";
    link.master_kind = "bridge";
  });
  EXPECT_TRUE(fails(inspect(), Code::kUnsupported, "'br0'"));
}

// The kernel of the test machine may have no VLANs, so the facts are made up.
TEST_F(HostRailsTest, AreRefusedOnAVlanAboveTheParentOfAnother) {
  add_second_rail();
  netns::LinkFacts vlan = host_.env.host.link("rnic1").take();
  vlan.kind = "vlan";
  vlan.below = {"rnic0"};
  host_.links["rnic1"] = vlan;
  const auto rails = inspect();
  ASSERT_TRUE(succeeds(rails));
  EXPECT_TRUE(succeeds(rails.value()[0].usable));
  EXPECT_TRUE(fails(rails.value()[1].usable, Code::kUnsupported,
                    "network.rail 'rnic1': 'rnic1' is above 'rnic0'"));
  EXPECT_TRUE(fails(choose_rails(rails.value(), {ipu("10.6.1.1")}), Code::kUnsupported,
                    "remove one of the two rails"));
  host_.config.network.filter = netns::FilterPlace::kNamespace;
  EXPECT_TRUE(succeeds(inspect().take()[1].usable)) << "without a border both work";
}

TEST_F(HostRailsTest, AreRefusedWhenTheMtuIsAboveTheParents) {
  rail().mtu = 9001;
  EXPECT_TRUE(fails(inspect(), Code::kUnsupported, "9001"));
  rail().mtu = 9000;
  EXPECT_TRUE(succeeds(inspect()));
}

TEST_F(HostRailsTest, AreRefusedWhileTheHostHasAnAddressOfTheRange) {
  host_.addresses = {netns::parse_address("10.5.200.42").take()};
  EXPECT_TRUE(fails(inspect(), Code::kInvalid, "10.5.200.42"));
  host_.addresses = {netns::parse_address("10.5.200.100").take()};
  EXPECT_TRUE(succeeds(inspect()));
}

TEST_F(HostRailsTest, NeedNotAllBeUsable) {
  add_second_rail();
  host_.missing_links = {"rnic1"};
  const auto rails = inspect();
  ASSERT_TRUE(succeeds(rails));
  EXPECT_TRUE(succeeds(choose_rails(rails.value(), {ipu("10.5.1.1")})));
  EXPECT_TRUE(fails(choose_rails(rails.value(), {ipu("10.5.1.1"), ipu("10.6.1.1")}),
                    Code::kNotFound, "rnic1"));
}

TEST_F(HostRailsTest, AreChosenByWhereTheIpusAre) {
  add_second_rail();
  const std::vector<HostRail> rails = inspect().take();
  const auto second = choose_rails(rails, {ipu("10.6.1.1")});
  ASSERT_TRUE(succeeds(second));
  ASSERT_EQ(second.value().size(), 1U);
  EXPECT_EQ(second.value()[0].interface, "roce1");
  EXPECT_EQ(choose_rails(rails, {ipu("10.6.1.1"), ipu("10.5.1.1")}).value().size(), 2U);
  EXPECT_TRUE(fails(choose_rails(rails, {ipu("10.7.1.1")}), Code::kInvalid, "10.7.1.1"));
}

TEST_F(HostRailsTest, OfFunctionsNameThoseThatAreThere) {
  rail().parent.clear();
  rail().functions = {"vf0", "vf1"};
  host_.missing_links = {"vf0"};
  const auto rails = inspect();
  ASSERT_TRUE(succeeds(rails));
  ASSERT_EQ(rails.value()[0].request.functions.size(), 1U);
  EXPECT_EQ(rails.value()[0].request.functions[0].interface, "vf1");
}

TEST_F(HostRailsTest, OfFunctionsAreRefusedWhenThereIsNone) {
  rail().parent.clear();
  rail().functions = {"vf0"};
  host_.missing_links = {"vf0"};
  EXPECT_TRUE(fails(inspect(), Code::kUnsupported, "vf0"));
}

TEST_F(HostRailsTest, GiveTheAddressOfTheFirstIpuOnEachOfThem) {
  add_second_rail();
  for (const auto& [index, base, machines] :
       {std::tuple{0U, "10.5.64.0", "10.5.0.0/22"}, {1U, "10.6.64.0", "10.6.0.0/22"}}) {
    host_.config.network.rails[index].base = netns::parse_address(base).take();
    host_.config.network.rails[index].machines = netns::parse_prefix(machines).take();
  }
  ledger::LeasedIpu second = ipu("10.5.0.1");
  second.device = 3;
  const auto rails = inspect().take();
  for (const auto& ipus : {std::vector{ipu("10.5.0.2"), second, ipu("10.6.1.0")},
                           std::vector{ipu("10.6.1.0"), second, ipu("10.5.0.2")}}) {
    const auto chosen = choose_rails(rails, ipus);
    ASSERT_TRUE(succeeds(chosen));
    EXPECT_EQ(chosen.value()[0].by_ipu, netns::parse_address("10.5.64.7").take());
    EXPECT_EQ(chosen.value()[1].by_ipu, netns::parse_address("10.6.68.0").take());
  }
  EXPECT_TRUE(fails(choose_rails(rails, {ipu("10.5.4.0")}), Code::kUnsupported,
                    "enlarge 'machines' of network.rail"));
}

}  // namespace
}  // namespace hook::lifecycle::network
