// SPDX-License-Identifier: Apache-2.0
// The border as an effect of leases: it lets their interfaces pass as long as they have them.
#include "hook/lifecycle/network/border.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/names.h"
#include "hook/lifecycle/network/guard.h"
#include "hook/lifecycle/network/network.h"
#include "netns/border.h"
#include "tests/support/attached.h"

namespace hook::lifecycle::network {
namespace {

using namespace base::names;
using test::HookHost;
using test::Init;
using test::succeeds;

class LeaseBorderTest : public test::AttachedTest {
 protected:
  LeaseBorderTest() { host_.env.is_only_ledger = true; }

  static netns::Namespace here() { return netns::Namespace::current().take(); }
  static std::set<std::string> admitted() {
    std::set<std::string> leases;
    for (const netns::Admitted& each : netns::admitted(here()).take()) leases.insert(each.lease);
    return leases;
  }
  static bool stands(netns::Others others = netns::Others::kPass) {
    return netns::border_stands(here(), {{kParent, others}}).take();
  }
  Mended mend() { return mend_border(host_.env, HookHost::soon()).take(); }
};

TEST_F(LeaseBorderTest, LetsALeasePassUntilItEnds) {
  const ledger::Lease lease = start_and_attach();
  EXPECT_TRUE(stands());
  EXPECT_EQ(admitted(), std::set{lease.id});
  ASSERT_TRUE(succeeds(poststop(lease)));
  EXPECT_TRUE(admitted().empty());
  EXPECT_EQ(netns::remove_border(here()).value(), base::Removed::kWasAbsent);
}

TEST_F(LeaseBorderTest, HasTheRulesOfTheConfiguration) {
  host_.config.network.rails[0].others = netns::Others::kDrop;
  start_and_attach();
  EXPECT_TRUE(stands(netns::Others::kDrop));
}

TEST_F(LeaseBorderTest, IsAbsentWhereTheConfigurationWantsNone) {
  host_.config.network.filter = netns::FilterPlace::kNamespace;
  const ledger::Lease lease = start_and_attach();
  EXPECT_FALSE(stands());
  EXPECT_EQ(mend(), Mended::kNo);
  EXPECT_FALSE(stands());
  EXPECT_TRUE(succeeds(poststop(lease)));
}

// As after `nft flush ruleset`.
TEST_F(LeaseBorderTest, IsMadeForAllLeasesByTheNextStart) {
  const ledger::Lease first = start_and_attach();
  ASSERT_TRUE(succeeds(netns::remove_border(here())));
  const ledger::Lease second = host_.start("other", 4);
  const Init other("other");
  ASSERT_TRUE(succeeds(attach(second, other)));
  EXPECT_TRUE(stands());
  EXPECT_EQ(admitted(), (std::set{first.id, second.id}));
}

TEST_F(LeaseBorderTest, IsMendedWithoutAStart) {
  const ledger::Lease lease = start_and_attach();
  EXPECT_EQ(mend(), Mended::kNo);
  ASSERT_TRUE(succeeds(netns::remove_border(here())));
  EXPECT_EQ(mend(), Mended::kYes);
  EXPECT_TRUE(stands());
  EXPECT_EQ(admitted(), std::set{lease.id});
  EXPECT_EQ(mend(), Mended::kNo);
}

TEST_F(LeaseBorderTest, LosesWhatBelongsToNoLease) {
  const ledger::Lease lease = start_and_attach();
  netns::BorderMember stranger;
  stranger.lease = "nobody";
  stranger.mac = netns::parse_mac("02:00:00:00:00:77").take();
  stranger.address = netns::parse_address("10.5.200.77").take();
  ASSERT_TRUE(succeeds(netns::admit(here(), {stranger})));
  EXPECT_EQ(admitted().size(), 2U);
  host_.env.is_only_ledger = false;
  EXPECT_EQ(mend(), Mended::kNo);
  host_.env.is_only_ledger = true;
  EXPECT_EQ(mend(), Mended::kYes);
  EXPECT_EQ(admitted(), std::set{lease.id});
}

TEST_F(LeaseBorderTest, GoesWhenNoLeaseNeedsItAnyMore) {
  ASSERT_TRUE(succeeds(netns::build_border(here(), {{kParent, netns::Others::kDrop}}, {})));
  EXPECT_EQ(mend(), Mended::kYes);
  EXPECT_EQ(netns::remove_border(here()).value(), base::Removed::kWasAbsent);
}

// The process that released it was killed between the interface and the border.
TEST_F(LeaseBorderTest, IsClosedByTheNextAttemptToRelease) {
  const ledger::Lease lease = start_and_attach();
  ip_in(init_, "link delete roce0");
  EXPECT_EQ(find_interfaces(host_.env, lease, HookHost::soon()).value(), netns::Presence::kThere);
  ASSERT_TRUE(succeeds(poststop(lease)));
  EXPECT_EQ(find_interfaces(host_.env, lease, HookHost::soon()).value(), netns::Presence::kGone);
  EXPECT_TRUE(admitted().empty());
}

TEST_F(LeaseBorderTest, FollowsARelocatedPartition) {
  ledger::Lease lease = start_and_attach();
  host_.controller.set_address(0, "10.5.1.77");
  ASSERT_TRUE(succeeds(refresh_lease(host_.env, lease, HookHost::soon())));
  const netns::RailPlan rail = plan::network_plan({host_.stored(lease)}, {}).rails[0];
  // What the border has is exactly what the lease needs now.
  EXPECT_EQ(
      netns::retain(here(), {rail.mac}, {{lease.id, rail.mac, rail.address, rail.peers}}).value(),
      base::Removed::kWasAbsent);
  // Each of these peers is there: without one, something is to be removed.
  std::vector<netns::Peer> fewer = rail.peers;
  std::erase_if(
      fewer, [](const netns::Peer& peer) { return netns::to_string(peer.address) == "10.5.1.77"; });
  ASSERT_LT(fewer.size(), rail.peers.size());
  EXPECT_EQ(netns::retain(here(), {rail.mac}, {{lease.id, rail.mac, rail.address, fewer}}).value(),
            base::Removed::kNow);
}

// The border stands for another lease.
TEST_F(LeaseBorderTest, LetsALeasePassThatNeedsNone) {
  const ledger::Lease first = start_and_attach();
  host_.config.network.filter = netns::FilterPlace::kNamespace;
  const ledger::Lease second = host_.start("other", 4);
  const Init other("other");
  ASSERT_TRUE(succeeds(attach(second, other)));
  EXPECT_EQ(admitted(), (std::set{first.id, second.id}));
  ASSERT_TRUE(succeeds(poststop(second)));
  EXPECT_EQ(admitted(), std::set{first.id});
}

// Its address, and so its MAC, belongs to another lease soon.
TEST_F(LeaseBorderTest, DoesNotLetInALeaseThatEndsOrWasNeverAttached) {
  ledger::Lease ending = start_and_attach();
  host_.start("never", 4);
  const ledger::Lease lease = host_.start("other", 4);
  const Init other("other");
  ASSERT_TRUE(succeeds(attach(lease, other)));
  ASSERT_TRUE(
      succeeds(host_.ledger.begin_release(ending, base::current_process().take(), "it ended")));
  ASSERT_TRUE(succeeds(netns::remove_border(here())));
  EXPECT_EQ(mend(), Mended::kYes);
  EXPECT_EQ(admitted(), std::set{lease.id});
}

TEST_F(LeaseBorderTest, KeepsWhatTheOthersOfANamespaceNeed) {
  const ledger::Lease first = start_and_attach();
  ASSERT_TRUE(succeeds(prepare_in("second", init_, 4)));
  const Init second_init("second", &init_);
  const ledger::Lease second = host_.lease_of("second");
  ASSERT_TRUE(succeeds(attach(second, second_init)));
  ASSERT_TRUE(succeeds(poststop(second)));
  EXPECT_EQ(admitted().size(), 1U);
  const netns::RailPlan rail = plan::network_plan({host_.stored(first)}, {}).rails[0];
  EXPECT_EQ(
      netns::retain(here(), {rail.mac}, {{first.id, rail.mac, rail.address, rail.peers}}).value(),
      base::Removed::kWasAbsent);
  ASSERT_TRUE(succeeds(poststop(first)));
  EXPECT_TRUE(admitted().empty());
}

TEST_F(LeaseBorderTest, AStartMakesTheGuardOfTheHostOnlyWhereTheConfigurationSaysSo) {
  start_and_attach();
  EXPECT_EQ(netns::remove_guard(here()).value(), base::Removed::kWasAbsent);
  host_.config.network.guard_forwarding = true;
  host_.start("second", 4);
  const netns::Guard guard = guard_of(host_.config, host_.ledger.live().value());
  EXPECT_EQ(netns::ensure_guard(here(), guard).value(), netns::Ensured::kWasThere);
  host_.config.network.guard_forwarding = std::nullopt;
  ASSERT_TRUE(succeeds(guard_forwarding(host_.env, host_.config)));
  EXPECT_EQ(netns::ensure_guard(here(), guard).value(), netns::Ensured::kWasThere);
  host_.config.network.guard_forwarding = false;
  ASSERT_TRUE(succeeds(guard_forwarding(host_.env, host_.config)));
  EXPECT_EQ(netns::remove_guard(here()).value(), base::Removed::kWasAbsent);
}

}  // namespace
}  // namespace hook::lifecycle::network
