// SPDX-License-Identifier: Apache-2.0
// Starts on a rail with scheme "ipu", and what they do about an address that another host has.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/names.h"
#include "base/text.h"
#include "hook/config/scheme.h"
#include "tests/support/hook_host.h"

namespace hook::lifecycle::start {
namespace {

using namespace base::names;
using testing::SizeIs;

class ByIpuStart : public testing::Test {
 protected:
  ByIpuStart() {
    rail().base = netns::parse_address("10.5.64.0").take();
    rail().machines = netns::parse_prefix("10.5.0.0/22").take();
    rail().has_range = false;
    host_.env.start_probe = [this](const std::string& lease) { answer(lease); };
  }
  config::RailConfig& rail() { return host_.config.network.rails[0]; }
  // Another host answers for the addresses of the first STRANGERS_ probes.
  void answer(const std::string& lease) {
    plan::ProbeReport report;
    if (probed_++ < strangers_) report["roce0"] = stranger_;
    EXPECT_TRUE(test::succeeds(inject::write_lease_files(
        host_.env.run_dir, lease, {{plan::kProbeFile, plan::to_text(report)}})));
  }
  static std::string address(const ledger::Lease& lease) {
    return netns::to_string(lease.rails.at(0).address);
  }

  test::HookHost host_;
  int strangers_ = 0;
  int probed_ = 0;
  const netns::MacAddress stranger_ = netns::parse_mac("52:54:00:00:00:99").take();
};

TEST_F(ByIpuStart, GetsTheAddressOfItsFirstIpu) {
  const ledger::Lease lease = host_.start("web", 4);
  const ledger::LeasedIpu first = lease.devices.front();
  EXPECT_EQ(lease.rails.at(0).address,
            config::address_by_ipu(rail(), first.address, first.device).take());
  EXPECT_TRUE(lease.rails.at(0).by_ipu);
  EXPECT_EQ(probed_, 1);
}

// Two toolkits with ledgers of their own and one configuration, as on two hosts of a POD.
TEST_F(ByIpuStart, NeverGetsTheAddressOrTheMacOfAnotherHostsContainer) {
  test::HookHost other;
  other.config = host_.config;
  other.env.controller = host_.env.controller;
  std::set<netns::Address> addresses;
  std::set<netns::MacAddress> macs;
  for (int i = 0; i < 4; ++i) {
    test::HookHost& host = i % 2 == 0 ? host_ : other;
    const ledger::Lease lease = host.start(str("c", i), 4);
    EXPECT_TRUE(addresses.insert(lease.rails.at(0).address).second);
    EXPECT_TRUE(macs.insert(lease.rails.at(0).mac).second);
  }
}

TEST_F(ByIpuStart, GetsOtherIpusIfAnotherHostHasItsAddress) {
  strangers_ = 1;
  const ledger::Lease lease = host_.start("web", 4);
  EXPECT_THAT(host_.partitions(), testing::ElementsAre(lease.partition));
  EXPECT_EQ(host_.live_leases(), 1U);
  EXPECT_THAT(host_.lease_directories(), testing::ElementsAre(lease.id));
  EXPECT_EQ(host_.ledger.use_of(rail()).take().set_aside_by_ipu, 1U);
  const ledger::Lease second = host_.start("db", 4);
  EXPECT_NE(address(second), address(lease));
  EXPECT_EQ(host_.live_leases(), 2U);
  EXPECT_THAT(host_.partitions(), SizeIs(2));
}

TEST_F(ByIpuStart, IsRefusedAfterThreeAddressesThatOthersHave) {
  strangers_ = 9;
  const Status failed = host_.prepare("web", 4);
  EXPECT_TRUE(test::fails(failed, Code::kExists, "is in use by another host with MAC"));
  EXPECT_TRUE(test::fails(failed, Code::kExists, "another 'base' or 'machines' of network.rail"));
  EXPECT_EQ(probed_, 3);
  EXPECT_TRUE(host_.is_empty());
  EXPECT_EQ(host_.ledger.use_of(rail()).take().set_aside_by_ipu, 3U);
}

TEST_F(ByIpuStart, SaysThatThereAreNoOtherIpus) {
  strangers_ = 1;
  const Status failed = host_.prepare("web", 16);
  EXPECT_TRUE(test::fails(failed, Code::kBusy, "is in use by another host"));
  EXPECT_TRUE(test::fails(failed, Code::kBusy, "nor can it have other IPUs: "));
  EXPECT_TRUE(host_.is_empty());
}

TEST_F(ByIpuStart, KnowsAnAddressThatIsSetAsideWithoutAProbe) {
  strangers_ = 1;
  EXPECT_FALSE(host_.prepare("web", 16).ok());
  EXPECT_TRUE(test::fails(host_.prepare("web", 16), Code::kBusy, "is set aside until"));
  EXPECT_EQ(probed_, 1);
  EXPECT_TRUE(host_.is_empty());
}

TEST_F(ByIpuStart, AsksNobodyWithoutAProbe) {
  strangers_ = 1;
  host_.config.network.duplicate_probe = std::chrono::milliseconds(0);
  host_.start("web", 4);
  EXPECT_EQ(probed_, 0);
}

TEST_F(ByIpuStart, IsRefusedIfItsIpusGiveNoAddress) {
  rail().machines = netns::parse_prefix("10.5.3.0/24").take();
  EXPECT_TRUE(test::fails(host_.prepare("web", 4), Code::kUnsupported,
                          "enlarge 'machines' of network.rail"));
  EXPECT_TRUE(host_.is_empty());
}

}  // namespace
}  // namespace hook::lifecycle::start
