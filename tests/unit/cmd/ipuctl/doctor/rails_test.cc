// SPDX-License-Identifier: Apache-2.0
// What the doctor makes of a rail, without a host.
#include <gtest/gtest.h>

#include "base/names.h"
#include "tests/unit/cmd/ipuctl/doctor/fixture.h"

namespace ipuctl::doctor {
namespace {

using namespace base::names;

TEST_F(DoctorTest, NamesWhatDecidesBeforeTheBorder) {
  EXPECT_EQ(found("rail rnic0: border"), "") << "not looked for";
  host_.rails[0].rival = std::optional<netns::Rival>();
  EXPECT_EQ(found("rail rnic0: border"), "ok: nothing decides about frames before the border does");
  host_.rails[0].rival = std::optional(netns::Rival{"a tcx program runs first; detach it", false});
  EXPECT_TRUE(
      only(Verdict::kWarning, "rail rnic0: border", "a tcx program runs first -> detach it"));
  host_.rails[0].rival = std::optional(netns::Rival{"there is an ingress; replace it", true});
  EXPECT_TRUE(only(Verdict::kFailed, "rail rnic0: border", "there is an ingress -> replace it"));
  host_.rails[0].rival = Error(Code::kDenied, "list filters: Operation not permitted");
  EXPECT_TRUE(only(Verdict::kWarning, "rail rnic0: border", "list filters"));
}

TEST_F(DoctorTest, WarnsOfChecksumsThatTheKernelWrites) {
  host_.rails[0].leaves_checksums_to_device = true;
  EXPECT_EQ(found("rail rnic0: checksums"), "");
  host_.rails[0].leaves_checksums_to_device = false;
  EXPECT_TRUE(only(Verdict::kWarning, "rail rnic0: checksums",
                   " -> ethtool -K rnic0 tx-checksum-ip-generic on"));
}

TEST_F(DoctorTest, AsksForADecisionOnAModeThatSharesBroadcasts) {
  hook::config::RailConfig& rail = network().rails[0];
  rail.mode = netns::MacvlanMode::kBridge;
  EXPECT_TRUE(only(Verdict::kWarning, "rail rnic0: mode", "set shared_bridge = false"));
  rail.shared_bridge = false;
  EXPECT_EQ(found("rail rnic0: mode"), "");
}

TEST_F(DoctorTest, DoesNotCountAddressesWithoutALedger) {
  host_.ledger = Error(Code::kDenied, "open ledger: Permission denied");
  host_.rails[0].use = Error(Code::kDenied, "open ledger: Permission denied");
  EXPECT_TRUE(only(Verdict::kFailed, "ledger", "Permission denied"));
  EXPECT_EQ(found("rail rnic0: addresses"), "");
}

TEST_F(DoctorTest, NamesWhyALinkIsNoRail) {
  link().is_wireless = true;
  EXPECT_TRUE(only(Verdict::kFailed, "rail rnic0: link", "'rnic0' is a wireless interface"));
  link() = good_interface("rnic0").link.value();
  link().is_up = link().has_carrier = false;
  EXPECT_TRUE(only(Verdict::kFailed, "rail rnic0: link",
                   "'rnic0' is down -> set it up: ip link set rnic0 up"));
  link() = good_interface("rnic0").link.value();
  network().rails[0].mtu = 9001;
  EXPECT_TRUE(only(Verdict::kFailed, "rail rnic0: link", "MTU 9001 is above the MTU 9000"));
  EXPECT_EQ(found("rail rnic0: macvlan"), "") << "of no use then";
}

TEST_F(DoctorTest, NamesAParentAboveThatOfAnotherRail) {
  hook::config::RailConfig second = rail_config();
  second.parent = "rnic0.7";
  network().rails.push_back(second);
  host_.rails.push_back(good_host(second).rails[0]);
  host_.rails[1].interfaces[0].link.value().below = {"rnic0"};
  EXPECT_TRUE(only(Verdict::kFailed, "rail rnic0.7: link", "'rnic0.7' is above 'rnic0'"));
  network().filter = netns::FilterPlace::kNamespace;
  EXPECT_EQ(found("rail rnic0.7: link"), "ok: 'rnic0.7', MTU 9000");
}

TEST_F(DoctorTest, NamesAParentThatIsMissing) {
  interface().link = Error(Code::kNotFound, "there is no interface 'rnic0'; see ip link");
  host_.rails[0].macvlan = Error(Code::kNotFound, "there is no interface 'rnic0'");
  EXPECT_TRUE(only(Verdict::kFailed, "rail rnic0: link", "there is no interface 'rnic0'"));
  EXPECT_EQ(found("rail rnic0: RDMA"), "");
}

TEST_F(DoctorTest, WarnsOfACarrierThatIsMissing) {
  link().has_carrier = false;
  EXPECT_TRUE(only(Verdict::kWarning, "rail rnic0: link", "'rnic0' has no carrier"));
  EXPECT_NE(found("rail rnic0: macvlan"), "");
}

TEST_F(DoctorTest, NamesAMacvlanThatCannotBeMade) {
  host_.rails[0].macvlan = Error(Code::kBusy, "create macvlan: Device or resource busy");
  EXPECT_TRUE(only(Verdict::kFailed, "rail rnic0: macvlan", "resource busy"));
  host_.rails[0].macvlan = std::nullopt;
  EXPECT_EQ(found("rail rnic0: macvlan"), "");
}

TEST_F(DoctorTest, NamesAnAddressOfTheHostInTheRange) {
  host_.addresses.value().push_back(ip("10.5.200.50"));
  EXPECT_TRUE(only(Verdict::kFailed, "rail rnic0: range",
                   "10.5.200.50 is an address of this host, but lies in the range"));
}

TEST_F(DoctorTest, NamesARailWithoutAddressesLeft) {
  host_.rails[0].use = hook::ledger::Ledger::RailUse{.free = 0, .held = 88, .quarantined = 2};
  EXPECT_TRUE(only(Verdict::kFailed, "rail rnic0: addresses",
                   "0 addresses are left, 88 held, 2 in quarantine -> run 'ipuctl ps' to see"
                   " which containers hold them"));
}

TEST_F(DoctorTest, WarnsOfPartitionsWhoseIpusMayGiveAnotherHostsContainersTheSameAddress) {
  host_.adopted = {"p0", "p1"};
  EXPECT_EQ(found("rail rnic0: adopted partitions"), "") << "its range is of this host alone";
  hook::config::RailConfig& rail = network().rails[0];
  rail.base = ip("10.5.64.0");
  rail.machines = netns::parse_prefix("10.5.0.0/22").take();
  EXPECT_TRUE(only(Verdict::kWarning, "rail rnic0: adopted partitions",
                   "this host is in no fleet: if another host uses p0, p1, two containers with the"
                   " same GCD get the same address -> set [fleet] on all hosts"));
  host_.adopted.clear();
  EXPECT_EQ(found("rail rnic0: adopted partitions"), "");
}

TEST_F(DoctorTest, CountsAddressesThatIpusGive) {
  hook::config::RailConfig& rail = network().rails[0];
  rail.base = ip("10.5.64.0");
  rail.machines = netns::parse_prefix("10.5.0.0/22").take();
  rail.has_range = false;
  host_.rails[0].use = hook::ledger::Ledger::RailUse{.held_by_ipu = 3};
  EXPECT_EQ(found("rail rnic0: addresses by IPU"),
            "ok: each IPU gives one of 10.5.64.0-10.5.79.255: 3 held, 0 set aside");
  EXPECT_EQ(found("rail rnic0: addresses"), "");
  host_.rails[0].use.value().set_aside_by_ipu = 1;
  EXPECT_TRUE(only(Verdict::kWarning, "rail rnic0: addresses by IPU",
                   "1 set aside, because another host answered for them -> set the same \"base\""));
  host_.rails[0].use.value().set_aside_by_ipu = 0;
  host_.addresses.value().push_back(ip("10.5.64.9"));
  EXPECT_TRUE(only(Verdict::kFailed, "rail rnic0: range",
                   "10.5.64.9 is an address of this host, but lies in the base"));
  rail.max_gids = 7;  // three containers, and all of them are there
  EXPECT_TRUE(found("rail rnic0: GIDs").starts_with("failed: "));
}

TEST_F(DoctorTest, WantsAnRdmaDeviceAsTheConfigurationDoes) {
  interface().rdma = std::optional<hook::device::RdmaDevice>();
  EXPECT_TRUE(only(Verdict::kWarning, "rail rnic0: RDMA", "'rnic0' has no RDMA device"));
  network().rdma = hook::config::RdmaUse::kRequire;
  EXPECT_TRUE(only(Verdict::kFailed, "rail rnic0: RDMA", "'rnic0' has no RDMA device"));
  network().rdma = hook::config::RdmaUse::kOff;
  EXPECT_EQ(found("rail rnic0: RDMA"), "");
  network().rdma = hook::config::RdmaUse::kAuto;
  interface().rdma = Error(Code::kUnsupported, "no number for uverbs0; is ib_uverbs loaded?");
  EXPECT_TRUE(only(Verdict::kFailed, "rail rnic0: RDMA", "is ib_uverbs loaded?"));
}

TEST_F(DoctorTest, CountsTheRoomInTheTableOfGids) {
  interface().gids->size = 4;
  EXPECT_TRUE(only(Verdict::kFailed, "rail rnic0: GIDs",
                   "uses 4 of 4 entries: room for 0 more containers"));
  interface().gids->size = 7;
  EXPECT_EQ(found("rail rnic0: GIDs"),
            "ok: mlx5_0 port 1 uses 4 of 7 entries: room for 1 more container");
  interface().gids->size = 256;
  network().rails[0].max_gids = 7;  // three containers, of which one is there
  EXPECT_NE(found("rail rnic0: GIDs").find("room for 2 more"), std::string::npos);
  host_.rails[0].use.value().held = 4;
  EXPECT_TRUE(only(Verdict::kFailed, "rail rnic0: GIDs", "room for 0 more"));
  interface().gids->used.erase(interface().gids->used.begin());  // RoCE v1 still has one
  interface().gids->used.erase(interface().gids->used.begin() + 1);
  host_.rails[0].use.value().held = 1;
  EXPECT_NE(found("rail rnic0: GIDs").find("room for 6 more"), std::string::npos);
}

TEST_F(DoctorTest, WarnsOfTheOldRoce) {
  interface().default_roce_mode = "RoCE v2";
  EXPECT_EQ(found("rail rnic0: RoCE mode"), "");
  interface().default_roce_mode = "IB/RoCE v1";
  EXPECT_TRUE(
      only(Verdict::kWarning, "rail rnic0: RoCE mode", "cma_roce_mode -d mlx5_0 -p 1 -m 2"));
}

TEST_F(DoctorTest, DoesNotMissAFunctionThatAContainerHas) {
  use_functions();
  interface().is_held = true;
  interface().link = Error(Code::kNotFound, "there is no interface 'v0'");
  EXPECT_EQ(checks(Verdict::kFailed), std::vector<std::string>());
  EXPECT_EQ(found("rail v0,v1: functions"), "ok: 1 function is left, 1 held");
  EXPECT_EQ(found("function v0: link"), "");
  host_.rails[0].interfaces[1].is_held = true;
  EXPECT_TRUE(only(Verdict::kFailed, "rail v0,v1: functions", "0 functions are left, 2 held"));
  interface().is_held = false;
  EXPECT_TRUE(only(Verdict::kFailed, "function v0: link", "there is no interface 'v0'"));
}

}  // namespace
}  // namespace ipuctl::doctor
