// SPDX-License-Identifier: Apache-2.0
// What the doctor makes of a host, without one.
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/resource.h>

#include "base/names.h"
#include "tests/unit/cmd/ipuctl/doctor/fixture.h"

namespace ipuctl::doctor {
namespace {

using namespace base::names;

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

TEST_F(DoctorTest, TellsTheCommandThatMendsAConfiguration) {
  const base::Result<hook::config::Config> open =
      Error(Code::kDenied, "'/etc/x.toml' can be changed by others; run 'chmod go-w /etc/x.toml'");
  const Finding finding = examine(open, host_).front();
  EXPECT_EQ(finding.says, "'/etc/x.toml' can be changed by others");
  EXPECT_EQ(finding.advice, "run 'chmod go-w /etc/x.toml'");
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

TEST_F(DoctorTest, WantsRdmaOfTheKernelAsTheConfigurationDoes) {
  host_.rdma_mode = std::optional<netns::RdmaMode>();
  EXPECT_TRUE(only(Verdict::kWarning, "RDMA mode", "this kernel has no RDMA"));
  network().rdma = hook::config::RdmaUse::kRequire;
  EXPECT_TRUE(only(Verdict::kFailed, "RDMA mode", "this kernel has no RDMA"));
}

TEST_F(DoctorTest, WarnsOfALimitOfLockedMemory) {
  host_.memlock = uint64_t{8388608};
  EXPECT_TRUE(only(Verdict::kWarning, "locked memory", "8388608 bytes"));
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

TEST_F(DoctorTest, WarnsOfAFileThatOtherHostsMayUse) {
  hook::config::PoolConfig slices{"slices", hook::config::Provider::kIpuof};
  slices.file = "/etc/ipuof.conf.d/p64.conf";
  config_.pools.push_back(slices);
  EXPECT_TRUE(only(Verdict::kWarning, "part of pool slices",
                   "any other host with /etc/ipuof.conf.d/p64.conf uses the same IPUs -> set in"
                   " pool 'slices' part = \"0-255\", all, if no other host has the file"));
  config_.pools.back().part = vipu::Block{0, 256};
  EXPECT_EQ(found("part of pool slices"), "");
}

}  // namespace
}  // namespace ipuctl::doctor
