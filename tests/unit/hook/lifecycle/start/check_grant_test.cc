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
    const vipu::Grant grant{{gcd}, "10.5.1.254", {}};
    return check_grant(host_.config, host_.config.pools[0], look_, grant, lease_);
  }

  test::HookHost host_;
  HostLook look_;
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
  host_.config.pools.push_back(host_.config.pools[0]);
  host_.config.pools[1].controller = "10.5.1.253:8090";
  const std::map<std::string, std::string> refused = {
      {"10.5.1.254", "it is a controller"},
      {"10.5.1.253", "it is a controller"},
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

// Whatever the client says of the address that answered it.
TEST_F(CheckGrantTest, ProhibitsTheControllersOfAllPools) {
  config::PoolConfig other = host_.config.pools[0];
  for (const char* controller : {"10.1.3.101:8090", "[fd00::1]:8090", "vipu.example:8090", ""}) {
    other.controller = controller;
    host_.config.pools.push_back(other);
  }
  const Granted granted = check("10.5.0.1", 50052, 50152).take();
  for (const char* expected : {"10.1.3.101/32", "fd00::1/128", "10.5.1.254/32", "10.5.0.0/16"}) {
    EXPECT_THAT(granted.prohibited, testing::Contains(netns::parse_prefix(expected).value()));
  }
}

TEST_F(CheckGrantTest, TakesTheAddressesBesideThose) {
  for (const char* address : {"10.5.0.1", "10.5.200.9", "10.5.200.100", "10.5.255.254"}) {
    EXPECT_TRUE(test::succeeds(check(address, 50052, 50152))) << address;
  }
}

}  // namespace
}  // namespace hook::lifecycle::start
