// SPDX-License-Identifier: Apache-2.0
// What the doctor makes of a host, without one.
#include "cmd/ipuctl/doctor/doctor.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/resource.h>

#include <algorithm>

#include "base/names.h"
#include "base/text.h"

namespace ipuctl::doctor {
namespace {

using namespace base::names;

netns::Address ip(const char* text) { return netns::parse_address(text).take(); }

hook::config::RailConfig rail_config() {
  hook::config::RailConfig rail;
  rail.parent = "rnic0";
  rail.subnet = netns::parse_prefix("10.5.0.0/16").take();
  rail.first = ip("10.5.200.10");
  rail.last = ip("10.5.200.99");
  rail.others = netns::Others::kDrop;
  return rail;
}

hook::config::Config config_of(hook::config::RailConfig rail) {
  hook::config::Config config;
  config.network.rails = {std::move(rail)};
  config.network.guard_forwarding = true;
  return config;
}

hook::config::RailConfig function_rail() {
  hook::config::RailConfig rail = rail_config();
  rail.parent = "";
  rail.functions = {"v0", "v1"};
  return rail;
}

// An interface on which RDMA works.
InterfaceState good_interface(const std::string& name) {
  netns::LinkFacts link;
  link.name = name;
  link.mtu = link.max_mtu = 9000;
  link.is_ethernet = link.is_up = link.has_carrier = true;
  const hook::oci::DeviceNode uverbs{"/dev/infiniband/uverbs0", 231, 192};
  const hook::oci::DeviceNode manager{"/dev/infiniband/rdma_cm", 10, 58};
  InterfaceState state{
      .name = name,
      .is_held = false,
      .link = link,
      .rdma = std::optional(hook::device::RdmaDevice{"mlx5_0", 1, {uverbs, manager}}),
      .gids = hook::device::GidTable{256, {}},
      .default_roce_mode = ""};
  for (uint32_t i = 0; i < 4; ++i) {
    state.gids->used.push_back({i, {}, i % 2 == 0 ? "IB/RoCE v1" : "RoCE v2", name});
  }
  return state;
}

// A host on which nothing is wrong with that rail.
HostState good_host(const hook::config::RailConfig& rail) {
  RailState state{.interfaces = {},
                  .macvlan = base::Status(),
                  .use = hook::ledger::Ledger::RailUse{.free = 88, .held = 1, .quarantined = 1}};
  for (const std::string& name : rail.functions) state.interfaces.push_back(good_interface(name));
  if (rail.functions.empty()) state.interfaces.push_back(good_interface(rail.parent));
  return {.runtime = std::string("/usr/bin/runc"),
          .ledger = base::Status(),
          .filter = base::Status(),
          .border = netns::FilterPlace::kNftables,
          .has_guard = true,
          .addresses = std::vector{ip("10.5.0.9"), ip("10.1.3.1")},
          .rdma_mode = std::optional(rail.functions.empty() ? netns::RdmaMode::kShared
                                                            : netns::RdmaMode::kExclusive),
          .memlock = uint64_t{RLIM_INFINITY},
          .rails = {std::move(state)}};
}

class DoctorTest : public testing::Test {
 protected:
  InterfaceState& interface() { return host_.rails[0].interfaces[0]; }
  netns::LinkFacts& link() { return interface().link.value(); }
  hook::config::NetworkConfig& network() { return config_.network; }

  void use_functions() {
    config_ = config_of(function_rail());
    host_ = good_host(function_rail());
  }

  // "failed: WHAT IS WRONG -> WHAT TO DO" of one check; "" if it was not made.
  std::string found(const std::string& check) {
    for (const Finding& finding : examine(config_, host_)) {
      if (finding.check != check) continue;
      return str(name_of(finding.verdict), ": ", finding.says, finding.advice.empty() ? "" : " -> ",
                 finding.advice);
    }
    return "";
  }
  // The checks with this verdict.
  std::vector<std::string> checks(Verdict verdict) {
    std::vector<std::string> checks;
    for (const Finding& finding : examine(config_, host_)) {
      if (finding.verdict == verdict) checks.push_back(finding.check);
    }
    return checks;
  }
  // That CHECK is the only one with this verdict, of those that are not ok, and says TEXT.
  testing::AssertionResult only(Verdict verdict, const std::string& check,
                                const std::string& text) {
    for (const Verdict each : {Verdict::kWarning, Verdict::kFailed}) {
      const std::vector<std::string> expected =
          each == verdict ? std::vector{check} : std::vector<std::string>();
      if (checks(each) != expected) {
        return testing::AssertionFailure()
               << name_of(each) << ": " << base::join(checks(each), ", ");
      }
    }
    if (found(check).find(text) != std::string::npos) return testing::AssertionSuccess();
    return testing::AssertionFailure() << found(check);
  }

