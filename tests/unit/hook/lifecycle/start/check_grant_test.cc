// SPDX-License-Identifier: Apache-2.0
// Which endpoints of a controller that lies, or is somebody else, does a container reach?
#include "hook/lifecycle/start/check_grant.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/names.h"
#include "base/text.h"
#include "tests/support/hook_host.h"

namespace hook::lifecycle::start {
namespace {

using namespace base::names;

class CheckGrantTest : public testing::Test {
 protected:
  CheckGrantTest() {
    look_.addresses = {netns::parse_address("10.5.0.7").take()};
    for (const config::RailConfig& rail : host_.config.network.rails) {
      look_.rails.push_back({{rail, "roce0", {}}, {}});
    }
    lease_.ipus = 1;
  }

  // Checks a grant of one IPU with this endpoint.
  Result<Granted> check(const std::string& address, uint32_t server_port, uint32_t rdma_port) {
    vipu::IpuofDevice device;
    device.ip = address;
    device.server_port = server_port;
    device.rdma_port = rdma_port;
    vipu::IpuofConfig gcd;
    gcd.devices = {device};
    const vipu::Grant grant{{gcd}, "10.5.1.254", {}, granted_by_};
    return check_grant(host_.config, host_.config.pools[0], known_, look_, grant, lease_);
  }

  test::HookHost host_;
  HostLook look_;
  network::Controllers known_;
  std::vector<std::string> granted_by_;  // all addresses of the controller
  ledger::Lease lease_;
};

TEST_F(CheckGrantTest, RefusesAPortOfTheManagement) {
  for (const uint32_t port : {22U, 2112U, 8080U, 8090U}) {
    const std::string why =
        str("IPU 0 of 10.5.1.1, but its port ", port, " belongs to the management of IPU-Machines");
    EXPECT_TRUE(test::fails(check("10.5.1.1", port, 50152), Code::kDenied, why));
    EXPECT_TRUE(test::fails(check("10.5.1.1", 50052, port), Code::kDenied, why));
    EXPECT_TRUE(test::succeeds(check("10.5.1.1", port + 1, 50152)));
  }
}

TEST_F(CheckGrantTest, RefusesAnAddressThatNoIpuMachineHas) {
  known_ = {{netns::parse_address("10.5.1.253").take(), "vipu.example:8090"}};
  granted_by_ = {"10.5.1.252", "fd00::1"};
  const std::map<std::string, std::string> refused = {
      {"10.5.1.254", "it is a controller"},
      {"10.5.1.253", "it is a controller, vipu.example:8090"},
      {"10.5.1.252", "it is a controller"},
      {"10.5.0.7", "it is this host"},
      {"10.5.0.0", "it is the network address of 10.5.0.0/16"},
      {"10.5.255.255", "it is the broadcast address of 10.5.0.0/16"},
      {"10.5.200.10", "it lies in the range 10.5.200.10-10.5.200.99 of rail 'rnic0'"},
      {"10.5.200.99", "it lies in the range 10.5.200.10-10.5.200.99 of rail 'rnic0'"}};
  for (const auto& [address, why] : refused) {
    EXPECT_TRUE(test::fails(check(address, 50052, 50152), Code::kDenied,
                            str("granted IPU 0 of ", address, ", but ", why)));
  }
}

TEST_F(CheckGrantTest, RefusesAnAddressWhereNoMachineIs) {
  host_.config.network.rails[0].machines = netns::parse_prefix("10.5.0.0/20").take();
  for (const char* address : {"10.5.16.0", "10.5.100.1", "10.5.255.254"}) {
    EXPECT_TRUE(
        test::fails(check(address, 50052, 50152), Code::kDenied,
                    str("granted IPU 0 of ", address,
                        ", but it lies outside of 10.5.0.0/20, where rail 'rnic0' has its "
                        "IPU-Machines; if one is there, change 'machines' of network.rail")));
  }
  for (const char* address : {"10.5.0.1", "10.5.15.255"}) {
    EXPECT_TRUE(test::succeeds(check(address, 50052, 50152))) << address;
  }
}

TEST_F(CheckGrantTest, ProhibitsAllAddressesOfAllControllers) {
  known_ = {{netns::parse_address("10.1.3.101").take(), "10.1.3.101:8090"}};
  granted_by_ = {"10.1.3.102", "fd00::1", "10.5.1.254"};
  const Granted granted = check("10.5.0.1", 50052, 50152).take();
  std::vector<std::string> prohibited;
  for (const netns::Prefix& each : granted.prohibited) prohibited.push_back(to_string(each));
  EXPECT_THAT(prohibited,
              testing::UnorderedElementsAre("10.1.3.101/32", "10.1.3.102/32", "fd00::1/128",
                                            "10.5.1.254/32", "10.5.0.0/16"));
}

TEST_F(CheckGrantTest, RefusesAnAddressThatItCannotProhibit) {
  for (const char* bad : {"::ffff:10.1.3.101", "fe80::1%eth0", "10.1.3.0/24", ""}) {
    granted_by_ = {bad};
    EXPECT_TRUE(test::fails(check("10.5.0.1", 50052, 50152), Code::kInvalid,
                            "address of the controller, which containers must not reach"))
        << bad;
  }
}

TEST_F(CheckGrantTest, TakesTheAddressesBesideThose) {
  for (const char* address : {"10.5.0.1", "10.5.200.9", "10.5.200.100", "10.5.255.254"}) {
    EXPECT_TRUE(test::succeeds(check(address, 50052, 50152))) << address;
  }
}

}  // namespace
}  // namespace hook::lifecycle::start
