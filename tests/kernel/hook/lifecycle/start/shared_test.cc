// SPDX-License-Identifier: Apache-2.0
// Containers that share a network namespace: the interfaces are made once, hold what all of them
// may reach, and go with the last.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/names.h"
#include "base/text.h"
#include "hook/lifecycle/network/network.h"
#include "tests/support/attached.h"

namespace hook {
namespace {

using namespace base::names;
using test::AttachedTest;
using test::Init;
using test::succeeds;
using testing::HasSubstr;
using testing::Not;

class SharedNetworkTest : public AttachedTest {
 protected:
  // "web" in a namespace of its own, and "side" in the same; both run.
  void start_two() {
    if (testing::Test::IsSkipped()) return;
    web_ = start_and_attach();
    ASSERT_TRUE(succeeds(prepare_in("side", init_, 4)));
    side_ = host_.lease_of("side");
    ASSERT_TRUE(succeeds(attach(side_, side_init_)));
    side_ = host_.stored(side_);
  }
  [[nodiscard]] std::string routes() const { return ip_in(side_init_, "route show dev roce0"); }
  static std::string machine_of(const ledger::Lease& lease) {
    return netns::to_string(lease.devices.front().address);
  }
  void expect_routes_to(const ledger::Lease& in, const ledger::Lease& out) {
    EXPECT_THAT(routes(), HasSubstr(str(machine_of(in), " proto static scope link")));
    EXPECT_THAT(routes(), Not(HasSubstr(str(machine_of(out), " proto static scope link"))));
  }

