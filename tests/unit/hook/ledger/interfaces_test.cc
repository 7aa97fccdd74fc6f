// SPDX-License-Identifier: Apache-2.0
// What a lease has beside the address of an interface: its MAC, its function, its name.
#include <set>

#include "netns/session.h"
#include "tests/unit/hook/ledger/ledger_fixture.h"

namespace hook::ledger {
namespace {

using base::Code;

class InterfaceTest : public LedgerFixture {
 protected:
  // A rail with two functions, and what the host has of them.
  RailRequest functions(const std::vector<std::string>& there) {
    config::RailConfig rail = hook::ledger::rail("", "10.7.0.0/16", "10.7.200.1", "10.7.200.9");
    rail.functions = {"vf0", "vf1"};
    RailRequest request{rail, "roce0", {}};
    for (const std::string& name : there) {
      request.functions.push_back({name, mac("0a:00:00:00:00:0" + name.substr(2)), "mlx5_" + name});
    }
    return request;
  }
  static netns::MacAddress mac(const std::string& text) { return netns::parse_mac(text).take(); }
};

TEST_F(InterfaceTest, HasEverythingThatItsRailSays) {
  rail_.mode = netns::MacvlanMode::kBridge;
  rail_.mtu = 4200;
  rail_.peers = {{ip("10.5.9.1"), 0}, {ip("fd00::1"), 4791}};
  const Lease lease = allocate();
  const RailLease& made = lease.rails.at(0);
  EXPECT_EQ(made.kind, netns::LinkKind::kMacvlan);
  EXPECT_EQ(made.parent, "ens1f0");
  EXPECT_EQ(made.mode, netns::MacvlanMode::kBridge);
  EXPECT_EQ(made.mtu, 4200U);
  EXPECT_EQ(made.interface, "roce0");
  EXPECT_EQ(made.subnet, rail_.subnet);
  EXPECT_EQ(made.peers, rail_.peers);
  EXPECT_EQ(made.mac, mac_of("pod64", made.address));
  EXPECT_EQ(stored(lease).rails, lease.rails);
}

TEST_F(InterfaceTest, HasTheMacOfItsPoolWhenThePoolHasAnotherName) {
  rail_.last = rail_.first;
  release(allocate());
  now_ += 2000;
  Intent other = intent("container");
  other.pool.name = "pod16";
  Lease lease = ledger_.acquire(other).take();
  ASSERT_TRUE(test::succeeds(ledger_.mark_allocated(lease, {}, {}, {{rail_, "roce0"}})));
  EXPECT_EQ(lease.rails[0].mac, mac_of("pod16", rail_.first));
  EXPECT_EQ(stored(lease).rails, lease.rails);
}

// The MAC of an IPv6 address is a hash, and so the MAC of some IPv4 address as well.
TEST_F(InterfaceTest, HasAnotherMacWhereTheFirstIsTaken) {
  rail_ = rail("ens1f0", "fd00:5::/64", "fd00:5::1", "fd00:5::1");
  const Lease first = allocate();
  const netns::MacAddress mac = first.rails.at(0).mac;
  const netns::Address twin = *netns::from_raw(std::span(mac.bytes).last(4));
  rail_ = {"ens1f1", {}, {twin, 32}, twin, twin};
  ASSERT_EQ(mac_of("pod64", twin), mac);
  const Lease second = allocate();
  EXPECT_EQ(second.rails.at(0).mac, mac_of("pod64", twin, 1));
  release(second);
  release(first);
  now_ += 2000;
  EXPECT_EQ(allocate().rails.at(0).mac, mac) << "nobody has it any more";
}

TEST_F(InterfaceTest, HasAnotherLinkGroupThanTheOthersOfItsContainer) {
  RailRequest function = functions({"vf0"});
  function.functions[0].mac = mac("0a:00:0a:05:c8:0a");
  const Lease lease = try_allocate("a", {function, {rail_, "roce1"}}).take();
  ASSERT_EQ(lease.rails.size(), 2U);
  ASSERT_EQ(netns::group_of(mac_of("pod64", rail_.first)), netns::group_of(lease.rails[0].mac));
  EXPECT_EQ(lease.rails[1].mac, mac_of("pod64", rail_.first, 1));
}

TEST_F(InterfaceTest, IsAFunctionThatNobodyElseHas) {
  const Lease first = try_allocate("a", {functions({"vf0", "vf1"})}).take();
  const RailLease& made = first.rails.at(0);
  EXPECT_EQ(made.kind, netns::LinkKind::kFunction);
  EXPECT_EQ(made.parent, "vf0");
  EXPECT_EQ(made.rdma_device, "mlx5_vf0");
  EXPECT_EQ(made.mac, mac("0a:00:00:00:00:00"));
  EXPECT_EQ(netns::to_string(made.address), "10.7.200.1");
  EXPECT_EQ(stored(first).rails, first.rails);
  const Lease second = try_allocate("b", {functions({"vf0", "vf1"})}).take();
  EXPECT_EQ(second.rails.at(0).parent, "vf1");
  EXPECT_TRUE(test::fails(try_allocate("c", {functions({"vf0", "vf1"})}), Code::kBusy,
                          "all 2 functions of rail '"));
  EXPECT_TRUE(test::fails(try_allocate("c", {functions({})}), Code::kBusy,
                          "are held: vf0 by container a, vf1 by container b; see 'ipuctl ps'"));
  release(first);
  const Lease third = try_allocate("c", {functions({"vf0"})}).take();
  EXPECT_EQ(third.rails.at(0).parent, "vf0");
  EXPECT_EQ(netns::to_string(third.rails.at(0).address), "10.7.200.3");
}

TEST_F(InterfaceTest, IsRefusedWithTheFunctionsThatAreNotThere) {
  const Lease first = try_allocate("a", {functions({"vf0"})}).take();
  EXPECT_TRUE(test::fails(try_allocate("b", {functions({})}), Code::kBusy,
                          "are held or absent: vf0 by container a; not on this host: vf1"));
}

TEST_F(InterfaceTest, IsNoFunctionWithAMacThatIsInUse) {
  RailRequest request = functions({"vf0", "vf1"});
  request.functions[0].mac = allocate("a").rails.at(0).mac;
  EXPECT_EQ(try_allocate("b", {request}).take().rails.at(0).parent, "vf1");
}

TEST_F(InterfaceTest, HasANameOfItsOwn) {
  const config::RailConfig second = rail("ens1f1", "10.6.0.0/16", "10.6.200.10", "10.6.200.10");
  const config::RailConfig third = rail("ens1f2", "10.8.0.0/16", "10.8.200.10", "10.8.200.10");
  const Lease lease =
      try_allocate("a", {{rail_, "roce1"}, {second, "roce1"}, {third, "roce1"}}).take();
  std::vector<std::string> names;
  for (const RailLease& rail : lease.rails) names.push_back(rail.parent + " " + rail.interface);
  EXPECT_EQ(names, (std::vector<std::string>{"ens1f1 roce0", "ens1f0 roce1", "ens1f2 roce2"}));
}

}  // namespace
}  // namespace hook::ledger