  hook::config::Config config_ = config_of(rail_config());
  HostState host_ = good_host(rail_config());
};

TEST_F(DoctorTest, FindsNothingWrongWithAGoodHost) {
  EXPECT_EQ(checks(Verdict::kWarning), std::vector<std::string>());
  EXPECT_EQ(checks(Verdict::kFailed), std::vector<std::string>());
  EXPECT_EQ(found("rail rnic0: link"), "ok: 'rnic0', MTU 9000");
  EXPECT_EQ(found("rail rnic0: addresses"), "ok: 88 addresses are left, 1 held, 1 in quarantine");
  EXPECT_EQ(found("rail rnic0: RDMA"),
            "ok: mlx5_0 port 1: /dev/infiniband/uverbs0, /dev/infiniband/rdma_cm");
  EXPECT_EQ(found("rail rnic0: GIDs"),
            "ok: mlx5_0 port 1 uses 4 of 256 entries: room for 126 more containers");
  use_functions();
  EXPECT_EQ(checks(Verdict::kWarning), std::vector<std::string>());
  EXPECT_EQ(checks(Verdict::kFailed), std::vector<std::string>());
  EXPECT_EQ(found("function v1: link"), "ok: 'v1', MTU 9000");
}

TEST_F(DoctorTest, LooksAtTheRestWhereTheConfigurationIsWrong) {
  host_.rails.clear();
  const base::Result<hook::config::Config> wrong =
      Error(Code::kInvalid, "/etc/x.toml: pool.name must be set; or not");
  const std::vector<Finding> findings = examine(wrong, host_);
  ASSERT_EQ(findings.size(), 3U);
  EXPECT_EQ(findings[0].verdict, Verdict::kFailed);
  EXPECT_EQ(findings[0].says, "/etc/x.toml: pool.name must be set; or not");
  EXPECT_EQ(findings[0].advice, "see ipu-container-toolkit(5)");
  EXPECT_EQ(findings[1].check, "low-level runtime");
  EXPECT_EQ(findings[2].check, "ledger");
}

TEST_F(DoctorTest, LooksAtNoNetworkWhereCardsNeedNone) {
  network().rails.clear();
  host_.rails.clear();
  EXPECT_EQ(checks(Verdict::kOk),
            (std::vector<std::string>{"configuration", "low-level runtime", "ledger"}));
}

TEST_F(DoctorTest, NamesWhatTheProductItselfNeeds) {
  host_.runtime = Error(Code::kNotFound, "none of /usr/bin/runc exists; install runc");
  EXPECT_TRUE(only(Verdict::kFailed, "low-level runtime", "exists -> install runc"));
  host_ = good_host(rail_config());
  host_.filter = Error(Code::kUnsupported, "no nf_tables");
  EXPECT_TRUE(only(Verdict::kFailed, "packet filter", "no nf_tables"));
  host_ = good_host(rail_config());
  host_.filter = std::nullopt;
  EXPECT_TRUE(only(Verdict::kWarning, "packet filter", "run ipuctl doctor as root"));
}

TEST_F(DoctorTest, WantsAUserForAClientWithSecrets) {
  host_.client_user = Error(Code::kDenied, "no user; run 'useradd'");
  EXPECT_EQ(found("V-IPU client"), "") << "no pool has secrets";
  config_.pools.resize(1);
  config_.pools[0].security.credentials = "/etc/credentials";
  EXPECT_EQ(found("V-IPU client"), "failed: no user -> run 'useradd'");
  host_.client_user = {};
  EXPECT_EQ(found("V-IPU client"), "ok: it has a user of its own");
}

TEST_F(DoctorTest, JudgesTheBorder) {
  EXPECT_EQ(found("border"),
            "ok: the kernel filters the frames of containers on their parent by nftables");
  host_.border = netns::FilterPlace::kTc;
  EXPECT_EQ(found("border"),
            "ok: the kernel filters the frames of containers on their parent by tc");
  host_.border = Error(Code::kUnsupported, "this kernel cannot; set filter");
  EXPECT_EQ(found("border"), "warning: this kernel cannot -> set filter");
  network().filter = netns::FilterPlace::kHost;
  EXPECT_EQ(found("border"), "failed: this kernel cannot -> set filter");
  network().filter = netns::FilterPlace::kTc;
  EXPECT_EQ(found("border"), "failed: this kernel cannot -> set filter");
  network().filter = netns::FilterPlace::kNamespace;
  EXPECT_THAT(found("border"),
              testing::StartsWith("warning: frames are filtered in the containers'"));
  use_functions();
  EXPECT_EQ(found("border"), "") << "no frame of a function passes a parent";
}

TEST_F(DoctorTest, ListsForeignMacsUntilTheOperatorDecides) {
  network().rails[0].others = std::nullopt;
  EXPECT_THAT(found("other MACs"), testing::HasSubstr("none was seen -> set others = \"drop\""));
  host_.others = {netns::parse_mac("02:00:00:00:00:42").take()};
  EXPECT_THAT(found("other MACs"), testing::HasSubstr("seen: 02:00:00:00:00:42"));
  network().rails[0].others = netns::Others::kPass;
  EXPECT_EQ(found("other MACs"), "");
  network().rails[0].others = netns::Others::kDrop;
  EXPECT_EQ(found("other MACs"), "");
}

TEST_F(DoctorTest, AsksForADecisionOnForwarding) {
  EXPECT_EQ(found("forwarding"), "ok: the host forwards nothing to the fabric and the controllers");
  host_.has_guard = false;
  EXPECT_TRUE(only(Verdict::kWarning, "forwarding", "ipu-guard is not there -> run ipuctl gc"));
  host_.has_guard = std::nullopt;
  EXPECT_TRUE(only(Verdict::kWarning, "forwarding", "run ipuctl doctor as root"));
  network().guard_forwarding = false;
  EXPECT_EQ(found("forwarding"), "ok: what the host forwards is not guarded, as configured");
  network().guard_forwarding = std::nullopt;
  EXPECT_TRUE(only(Verdict::kWarning, "forwarding", "set guard_forwarding = true in [network]"));
  EXPECT_EQ(found("forwarding").find("now:"), std::string::npos);
  for (uint16_t port = 1; port <= 12; ++port) {
    host_.flows.push_back({ip("172.17.0.2"), ip("10.5.1.1"), IPPROTO_TCP, port});
  }
  EXPECT_THAT(found("forwarding"), testing::HasSubstr("; now: 172.17.0.2 to 10.5.1.1 tcp 1, "));
  EXPECT_THAT(found("forwarding"), testing::HasSubstr(" tcp 10 and 2 more -> "));
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

TEST_F(DoctorTest, RefusesMacvlansWhereRdmaDevicesBelongToNamespaces) {
  host_.rdma_mode = std::optional(netns::RdmaMode::kExclusive);
  EXPECT_TRUE(only(Verdict::kFailed, "RDMA mode", "rdma system set netns shared"));
  EXPECT_TRUE(only(Verdict::kFailed, "RDMA mode", "options ib_core netns_mode=1"));
  network().rdma = hook::config::RdmaUse::kOff;
  EXPECT_EQ(checks(Verdict::kFailed), std::vector<std::string>());
  EXPECT_EQ(found("RDMA mode"), "");
}

TEST_F(DoctorTest, WarnsOfFunctionsWhoseRdmaDevicesAreShared) {
  use_functions();
  host_.rdma_mode = std::optional(netns::RdmaMode::kShared);
  EXPECT_TRUE(only(Verdict::kWarning, "RDMA mode", "rdma system set netns exclusive"));
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

TEST_F(DoctorTest, WantsRdmaOfTheKernelAsTheConfigurationDoes) {
  host_.rdma_mode = std::optional<netns::RdmaMode>();
  EXPECT_TRUE(only(Verdict::kWarning, "RDMA mode", "this kernel has no RDMA"));
  network().rdma = hook::config::RdmaUse::kRequire;
  EXPECT_TRUE(only(Verdict::kFailed, "RDMA mode", "this kernel has no RDMA"));
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

TEST_F(DoctorTest, WarnsOfALimitOfLockedMemory) {
  host_.memlock = uint64_t{8388608};
  EXPECT_TRUE(only(Verdict::kWarning, "locked memory", "8388608 bytes"));
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

TEST_F(DoctorTest, WarnsOfEachDeviceThatSystemdDoesNotFind) {
  const hook::oci::DeviceNode uverbs{"/dev/infiniband/uverbs0", 231, 192};
  const hook::oci::DeviceNode card{"/dev/ipu0_ex", 60, 1};
  EXPECT_EQ(found("device links"), "");
  host_.device_links = {{{uverbs, true}, {card, true}}};
  EXPECT_EQ(found("device links"), "ok: systemd finds the devices of containers");
  host_.device_links = {{{uverbs, false}, {card, true}}};
  EXPECT_TRUE(only(Verdict::kWarning, "device links",
                   "/dev/char/231:192 does not point to /dev/infiniband/uverbs0, so containers may"
                   " lose this device at 'systemctl daemon-reload' -> ln -sf ../infiniband/uverbs0"
                   " /dev/char/231:192"));
  host_.device_links = {{{uverbs, true}, {card, false}}};
  EXPECT_TRUE(only(Verdict::kWarning, "device links", " -> ln -sf ../ipu0_ex /dev/char/60:1"));
  host_.device_links = {{{uverbs, false}, {card, false}}};
  EXPECT_EQ(checks(Verdict::kWarning), (std::vector<std::string>{"device links", "device links"}));
  host_.device_links = std::vector<DeviceLink>();
  EXPECT_EQ(found("device links"), "");
}

TEST_F(DoctorTest, TellsOfTheLastForbiddenCall) {
  host_.forbidden_call = "7 ipuctl gc: the system call ptrace (101) is forbidden";
  EXPECT_TRUE(only(Verdict::kWarning, "system calls", host_.forbidden_call + " -> look for"));
}

}  // namespace
}  // namespace ipuctl::doctor
