// SPDX-License-Identifier: Apache-2.0
// The border as an effect of leases: it lets their interfaces pass as long as they have them.
#include "hook/lifecycle/network/border.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/names.h"
#include "hook/lifecycle/network/guard.h"
#include "hook/lifecycle/network/network.h"
#include "hook/lifecycle/network/network_lock.h"
#include "netns/border.h"
#include "netns/session.h"
#include "tests/support/attached.h"

namespace hook::lifecycle::network {
namespace {

using namespace base::names;
using test::fails;
using test::HookHost;
using test::Init;
using test::succeeds;

class LeaseBorderTest : public test::AttachedTest,
                        public testing::WithParamInterface<netns::FilterPlace> {
 protected:
  LeaseBorderTest() {
    host_.env.is_only_ledger = true;
    host_.config.network.filter = GetParam();
  }

  static netns::Namespace here() { return netns::Namespace::current().take(); }
  static std::set<std::string> admitted() {
    std::set<std::string> leases;
    for (const netns::Admitted& each : netns::admitted(here()).take()) leases.insert(each.lease);
    return leases;
  }
  static bool stands(netns::Others others = netns::Others::kPass) {
    return netns::border_stands(here(), GetParam(), {{kParent, others}}).take();
  }
  static bool stands_on(const std::vector<std::string>& names) {
    std::vector<netns::BorderParent> parents;
    for (const std::string& name : names) parents.push_back({name, netns::Others::kPass});
    return netns::border_stands(here(), GetParam(), parents).take();
  }
  Mended mend() { return mend_border(host_.env, HookHost::soon()).take(); }
};

TEST_P(LeaseBorderTest, LetsALeasePassUntilItEnds) {
  const ledger::Lease lease = start_and_attach();
  EXPECT_TRUE(stands());
  EXPECT_EQ(admitted(), std::set{lease.id});
  ASSERT_TRUE(succeeds(poststop(lease)));
  EXPECT_TRUE(admitted().empty());
  EXPECT_EQ(netns::remove_border(here()).value(), base::Removed::kWasAbsent);
}

TEST_P(LeaseBorderTest, HasTheRulesOfTheConfiguration) {
  host_.config.network.rails[0].others = netns::Others::kDrop;
  start_and_attach();
  EXPECT_TRUE(stands(netns::Others::kDrop));
}

TEST_P(LeaseBorderTest, IsAbsentWhereTheConfigurationWantsNone) {
  host_.config.network.filter = netns::FilterPlace::kNamespace;
  const ledger::Lease lease = start_and_attach();
  EXPECT_FALSE(stands());
  EXPECT_EQ(mend(), Mended::kNo);
  EXPECT_FALSE(stands());
  EXPECT_TRUE(succeeds(poststop(lease)));
}

// As after `nft flush ruleset`.
TEST_P(LeaseBorderTest, IsMadeForAllLeasesByTheNextStart) {
  const ledger::Lease first = start_and_attach();
  ASSERT_TRUE(succeeds(netns::remove_border(here())));
  const ledger::Lease second = host_.start("other", 4);
  const Init other("other");
  ASSERT_TRUE(succeeds(attach(second, other)));
  EXPECT_TRUE(stands());
  EXPECT_EQ(admitted(), (std::set{first.id, second.id}));
}

TEST_P(LeaseBorderTest, IsMendedWithoutAStart) {
  const ledger::Lease lease = start_and_attach();
  EXPECT_EQ(mend(), Mended::kNo);
  ASSERT_TRUE(succeeds(netns::remove_border(here())));
  EXPECT_EQ(mend(), Mended::kYes);
  EXPECT_TRUE(stands());
  EXPECT_EQ(admitted(), std::set{lease.id});
  EXPECT_EQ(mend(), Mended::kNo);
}

TEST_P(LeaseBorderTest, IsNotMadeAgainForAReleaseThatWaitsForTheController) {
  const ledger::Lease lease = start_and_attach();
  host_.controller.set_unreachable(true);
  (void)poststop(lease);
  EXPECT_EQ(host_.stored(lease).state, ledger::LeaseState::kReleasing);
  EXPECT_EQ(mend(), Mended::kNo);
  EXPECT_EQ(netns::remove_border(here()).value(), base::Removed::kWasAbsent);
}

// Its release was killed before it came to the interface.
TEST_P(LeaseBorderTest, StaysAndLetsNothingPassWhileALeaseThatEndsHasItsInterface) {
  ledger::Lease lease = start_and_attach();
  ASSERT_TRUE(succeeds(host_.ledger.begin_release(lease, test::dead_process(), "")));
  for (const Mended mended : {Mended::kYes, Mended::kNo, Mended::kNo}) {
    EXPECT_EQ(mend(), mended);
    EXPECT_TRUE(stands());
    EXPECT_TRUE(admitted().empty());
  }
  ASSERT_TRUE(succeeds(poststop(lease)));
  EXPECT_EQ(netns::remove_border(here()).value(), base::Removed::kWasAbsent);
}

TEST_P(LeaseBorderTest, LosesWhatBelongsToNoLease) {
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

TEST_P(LeaseBorderTest, GoesWhenNoLeaseNeedsItAnyMore) {
  ASSERT_TRUE(
      succeeds(netns::build_border(here(), GetParam(), {{kParent, netns::Others::kDrop}}, {})));
  EXPECT_EQ(mend(), Mended::kYes);
  EXPECT_EQ(netns::remove_border(here()).value(), base::Removed::kWasAbsent);
}

// The process that released it was killed between the interface and the border.
TEST_P(LeaseBorderTest, IsClosedByTheNextAttemptToRelease) {
  const ledger::Lease lease = start_and_attach();
  ip_in(init_, "link delete roce0");
  EXPECT_EQ(find_interfaces(host_.env, lease, HookHost::soon()).value(), netns::Presence::kThere);
  ASSERT_TRUE(succeeds(poststop(lease)));
  EXPECT_EQ(find_interfaces(host_.env, lease, HookHost::soon()).value(), netns::Presence::kGone);
  EXPECT_TRUE(admitted().empty());
}

TEST_P(LeaseBorderTest, FollowsARelocatedPartition) {
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
TEST_P(LeaseBorderTest, LetsALeasePassThatNeedsNone) {
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
TEST_P(LeaseBorderTest, DoesNotLetInALeaseThatEndsOrWasNeverAttached) {
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

TEST_P(LeaseBorderTest, KeepsWhatTheOthersOfANamespaceNeed) {
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

TEST_P(LeaseBorderTest, AStartMakesTheGuardOfTheHostOnlyWhereTheConfigurationSaysSo) {
  start_and_attach();
  EXPECT_EQ(netns::remove_guard(here()).value(), base::Removed::kWasAbsent);
  host_.config.network.guard_forwarding = true;
  host_.start("second", 4);
  const Controllers controllers = known_controllers(host_.env.run_dir, host_.config).take();
  const netns::Guard guard = guard_of(host_.config, controllers, host_.ledger.live().value());
  EXPECT_EQ(netns::ensure_guard(here(), guard).value(), netns::Ensured::kWasThere);
  host_.config.network.guard_forwarding = std::nullopt;
  ASSERT_TRUE(succeeds(guard_forwarding(host_.env, host_.config, HookHost::soon())));
  EXPECT_EQ(netns::ensure_guard(here(), guard).value(), netns::Ensured::kWasThere);
  host_.config.network.guard_forwarding = false;
  ASSERT_TRUE(succeeds(guard_forwarding(host_.env, host_.config, HookHost::soon())));
  EXPECT_EQ(netns::remove_guard(here()).value(), base::Removed::kWasAbsent);
}

// Also while no container has IPUs.
TEST_P(LeaseBorderTest, TheGuardFollowsTheNameOfAController) {
  host_.config.network.guard_forwarding = true;
  host_.config.pools[0].controller = "vipu.example:8090";
  const auto guard_with = [&](const char* address) {
    return guard_of(host_.config, {{netns::parse_address(address).take(), ""}}, {});
  };
  for (const char* address : {"10.1.3.102", "fd00::1"}) {
    host_.controller.set_own_addresses({address});
    EXPECT_TRUE(look_up_controllers(host_.env, host_.config, HookHost::soon()).empty());
    EXPECT_EQ(guard_forwarding(host_.env, host_.config, HookHost::soon()).value(), Mended::kYes);
    EXPECT_EQ(netns::ensure_guard(here(), guard_with(address)).value(), netns::Ensured::kWasThere);
  }
  host_.controller.set_unreachable(true);
  EXPECT_EQ(look_up_controllers(host_.env, host_.config, HookHost::soon()).size(), 1U);
  EXPECT_EQ(guard_forwarding(host_.env, host_.config, HookHost::soon()).value(), Mended::kNo);
  EXPECT_EQ(netns::remove_guard(here()).value(), base::Removed::kNow);
}

// The file of the name is damaged, so nobody knows its addresses.
TEST_P(LeaseBorderTest, TheGuardKeepsWhatItHasWhileNobodyKnowsTheAddressesOfAController) {
  host_.config.network.guard_forwarding = true;
  host_.config.pools[0].controller = "vipu.example:8090";
  ASSERT_TRUE(succeeds(
      record_controller(host_.env.run_dir, host_.config.pools[0], {"10.1.3.102", "fd00::1"})));
  ASSERT_TRUE(succeeds(guard_forwarding(host_.env, host_.config, HookHost::soon())));
  const std::vector<netns::Prefix> before = netns::guarded_prefixes(here()).take();
  EXPECT_THAT(before, testing::Contains(netns::parse_prefix("fd00::1/128").take()));
  ASSERT_TRUE(succeeds(
      base::write_atomic(host_.env.run_dir + "/controllers/pod16", "nonsense", {0600, {}, {}})));
  EXPECT_EQ(guard_forwarding(host_.env, host_.config, HookHost::soon()).value(), Mended::kNo);
  EXPECT_EQ(netns::guarded_prefixes(here()).take(), before);
  // A guard that was flushed is made with all that is known.
  ASSERT_TRUE(succeeds(netns::remove_guard(here())));
  EXPECT_TRUE(netns::guarded_prefixes(here()).take().empty());
  EXPECT_EQ(guard_forwarding(host_.env, host_.config, HookHost::soon()).value(), Mended::kYes);
  EXPECT_EQ(netns::guarded_prefixes(here()).take().size(), before.size() - 2);
  EXPECT_EQ(netns::remove_guard(here()).value(), base::Removed::kNow);
}

TEST_P(LeaseBorderTest, OneProcessAtATimeMakesTheGuard) {
  host_.config.network.guard_forwarding = true;
  {
    const auto held = NetworkLock::take(host_.env.run_dir, kGuardLock, HookHost::soon()).take();
    EXPECT_TRUE(fails(guard_forwarding(host_.env, host_.config,
                                       base::Deadline::after(std::chrono::milliseconds(20))),
                      base::Code::kTimeout, "another process"));
    EXPECT_FALSE(netns::has_guard(here()).value());
  }
  EXPECT_EQ(guard_forwarding(host_.env, host_.config, HookHost::soon()).value(), Mended::kYes);
  EXPECT_EQ(guard_forwarding(host_.env, host_.config, HookHost::soon()).value(), Mended::kNo);
  EXPECT_EQ(netns::remove_guard(here()).value(), base::Removed::kNow);
}

// Each start carries out what the configuration says now.
TEST_P(LeaseBorderTest, FollowsTheConfigurationToTheOtherWay) {
  const ledger::Lease first = start_and_attach();
  const bool is_tc = GetParam() == netns::FilterPlace::kTc;
  const netns::FilterPlace other_way =
      is_tc ? netns::FilterPlace::kNftables : netns::FilterPlace::kTc;
  host_.config.network.filter = other_way;
  const ledger::Lease second = host_.start("other", 4);
  const Init other("other");
  ASSERT_TRUE(succeeds(attach(second, other)));
  EXPECT_FALSE(stands());
  EXPECT_TRUE(netns::border_stands(here(), other_way, {{kParent, netns::Others::kPass}}).value());
  EXPECT_EQ(admitted(), (std::set{first.id, second.id}));
}

TEST_P(LeaseBorderTest, FollowsAParentThatIsRenamed) {
  // tc stays on the interface, whatever its name.
  const Mended needed = GetParam() == netns::FilterPlace::kTc ? Mended::kNo : Mended::kYes;
  const ledger::Lease lease = start_and_attach();
  ip("link set rail0 name rail9");
  EXPECT_EQ(mend(), needed);
  EXPECT_TRUE(stands_on({"rail9"}));
  EXPECT_EQ(admitted(), std::set{lease.id});
  EXPECT_EQ(mend(), Mended::kNo);
  const Init other("other");
  EXPECT_TRUE(fails(prepare_in("other", other, 4), base::Code::kNotFound,
                    "there is no interface 'rail0' on this host"));
  EXPECT_TRUE(stands_on({"rail9"}));
  ip("link set rail9 name rail0");
  EXPECT_EQ(mend(), needed);
  EXPECT_TRUE(stands());
  ip("link set rail0 name rail9");
  ASSERT_TRUE(succeeds(poststop(lease)));
  EXPECT_EQ(netns::remove_border(here()).value(), base::Removed::kWasAbsent);
}

// As if udev had exchanged two names.
TEST_P(LeaseBorderTest, RefusesAStartWhereAnotherInterfaceHasTheNameOfTheParent) {
  const ledger::Lease first = start_and_attach();
  ip("link set rail0 name rail9");
  ip("link set fabric-rail0 name fabric-rail9");
  add_rail("rail0", "10.5.0.10/16");
  const ledger::Lease second = host_.start("other", 4);
  const Init other("other");
  EXPECT_TRUE(fails(attach(second, other), base::Code::kBusy,
                    "containers of rail 'rail0' run on an interface that is named 'rail9' now"));
  EXPECT_EQ(mend(), Mended::kYes);
  EXPECT_TRUE(stands_on({"rail0", "rail9"}));
  ASSERT_TRUE(succeeds(poststop(second)));
  ASSERT_TRUE(succeeds(poststop(first)));
  const ledger::Lease third = host_.start("third", 4);
  const Init last("third");
  EXPECT_TRUE(succeeds(attach(third, last)));
  EXPECT_TRUE(stands());
}

TEST_P(LeaseBorderTest, StaysOnARenamedParentWhenAnotherRailStarts) {
  add_rail("rail1", "10.6.0.9/16");
  hook::config::RailConfig rail = host_.config.network.rails[0];
  rail.parent = "rail1";
  host_.config.network.rails = {rail};
  const ledger::Lease first = start_and_attach();
  rail.parent = "rail0";
  host_.config.network.rails = {rail};
  ip("link set rail1 name rail9");
  const ledger::Lease second = host_.start("other", 4);
  const Init other("other");
  ASSERT_TRUE(succeeds(attach(second, other)));
  EXPECT_TRUE(stands_on({"rail0", "rail9"}));
}

// Two names were exchanged while a start did not see the macvlan of another one yet, and exchanged
// again.
TEST_P(LeaseBorderTest, IsNotTakenFromASecondInterfaceOfOneParent) {
  start_and_attach();
  ip("link set rail0 name rail9");
  ip("link set fabric-rail0 name fabric-rail9");
  add_rail("rail0", "10.5.0.10/16");
  ip_in(init_, "link set roce0 down");
  ip_in(init_, "link set roce0 name hidden");
  const ledger::Lease second = host_.start("other", 4);
  const Init other("other");
  ASSERT_TRUE(succeeds(attach(second, other)));
  ip_in(init_, "link set hidden name roce0");
  ip("link set rail0 name rail8");
  ip("link set rail9 name rail0");
  EXPECT_EQ(mend(), Mended::kYes);
  ASSERT_TRUE(stands_on({"rail0", "rail8"}));
  const ledger::Lease third = host_.start("third", 4);
  const Init last("third");
  EXPECT_TRUE(fails(attach(third, last), base::Code::kBusy, "is named 'rail8' now"));
  EXPECT_TRUE(stands_on({"rail0", "rail8"}));
}

TEST_P(LeaseBorderTest, IsNotPutOnTheInterfaceThatHasTheIndexOfAMovedParent) {
  start_and_attach();
  netns::Session session = netns::Session::open(here()).take();
  const uint32_t index = session.find_link(kParent).take().value().index;
  const Init elsewhere("elsewhere");
  ip(str("link set ", kParent, " netns ", elsewhere.pid()));
  ip(str("link add decoy index ", index, " type veth peer name decoy-peer"));
  (void)mend();
  EXPECT_FALSE(stands_on({"decoy"}));
  ip("link delete decoy");
}

TEST_P(LeaseBorderTest, FollowsTheMacOfAParent) {
  start_and_attach();
  ip("link set rail0 address 02:00:00:00:77:77");
  EXPECT_FALSE(stands());
  EXPECT_EQ(mend(), Mended::kYes);
  EXPECT_TRUE(stands());
}

INSTANTIATE_TEST_SUITE_P(Ways, LeaseBorderTest,
                         testing::Values(netns::FilterPlace::kNftables, netns::FilterPlace::kTc),
                         [](const auto& way) {
                           return way.param == netns::FilterPlace::kTc ? "Tc" : "Nftables";
                         });

}  // namespace
}  // namespace hook::lifecycle::network
