// SPDX-License-Identifier: Apache-2.0
#include "hook/container/plan/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "base/json.h"
#include "base/text.h"
#include "tests/support/outcome.h"

namespace hook::plan {
namespace {

using base::Code;
using base::Json;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

netns::Address ip(const char* text) { return netns::parse_address(text).take(); }

ledger::RailLease rail(const char* parent, const char* interface, const char* subnet,
                       const char* address) {
  ledger::RailLease rail;
  rail.parent = parent;
  rail.interface = interface;
  rail.subnet = netns::parse_prefix(subnet).take();
  rail.address = ip(address);
  rail.mac = ledger::mac_of("pod64", rail.address);
  return rail;
}

ledger::Lease lease_of_two_ipus() {
  ledger::Lease lease;
  lease.id = "0123456789abcdef0123456789abcdef";
  lease.pool = "pod64";
  lease.partition = "c-0123456789ab";
  lease.ipus = 2;
  lease.rails = {rail("ens1f0", "roce0", "10.5.0.0/16", "10.5.200.10")};
  lease.devices = {{ip("10.5.1.1"), 0, 50052, 50152}, {ip("10.5.1.2"), 3, 50055, 50155}};
  lease.prohibited = {{ip("10.5.0.0"), 16}, {ip("10.1.3.101"), 32}};
  return lease;
}

vipu::IpuofDevice device(const std::string& address, uint32_t number) {
  vipu::IpuofDevice device;
  device.ip = address;
  device.device_id = number;
  device.server_port = 50052 + number;
  device.rdma_port = 50152 + number;
  return device;
}

PlanInput input() {
  vipu::IpuofConfig ipuof;
  ipuof.devices = {device("10.5.1.1", 0), device("10.5.1.2", 3)};
  ipuof.attributes = {{"GCD Id", "0"}};
  return {lease_of_two_ipus(),
          {ipuof},
          {},
          {std::nullopt},
          "/run/ipu/leases/01",
          "/usr/bin/ipu-hook",
          "/usr/libexec/ipu-poststop",
          RLIM_INFINITY};
}

device::RdmaDevice mlx5() {
  return {
      "mlx5_0", 1, {{"/dev/infiniband/uverbs0", 231, 192}, {"/dev/infiniband/rdma_cm", 10, 58}}};
}

Json lease_file(const Plan& plan) {
  return base::parse_json(plan.files.at(kLeaseFile), "lease.json").take();
}

TEST(MakePlan, WritesTheTwoFilesThatItMountsAndOneForTheHook) {
  const Plan plan = make_plan(input());
  EXPECT_THAT(plan.files, ElementsAre(Pair(kOrdersFile, testing::_), Pair(kLeaseFile, testing::_),
                                      Pair(kIpuofFile, vipu::to_ipuof_file(input().gcds.front()))));
  EXPECT_THAT(plan.edit.mounts,
              ElementsAre(oci::DirectoryMount{"/run/ipu/leases/01/ipuof.conf.d",
                                              "/etc/ipuof.conf.d", ".ipuof.conf.d"},
                          oci::DirectoryMount{"/run/ipu/leases/01/ipu", "/run/ipu"}));
}

TEST(MakePlan, PointsPoplarToItsFileAndAwayFromTheController) {
  const Plan plan = make_plan(input());
  EXPECT_THAT(plan.edit.environment,
              ElementsAre(Pair("IPUOF_CONFIG_PATH", "/etc/ipuof.conf.d/ipuof.conf")));
  EXPECT_THAT(plan.edit.forget_environment, ElementsAre("IPUOF_VIPU_API_*"));
}

TEST(MakePlan, TakesTheCapabilitiesThatLeadOutOfTheNetwork) {
  EXPECT_THAT(make_plan(input()).edit.forget_capabilities,
              ElementsAre("CAP_NET_ADMIN", "CAP_NET_RAW"));
}

TEST(MakePlan, CallsTheHookWithTheLease) {
  const Plan plan = make_plan(input());
  const std::string id = input().lease.id;
  EXPECT_THAT(
      plan.edit.create_runtime,
      ElementsAre(oci::HookEntry{
          "/usr/bin/ipu-hook", {"ipu-container-hook", "createRuntime", "--lease", id}, 15}));
  EXPECT_THAT(
      plan.edit.poststop,
      ElementsAre(oci::HookEntry{
          "/usr/libexec/ipu-poststop", {"ipu-container-hook", "poststop", "--lease", id}, 15}));
  EXPECT_THAT(plan.edit.annotations, ElementsAre(Pair("graphcore.ai/ipu.lease", id)));
}

TEST(MakePlan, GivesNoDeviceWithoutRdmaAndSaysSo) {
  const Plan plan = make_plan(input());
  EXPECT_THAT(plan.edit.devices, IsEmpty());
  const Json rail = lease_file(plan)["rails"][0];
  EXPECT_TRUE(rail["rdma"].is_null());
  EXPECT_EQ(rail["rdma_absent"], "interface 'ens1f0' of the host has no RDMA device");
}

TEST(MakePlan, SaysThatTheConfigurationGivesNoDevice) {
  PlanInput off = input();
  off.rdma_off = true;
  EXPECT_EQ(lease_file(make_plan(off))["rails"][0]["rdma_absent"],
            "network.rdma is \"off\" on this host");
}

TEST(MakePlan, GivesTheNodesOfTheRailsDevice) {
  PlanInput with_rdma = input();
  with_rdma.rdma = {mlx5()};
  const Plan plan = make_plan(with_rdma);
  EXPECT_EQ(plan.edit.devices, mlx5().nodes);
  const Json rail = lease_file(plan)["rails"][0];
  EXPECT_EQ(base::to_text(rail["rdma"]),
            R"({"device":"mlx5_0","port":1,"gid_index":null,"gid_type":null,)"
            R"("nodes":["/dev/infiniband/uverbs0","/dev/infiniband/rdma_cm"]})");
  EXPECT_FALSE(rail.contains("rdma_absent"));
}

TEST(MakePlan, TellsTheContainerOfItsLease) {
  const Json file = lease_file(make_plan(input()));
  EXPECT_EQ(file["lease"], "0123456789abcdef0123456789abcdef");
  EXPECT_EQ(file["pool"], "pod64");
  EXPECT_EQ(file["partition"], "c-0123456789ab");
  EXPECT_EQ(file["ipus"], 2);
  EXPECT_EQ(file["rails"][0]["interface"], "roce0");
  EXPECT_EQ(file["rails"][0]["address"], "10.5.200.10");
  EXPECT_EQ(file["rails"][0]["mac"], netns::to_string(input().lease.rails[0].mac));
}

TEST(MakePlan, GivesTheMemoryLimitThatCanBeGiven) {
  PlanInput limited = input();
  EXPECT_EQ(make_plan(limited).edit.memlock, RLIM_INFINITY);
  EXPECT_EQ(lease_file(make_plan(limited))["memlock"], "unlimited");
  limited.memlock = 8 << 20;
  EXPECT_EQ(make_plan(limited).edit.memlock, 8U << 20);
  EXPECT_EQ(lease_file(make_plan(limited))["memlock"], 8 << 20);
}

TEST(MakePlan, IsTheSameForTheSameInput) {
  EXPECT_EQ(make_plan(input()).files, make_plan(input()).files);
}

TEST(MakePlan, TellsTheHookWhichPortsToWaitFor) {
  PlanInput with_rdma = input();
  with_rdma.rdma = {mlx5()};
  with_rdma.orders.gid_wait = std::chrono::milliseconds(7);
  const auto orders = parse_orders(make_plan(with_rdma).files.at(kOrdersFile));
  ASSERT_TRUE(test::succeeds(orders));
  EXPECT_EQ(orders.value().gid_wait.count(), 7);
  EXPECT_THAT(orders.value().ports, ElementsAre(AttachOrders::Port{"roce0", "mlx5_0", 1}));
}

TEST(MakePlan, LimitsEachRdmaDeviceAsConfigured) {
  PlanInput with_rdma = input();
  with_rdma.rdma = {mlx5()};
  EXPECT_TRUE(make_plan(with_rdma).edit.rdma_limits.empty());
  with_rdma.rdma_limit.handles = 8;
  EXPECT_THAT(make_plan(with_rdma).edit.rdma_limits,
              ElementsAre(Pair("mlx5_0", oci::RdmaLimit{8, std::nullopt})));
}

TEST(MakePlan, NamesANodeOnceThatTwoRailsShare) {
  PlanInput two = input();
  two.lease.rails.push_back(rail("ens1f1", "roce1", "10.6.0.0/16", "10.6.200.10"));
  device::RdmaDevice second = mlx5();
  second.name = "mlx5_1";
  second.nodes[0] = {"/dev/infiniband/uverbs1", 231, 193};
  two.rdma = {mlx5(), second};
  const Plan plan = make_plan(two);
  EXPECT_THAT(plan.edit.devices, ElementsAre(mlx5().nodes[0], mlx5().nodes[1], second.nodes[0]));
}

TEST(NetworkPlan, NamesThePeersOfTheLeaseAndNothingElse) {
  const ledger::Lease lease = lease_of_two_ipus();
  const netns::NetworkPlan plan = network_plan({lease}, {ip("10.5.0.9"), ip("fd00::9")});
  ASSERT_EQ(plan.rails.size(), 1U);
  EXPECT_EQ(plan.rails[0].parent, "ens1f0");
  EXPECT_EQ(plan.rails[0].interface, "roce0");
  EXPECT_EQ(plan.rails[0].mac, lease.rails[0].mac);
  EXPECT_EQ(plan.rails[0].address, ip("10.5.200.10"));
  EXPECT_THAT(plan.rails[0].peers,
              ElementsAre(netns::Peer{ip("10.5.1.1"), 50052}, netns::Peer{ip("10.5.1.1"), 50152},
                          netns::Peer{ip("10.5.1.2"), 50055}, netns::Peer{ip("10.5.1.2"), 50155}));
  EXPECT_THAT(plan.prohibited, testing::UnorderedElementsAreArray(lease.prohibited));
  EXPECT_THAT(plan.guarded,
              ElementsAre(netns::Prefix{ip("10.5.0.9"), 32}, netns::Prefix{ip("fd00::9"), 128},
                          netns::Prefix{ip("fe80::"), 10}));
}

TEST(NetworkPlan, GivesEachRailItsOwnPeers) {
  ledger::Lease lease = lease_of_two_ipus();
  lease.rails.push_back(rail("ens1f1", "roce1", "10.6.0.0/16", "10.6.200.10"));
  lease.rails[1].peers = {{ip("10.6.9.9"), 2049}};
  lease.devices[1].address = ip("10.6.1.2");
  const netns::NetworkPlan plan = network_plan({lease}, {});
  EXPECT_THAT(plan.rails[0].peers,
              ElementsAre(netns::Peer{ip("10.5.1.1"), 50052}, netns::Peer{ip("10.5.1.1"), 50152}));
  EXPECT_THAT(plan.rails[1].peers,
              ElementsAre(netns::Peer{ip("10.6.9.9"), 2049}, netns::Peer{ip("10.6.1.2"), 50055},
                          netns::Peer{ip("10.6.1.2"), 50155}));
}

TEST(NetworkPlan, HoldsTheIpusOfAllLeasesThatShareIt) {
  const ledger::Lease first = lease_of_two_ipus();
  ledger::Lease second = first;
  second.devices = {{ip("10.5.1.7"), 0, 50052, 50152}, first.devices[0]};
  second.prohibited = {{ip("10.1.3.102"), 32}};
  const netns::NetworkPlan plan = network_plan({first, second}, {});
  EXPECT_EQ(plan.rails[0].peers.size(), 6U);
  EXPECT_EQ(plan.prohibited.size(), 3U);
}

TEST(WithGids, FillsInTheIndexOfEachInterface) {
  PlanInput with_rdma = input();
  with_rdma.rdma = {mlx5()};
  const std::string text = make_plan(with_rdma).files.at(kLeaseFile);
  device::Gid gid;
  gid.index = 7;
  gid.type = "RoCE v2";
  const base::Json filled =
      base::parse_json(with_gids(text, {{"roce0", gid}}).take(), "lease.json").take();
  EXPECT_EQ(filled["rails"][0]["rdma"]["gid_index"], 7);
  EXPECT_EQ(filled["rails"][0]["rdma"]["gid_type"], "RoCE v2");
  EXPECT_EQ(with_gids(text, {}).value(), text);
}

TEST(LeasedIpus, AreThoseOfTheConfiguration) {
  const base::Result<std::vector<ledger::LeasedIpu>> ipus = leased_ipus(input().gcds, 2);
  ASSERT_TRUE(test::succeeds(ipus));
  EXPECT_EQ(ipus.value(), lease_of_two_ipus().devices);
}

TEST(LeasedIpus, RefuseAnAnswerOfAnotherSize) {
  EXPECT_TRUE(test::fails(leased_ipus(input().gcds, 4), Code::kInvalid,
                          "the controller granted 2 IPUs instead of 4"));
  EXPECT_FALSE(leased_ipus({}, 1).ok());
}

TEST(LeasedIpus, RefuseWhatIsNoAddressOrPort) {
  for (const char* address : {"", "ipum-1", "fd00::1::", "10.5.1", "10.5.1.1 "}) {
    EXPECT_TRUE(test::fails(leased_ipus({{{device(address, 0)}, {}}}, 1), Code::kInvalid,
                            "IPUoF configuration"))
        << address;
  }
  vipu::IpuofConfig ports{{device("10.5.1.1", 0)}, {}};
  ports.devices[0].rdma_port = 65536;
  EXPECT_TRUE(test::fails(leased_ipus({ports}, 1), Code::kInvalid, "invalid port"));
}

TEST(MakePlan, SaysWhichGcdTheContainerDrives) {
  PlanInput second = input();
  second.lease.gcd = 1;
  EXPECT_EQ(lease_file(make_plan(second))["gcd"], 1);
}

PlanInput two_gcds() {
  PlanInput all = input();
  all.lease.gcds = 2;
  all.lease.ipus = 4;
  all.lease.partition = "p0";
  vipu::IpuofConfig second;
  second.devices = {device("10.5.1.1", 1), device("10.5.1.2", 2)};
  all.gcds.push_back(second);
  return all;
}

TEST(MakePlan, GivesAFileForEachGcdAndNoVariableThatChoosesOne) {
  const Plan plan = make_plan(two_gcds());
  EXPECT_EQ(plan.files.at("ipuof.conf.d/p0_gcd0_ipuof.conf"),
            vipu::to_ipuof_file(two_gcds().gcds[0]));
  EXPECT_EQ(plan.files.at("ipuof.conf.d/p0_gcd1_ipuof.conf"),
            vipu::to_ipuof_file(two_gcds().gcds[1]));
  EXPECT_FALSE(plan.files.contains(kIpuofFile));
  EXPECT_TRUE(plan.edit.environment.empty());
  EXPECT_THAT(plan.edit.forget_environment, ElementsAre("IPUOF_VIPU_API_*", "IPUOF_CONFIG_PATH"));
  const Json file = lease_file(plan);
  EXPECT_EQ(file["ipus"], 4);
  EXPECT_EQ(
      file["gcds"][1],
      (Json{{"gcd", 1}, {"ipus", 2}, {"ipuof_config", "/etc/ipuof.conf.d/p0_gcd1_ipuof.conf"}}));
}

TEST(MakePlan, KeepsTheAnswersOfAVipuEndpointOnTheHost) {
  PlanInput with = two_gcds();
  EXPECT_FALSE(lease_file(make_plan(with)).contains("vipu_endpoint"));
  with.answers = vipu::Answers{"1.18.0", {}, with.gcds};
  const Plan plan = make_plan(with);
  EXPECT_EQ(lease_file(plan)["vipu_endpoint"], "127.0.0.1:8090");
  EXPECT_EQ(plan.files.at(kAnswersFile), vipu::to_text(*with.answers));
}

TEST(GcdsOf, ALeaseAreItsOwn) {
  const std::vector<vipu::IpuofConfig> both = two_gcds().gcds;
  ledger::Lease lease;
  lease.gcd = 1;
  EXPECT_THAT(gcds_of(lease, both).value(), ElementsAre(both[1]));
  lease.gcd = 2;
  EXPECT_TRUE(
      test::fails(gcds_of(lease, both), Code::kInternal, "2 GCDs, but the lease has GCD 2"));
  EXPECT_EQ(gcds_of(two_gcds().lease, both).value(), both);
}

TEST(LeasedIpus, OfSeveralGcdsAreAllOfThem) {
  std::vector<vipu::IpuofConfig> gcds = two_gcds().gcds;
  EXPECT_EQ(leased_ipus(gcds, 4).value().size(), 4U);
  gcds[1].devices.pop_back();
  EXPECT_TRUE(test::fails(leased_ipus(gcds, 3), Code::kInvalid, "different numbers of IPUs"));
}

PlanInput two_cards() {
  PlanInput cards = input();
  cards.gcds = {};
  cards.lease.rails.clear();
  cards.rdma.clear();
  for (const uint32_t n : {0U, 1U}) {
    const std::string path = base::str("/dev/ipu", n);
    cards.cards.push_back({n, "0000:35:00.0", 1, {{path, 240, n}, {path + "_ex", 240, 64 + n}}});
  }
  return cards;
}

TEST(MakePlan, GivesTheNodesOfCardsAndNoFabric) {
  const Plan plan = make_plan(two_cards());
  ASSERT_EQ(plan.edit.devices.size(), 4U);
  EXPECT_EQ(plan.edit.devices[1], (oci::DeviceNode{"/dev/ipu0_ex", 240, 64}));
  EXPECT_FALSE(plan.files.contains(kIpuofFile));
  EXPECT_THAT(plan.edit.mounts,
              ElementsAre(oci::DirectoryMount{"/run/ipu/leases/01/ipu", "/run/ipu"}));
  EXPECT_TRUE(plan.edit.environment.empty());
  EXPECT_THAT(plan.edit.forget_environment, testing::Contains("IPUOF_CONFIG_PATH"));
  EXPECT_TRUE(plan.edit.forget_capabilities.empty());
  EXPECT_EQ(lease_file(plan)["cards"][1]["number"], 1);
  EXPECT_EQ(lease_file(plan)["cards"][0]["nodes"][1], "/dev/ipu0_ex");
}

TEST(LeasedCards, HaveANumberAndNoAddress) {
  const std::vector<ledger::LeasedIpu> ipus = leased_cards(two_cards().cards);
  EXPECT_THAT(ipus, ElementsAre(ledger::LeasedIpu{{}, 0, 0, 0}, ledger::LeasedIpu{{}, 1, 0, 0}));
}

}  // namespace
}  // namespace hook::plan