  ledger::Lease web_;
  ledger::Lease side_;
  Init side_init_{"side", &init_};
};

TEST_F(SharedNetworkTest, HaveOneInterfaceWithOneAddress) {
  start_two();
  EXPECT_EQ(side_.attachment, web_.id);
  EXPECT_EQ(side_.rails, web_.rails);
  EXPECT_NE(side_.partition, web_.partition);
  EXPECT_EQ(host_.ledger.held_addresses(kParent).value(), 1U);
  EXPECT_THAT(side_init_.interfaces(), Not(HasSubstr("roce1:")));
}

TEST_F(SharedNetworkTest, AreAttachedAnewWhereTheOtherTookThemAwayBeforeItRan) {
  web_ = start_and_attach();
  if (testing::Test::IsSkipped()) return;
  ASSERT_TRUE(succeeds(prepare_in("side", init_, 4)));
  side_ = host_.lease_of("side");
  const base::ProcessId init = base::identify_process(side_init_.pid()).take();
  ASSERT_TRUE(
      succeeds(lifecycle::network::connect_lease(host_.env, side_, init, test::HookHost::soon())));
  ASSERT_TRUE(succeeds(poststop(web_)));
  int changes = 0;
  const auto change = [&] {
    ++changes;
    return Status();
  };
  EXPECT_EQ(
      lifecycle::network::if_connected(host_.env, side_, test::HookHost::soon(), change).value(),
      lifecycle::network::Connected::kNo);
  EXPECT_EQ(changes, 0);
  ASSERT_TRUE(succeeds(attach(host_.stored(side_), side_init_)));
  side_ = host_.stored(side_);
  EXPECT_EQ(
      lifecycle::network::if_connected(host_.env, side_, test::HookHost::soon(), change).value(),
      lifecycle::network::Connected::kYes);
  EXPECT_EQ(changes, 1);
  EXPECT_THAT(side_init_.interfaces(), HasSubstr("roce0:"));
}

TEST_F(SharedNetworkTest, ReachTheIpusOfBoth) {
  start_two();
  EXPECT_NE(machine_of(web_), machine_of(side_));
  EXPECT_THAT(routes(), HasSubstr(str(machine_of(web_), " proto static scope link")));
  EXPECT_THAT(routes(), HasSubstr(str(machine_of(side_), " proto static scope link")));
}

TEST_F(SharedNetworkTest, KeepTheInterfaceWhenTheFirstEnds) {
  start_two();
  const std::string before = ip_in(side_init_, "-o link show roce0");
  ASSERT_TRUE(succeeds(poststop(web_)));
  EXPECT_EQ(ip_in(side_init_, "-o link show roce0"), before);
  expect_routes_to(side_, web_);
  EXPECT_EQ(host_.ledger.held_addresses(kParent).value(), 1U);
  EXPECT_THAT(host_.partitions(), testing::ElementsAre(side_.partition));
  ASSERT_TRUE(succeeds(poststop(side_)));
  EXPECT_THAT(side_init_.interfaces(), Not(HasSubstr("roce0:")));
  EXPECT_EQ(host_.ledger.held_addresses(kParent).value(), 0U);
  EXPECT_TRUE(host_.is_empty());
}

TEST_F(SharedNetworkTest, KeepTheInterfaceWhenTheSecondEnds) {
  start_two();
  ASSERT_TRUE(succeeds(poststop(side_)));
  expect_routes_to(web_, side_);
  ASSERT_TRUE(succeeds(poststop(web_)));
  EXPECT_THAT(side_init_.interfaces(), Not(HasSubstr("roce0:")));
  EXPECT_TRUE(host_.is_empty());
}

TEST_F(SharedNetworkTest, AreReconciledOneByOne) {
  start_two();
  init_.end();  // the namespace lives on with the other container
  EXPECT_EQ(lifecycle::end::reconcile(host_.env, test::HookHost::soon()).value().released.size(),
            1U);
  expect_routes_to(side_, web_);
  side_init_.end();
  EXPECT_EQ(lifecycle::end::reconcile(host_.env, test::HookHost::soon()).value().released.size(),
            1U);
  EXPECT_TRUE(host_.is_empty());
  EXPECT_EQ(host_.ledger.held_addresses(kParent).value(), 0U);
}

TEST_F(SharedNetworkTest, MayEndBeforeTheOtherIsAttached) {
  web_ = start_and_attach();
  ASSERT_TRUE(succeeds(prepare_in("side", init_, 4)));
  side_ = host_.lease_of("side");
  ASSERT_TRUE(succeeds(poststop(web_)));
  // Nobody could take the first one's IPUs out of the interface, so it went.
  EXPECT_THAT(side_init_.interfaces(), Not(HasSubstr("roce0:")));
  ASSERT_TRUE(succeeds(attach(side_, side_init_)));
  expect_routes_to(side_, web_);
  ASSERT_TRUE(succeeds(poststop(side_)));
  EXPECT_TRUE(host_.is_empty());
}

TEST_F(SharedNetworkTest, LeaveTheFirstAloneWhenTheSecondFailsToStart) {
  web_ = start_and_attach();
  ASSERT_TRUE(succeeds(prepare_in("side", init_, 4)));
  side_ = host_.lease_of("side");
  side_init_.end();
  EXPECT_FALSE(attach(side_, side_init_).ok());
  EXPECT_THAT(init_.interfaces(), HasSubstr("roce0:"));
  EXPECT_THAT(host_.partitions(), testing::ElementsAre(web_.partition));
  ASSERT_TRUE(succeeds(poststop(web_)));
  EXPECT_TRUE(host_.is_empty());
}

// A pod: its sandbox asked for the IPUs, and its containers share them.
class PodTest : public SharedNetworkTest {
 protected:
  static constexpr const char* kOfThePod =
      R"({"io.kubernetes.cri.container-type":"container","io.kubernetes.cri.sandbox-id":"web"})";

