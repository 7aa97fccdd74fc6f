// SPDX-License-Identifier: Apache-2.0
#include "hook/ledger/lease.h"

#include <gtest/gtest.h>

#include <set>

namespace hook::ledger {
namespace {

constexpr LeaseState kAll[] = {
    LeaseState::kIntent,     LeaseState::kAllocated, LeaseState::kRunning, LeaseState::kReleasing,
    LeaseState::kQuarantine, LeaseState::kFree,      LeaseState::kFailed};

TEST(LeaseState, HasANameOfItsOwn) {
  std::set<std::string_view> names;
  for (const LeaseState state : kAll) names.insert(name_of(state));
  EXPECT_EQ(names.size(), std::size(kAll));
  EXPECT_EQ(name_of(LeaseState::kReleasing), "RELEASING");
}

TEST(LeaseState, IsLiveUntilAllIsGivenBack) {
  for (const LeaseState state : kAll) {
    const bool ended = state == LeaseState::kQuarantine || state == LeaseState::kFree ||
                       state == LeaseState::kFailed;
    EXPECT_EQ(is_live(state), !ended);
  }
}

TEST(PartitionName, NamesTheHostAndTheLease) {
  const std::string lease = "0123456789abcdef0123456789abcdef";
  const std::string name = partition_name("1f2e3d4c", lease);
  EXPECT_EQ(name, "c-1f2e3d4c-0123456789ab");
  EXPECT_TRUE(is_reserved_name(name));
  EXPECT_TRUE(is_name_for(name, lease));
  EXPECT_TRUE(is_name_for("c-0123456789ab", lease)) << "of a release before 0.1";
  EXPECT_FALSE(is_name_for("w-1f2e3d4c-0123456789ab", lease)) << "a warm one that it took";
  EXPECT_FALSE(is_name_for("c-1f2e3d4c-1123456789ab", lease));
  EXPECT_FALSE(is_name_for("train", lease));
}

TEST(MacOf, IsLocallyAdministeredUnicastAndHoldsTheAddress) {
  const netns::Address address = netns::parse_address("10.5.200.10").take();
  const netns::MacAddress mac = mac_of("pod64", address);
  EXPECT_EQ(mac.bytes[0] & 3, 2);
  EXPECT_EQ(netns::to_string(mac).substr(6), "0a:05:c8:0a");
  EXPECT_EQ(mac_of("pod64", address), mac);
  EXPECT_NE(mac_of("pod16", address), mac);
}

TEST(MacOf, DiffersForTheAddressesOfOneRangeAndForEachAttempt) {
  for (const char* first : {"10.5.200.10", "fd00:5::fff0"}) {
    std::set<netns::MacAddress> macs;
    netns::Address address = netns::parse_address(first).take();
    for (int i = 0; i < 1000; ++i, address = netns::next(address))
      macs.insert(mac_of("p", address));
    EXPECT_EQ(macs.size(), 1000U) << first;
    std::set<netns::MacAddress> attempts;
    for (uint32_t attempt = 0; attempt < 16; ++attempt) {
      attempts.insert(mac_of("p", address, attempt));
    }
    EXPECT_EQ(attempts.size(), 16U) << first;
  }
}

TEST(MacOf, DependsOnAllOfAnIpv6Address) {
  EXPECT_NE(mac_of("p", netns::parse_address("fd00:5::1").take()),
            mac_of("p", netns::parse_address("fd00:6::1").take()));
}

TEST(Origin, HasANameOfItsOwn) {
  std::set<std::string_view> names;
  for (const Origin origin :
       {Origin::kOwn, Origin::kNamed, Origin::kShared, Origin::kForeign, Origin::kJoined}) {
    names.insert(name_of(origin));
  }
  EXPECT_EQ(names, (std::set<std::string_view>{"OWN", "NAMED", "SHARED", "FOREIGN", "JOINED"}));
}

TEST(IsLeaseId, TakesOnly32HexadecimalDigits) {
  EXPECT_TRUE(is_lease_id("0123456789abcdef0123456789abcdef"));
  EXPECT_FALSE(is_lease_id(""));
  EXPECT_FALSE(is_lease_id("0123456789abcdef0123456789abcde"));
  EXPECT_FALSE(is_lease_id("0123456789abcdef0123456789abcdef0"));
  EXPECT_FALSE(is_lease_id("0123456789ABCDEF0123456789ABCDEF"));
  EXPECT_FALSE(is_lease_id("../../../../../../etc/passwd/0000"));
}

}  // namespace
}  // namespace hook::ledger