  void start_pod() {
    if (testing::Test::IsSkipped()) return;
    web_ = start_and_attach();
    ASSERT_TRUE(succeeds(prepare_in("side", init_, 4, kOfThePod)));
    side_ = host_.lease_of("side");
    ASSERT_TRUE(succeeds(attach(side_, side_init_)));
    side_ = host_.stored(side_);
  }
};

TEST_F(PodTest, SharesThePartitionOfItsSandbox) {
  start_pod();
  EXPECT_EQ(side_.origin, ledger::Origin::kJoined);
  EXPECT_EQ(side_.partition, web_.partition);
  EXPECT_EQ(side_.devices, web_.devices);
  EXPECT_EQ(side_.rails, web_.rails);
  EXPECT_EQ(host_.partitions().size(), 1U);
}

TEST_F(PodTest, KeepsThePartitionWhenAContainerEnds) {
  start_pod();
  ASSERT_TRUE(succeeds(poststop(side_)));
  EXPECT_THAT(host_.partitions(), testing::ElementsAre(web_.partition));
  EXPECT_THAT(init_.interfaces(), HasSubstr("roce0:"));
  ASSERT_TRUE(succeeds(poststop(web_)));
  EXPECT_TRUE(host_.is_empty());
}

TEST_F(PodTest, KeepsThePartitionWhenTheSandboxIsFirstToDie) {
  start_pod();
  ASSERT_TRUE(succeeds(poststop(web_)));
  EXPECT_THAT(host_.partitions(), testing::ElementsAre(web_.partition));
  EXPECT_THAT(routes(), HasSubstr(machine_of(side_)));
  EXPECT_EQ(host_.stored(side_).origin, ledger::Origin::kOwn);
  ASSERT_TRUE(succeeds(poststop(side_)));
  EXPECT_TRUE(host_.is_empty());
}

TEST_F(PodTest, TakesAContainerThatIsStartedAgain) {
  start_pod();
  ASSERT_TRUE(succeeds(poststop(side_)));
  const Init again("side", &init_);
  ASSERT_TRUE(succeeds(prepare_in("side", init_, 4, kOfThePod)));
  const ledger::Lease lease = host_.lease_of("side");
  ASSERT_TRUE(succeeds(attach(lease, again)));
  EXPECT_EQ(lease.partition, web_.partition);
  ASSERT_TRUE(succeeds(poststop(lease)));
  ASSERT_TRUE(succeeds(poststop(web_)));
  EXPECT_TRUE(host_.is_empty());
}

TEST_F(PodTest, RefusesAContainerThatAsksForAnotherNumber) {
  web_ = start_and_attach();
  EXPECT_TRUE(test::fails(prepare_in("side", init_, 8, kOfThePod), Code::kInvalid, "4 IPUs"));
  EXPECT_EQ(host_.live_leases(), 1U);
  EXPECT_THAT(host_.partitions(), testing::ElementsAre(web_.partition));
}

TEST_F(PodTest, IsNotJoinedByAnAnnotationFromOutsideOfItsNetwork) {
  web_ = start_and_attach();
  const Init stranger("side");
  ASSERT_TRUE(succeeds(prepare_in("side", stranger, 4, kOfThePod)));
  side_ = host_.lease_of("side");
  EXPECT_EQ(side_.origin, ledger::Origin::kOwn);
  EXPECT_NE(side_.partition, web_.partition);
  EXPECT_NE(side_.attachment, web_.attachment);
}

TEST_F(SharedNetworkTest, MayBeStartedAtTheSameTime) {
  ASSERT_TRUE(succeeds(prepare_in("web", init_, 4)));
  ASSERT_TRUE(succeeds(prepare_in("side", init_, 4)));
  web_ = host_.lease_of("web");
  side_ = host_.lease_of("side");
  EXPECT_EQ(side_.attachment, web_.id);
  ASSERT_TRUE(succeeds(attach(side_, side_init_)));
  ASSERT_TRUE(succeeds(attach(web_, init_)));
  EXPECT_THAT(routes(), HasSubstr(str(machine_of(web_), " proto")));
  EXPECT_THAT(routes(), HasSubstr(str(machine_of(side_), " proto")));
  ASSERT_TRUE(succeeds(poststop(web_)));
  ASSERT_TRUE(succeeds(poststop(side_)));
  EXPECT_THAT(init_.interfaces(), Not(HasSubstr("roce0:")));
  EXPECT_TRUE(host_.is_empty());
}

TEST_F(PodTest, GivesAContainerItsOwnWhereTheSandboxHasNone) {
  ASSERT_TRUE(succeeds(prepare_in("side", init_, 4, kOfThePod)));
  EXPECT_EQ(host_.lease_of("side").origin, ledger::Origin::kOwn);
}

}  // namespace
}  // namespace hook
